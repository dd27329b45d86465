"""Agreement of two sorts of yes and no, such as a judge and the rules, or a judge and labels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a judge with known verdicts."""

    pairs: int
    """Number of verdicts that were compared."""
    share: float
    """Share of equal verdicts."""
    kappa: float | None
    """Cohen's kappa; None if all verdicts of both are the same one."""
    wrongly_allowed: int
    """Number of verdicts that are yes and should be no."""
    wrongly_refused: int
    """Number of verdicts that are no and should be yes."""


def measure_agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement | None:
    """Return the agreement of pairs of a known verdict and the judge's; None without pairs (Cohen 1960).

    measure_agreement([(True, True), (False, False)]).kappa  # 1.0
    """
    if not pairs:
        return None
    count = len(pairs)
    share = sum(label == verdict for label, verdict in pairs) / count
    label_share, verdict_share = (sum(pair[side] for pair in pairs) / count for side in (0, 1))
    chance = label_share * verdict_share + (1 - label_share) * (1 - verdict_share)
    return Agreement(
        count,
        share,
        (share - chance) / (1 - chance) if chance < 1 else None,
        sum(verdict and not label for label, verdict in pairs),
        sum(label and not verdict for label, verdict in pairs),
    )


def format_agreement(agreement: Agreement) -> str:
    """Return an agreement as a line of text."""
    kappa = "undefined" if agreement.kappa is None else f"{agreement.kappa:.3f}"
    return (
        f"{agreement.share:.3f} of {agreement.pairs}, kappa {kappa}, wrongly allowed {agreement.wrongly_allowed},"
        f" wrongly refused {agreement.wrongly_refused}"
    )
