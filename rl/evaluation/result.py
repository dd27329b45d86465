"""Result of an evaluation: what `summary.json` holds, and what the report and the table show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from webemu.rl.evaluation.judging import JudgeFigures
from webemu.rl.evaluation.summary import Summary


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Settings and figures of an evaluation."""

    manifest: Mapping[str, object]
    """Settings that affect the results (`webemu.rl.evaluation.manifest`)."""
    summary: Summary
    retried_count: int = 0
    """Number of masked attempts that were repeated."""
    probe_counts: Mapping[str, float] = field(default_factory=dict)
    """Number of each verdict of the evidence-swap probe, and `share_reads`; empty without the probe."""
    judge: JudgeFigures | None = None
    """Figures of the judge; None without one."""

    def to_json(self) -> dict[str, object]:
        """Return the content of `summary.json`."""
        return {
            "manifest": dict(self.manifest),
            **self.summary.to_json(),
            "made again": self.retried_count,
            "probe": dict(self.probe_counts),
            **({"judge": asdict(self.judge)} if self.judge else {}),
        }
