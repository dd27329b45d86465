"""Labelled questions that measure a judge: JSON Lines with `kind` (`equivalence` or `support`), `question`, `gold`,
`answer`, `passage`, `label` and `why_open`. Ours are `tests/rl/data/judge_labels.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from webemu.rl.judge import prompts
from webemu.rl.judge.agreement import Agreement, measure_agreement
from webemu.rl.judge.judge import Judge
from webemu.rl.judge.verdicts import Inquiry

Kind = Literal["equivalence", "support"]


class LabelError(ValueError):
    """Line of a file of labels that cannot be used."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """Question to a judge whose answer is known."""

    kind: Kind
    question: str
    gold: str
    answer: str
    passage: str
    """Text that states the accepted answer, or the page that must bear it; may be empty for equivalence."""
    label: bool

    def to_inquiry(self) -> Inquiry[bool]:
        """Return the question as an episode would put it."""
        if self.kind == "support":
            return prompts.ask_bearing(self.question, self.gold, self.passage)
        return prompts.ask_equivalent(self.question, (self.gold,), self.answer, self.passage)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Results of a judge on labelled questions."""

    agreements: Mapping[str, Agreement | None]
    """Agreement with the labels by kind of question, and of `all`; None without a verdict."""
    failures: Mapping[str, int]
    """Number of questions without a verdict, by reason."""
    errors: tuple[LabelledQuestion, ...]
    """Questions that the judge answered against their label."""


def load_labels(path: Path) -> tuple[LabelledQuestion, ...]:
    """Return the labelled questions of a file. Raises: LabelError if it cannot be read or a line has another form."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f"{path} cannot be read ({error})") from error
    return tuple(_parse_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


async def calibrate(judge: Judge, questions: Sequence[LabelledQuestion]) -> Calibration:
    """Return how a judge answers labelled questions."""
    verdicts = await asyncio.gather(*(judge.ask(question.to_inquiry()) for question in questions))
    pairs: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    errors = []
    for question, verdict in zip(questions, verdicts, strict=True):
        if verdict is None:
            continue
        for group in (question.kind, "all"):
            pairs[group].append((question.label, verdict))
        if verdict != question.label:
            errors.append(question)
    agreements = {group: measure_agreement(pairs[group]) for group in (*get_args(Kind), "all")}
    return Calibration(agreements, dict(judge.failures), tuple(errors))


def _parse_line(path: Path, number: int, line: str) -> LabelledQuestion:
    try:
        row = json.loads(line)
        passage = row.get("passage", "")
        question = LabelledQuestion(
            row["kind"], row["question"], row["gold"], row["answer"], passage, label=row["label"]
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LabelError(f"{path}, line {number} is no labelled question ({type(error).__name__}: {error})") from error
    if question.kind not in get_args(Kind) or not isinstance(question.label, bool):
        raise LabelError(f"{path}, line {number}: kind must be one of {get_args(Kind)}, label true or false")
    return question
