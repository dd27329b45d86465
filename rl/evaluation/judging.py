"""Figures of the judge in an evaluation: how many answers the rules left open, how the judge decided them, and how
often it agrees with the rules on a sample of answers that they decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from webemu.rl.attempt_row import AttemptRow
from webemu.rl.judge import Judge
from webemu.rl.judge.agreement import Agreement, format_agreement, measure_agreement
from webemu.rl.judge.decision import decide
from webemu.rl.tasks import Task

SAMPLE_SIZE = 100
"""Right and wrong answers each that are put to the judge although the rules decide them."""


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """Figures of the judge."""

    answers: int
    """Number of short answers, without masked attempts of any other reason."""
    open: int
    """Number of them that were put to the judge."""
    equivalent: int
    different: int
    unanswered: int
    """Number of open answers without a verdict; their attempts are masked."""
    failures: Mapping[str, int]
    """Number of questions of this run without a verdict, by reason."""
    requests: int
    """Number of questions that this run sent, those of the sample included."""
    agreement: Agreement | None
    """Agreement with the rules on the sample; None if it is empty."""


async def measure_judge(judge: Judge, tasks: Sequence[Task], rows: Iterable[AttemptRow], seed: int) -> JudgeFigures:
    """Return the figures of a judge over the rows of an evaluation. The sample depends on the seed alone."""
    counted_rows = (row for row in rows if "judge_open" in row["terms"] and (not row["mask"] or _is_unanswered(row)))
    # The turns are most of a row, and there may be many rows.
    short_rows: list[AttemptRow] = [{**row, "turns": []} for row in counted_rows]
    verdicts = [
        row["terms"]["judge_equivalent"] for row in short_rows if row["terms"].get("judge_equivalent") is not None
    ]
    unanswered = sum(map(_is_unanswered, short_rows))
    pairs = await _ask_sample(judge, {task.id: task for task in tasks}, short_rows, seed)
    return JudgeFigures(
        len(short_rows),
        len(verdicts) + unanswered,
        verdicts.count(1.0),
        verdicts.count(0.0),
        unanswered,
        dict(judge.failures),
        judge.request_count,
        measure_agreement(pairs),
    )


def format_judge(figures: JudgeFigures) -> Iterator[str]:
    """Yield the figures of a judge as lines of text."""
    share = figures.open / figures.answers if figures.answers else 0.0
    yield (
        f"judge     {figures.open} of {figures.answers} answers open ({share:.1%}): {figures.equivalent} equivalent,"
        f" {figures.different} different, {figures.unanswered} without a verdict; {figures.requests} requests"
    )
    if figures.failures:
        reasons = ", ".join(f"{reason} {count}" for reason, count in figures.failures.items())
        yield f"          no verdict: {reasons}"
    yield f"agreement {format_agreement(figures.agreement) if figures.agreement else 'no answers to compare'}"


def _is_unanswered(row: AttemptRow) -> bool:
    """True if the judge's failure masked the attempt."""
    return row["mask"].startswith("judge:")


async def _ask_sample(
    judge: Judge, tasks: Mapping[str, Task], rows: Sequence[AttemptRow], seed: int
) -> list[tuple[bool, bool]]:
    """Return the verdicts of the rules and of the judge on a sample of different answers that the rules decide."""
    decided: dict[bool, dict[tuple[str, str], None]] = {True: {}, False: {}}
    for row in rows:
        task = tasks[row["task"]]
        quotes = [one.quote for one in task.evidence]
        decision = decide(row["answer"], task.answers, task.answer_type, task.question, quotes)
        if decision != "open" and row["answer"].strip():
            decided[decision == "right"][row["task"], row["answer"]] = None
    random = Random(f"{seed}:judge")
    sample = [
        (is_right, *key)
        for is_right, keys in decided.items()
        for key in random.sample(sorted(keys), min(SAMPLE_SIZE, len(keys)))
    ]
    verdicts = await asyncio.gather(*(judge.is_equivalent(tasks[name], answer) for _, name, answer in sample))
    pairs = zip((is_right for is_right, *_ in sample), verdicts, strict=True)
    return [(is_right, verdict) for is_right, verdict in pairs if verdict is not None]
