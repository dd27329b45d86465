"""The evidence-swap probe (Proof-of-Use, arXiv 2510.10931): does an agent read, or does it know or hack?

A task is run again with its answer replaced, in all that the web says (`webemu.rl.swap`), by another of the same form. Who
reads gives the other; who still gives the accepted one has it from elsewhere. A metric for a sample, never a reward.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from webemu.rl.gates import form, holds
from webemu.rl.record import Record
from webemu.rl.tasks import Task
from webemu.rl.verify import exact, normalise

Verdict = Literal["reads", "closed-book", "neither", "masked", "not probed"]
Run = Callable[[Task, Mapping[str, str]], Awaitable[Record]]
"""Runs a task with words swapped: `AsyncEpisode(client, swap=...)`."""
_MONTHS = "January February March April May June July August September October November December".split()
_DATE = re.compile(r"date(\d{4})(\d{2})(\d{2})")
_EXEMPT = ("choice", "none", "report", "url")
"""Answers that stand in the question, are nowhere, are long, or are addresses, which no swap touches."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What came of one task."""

    task: str
    verdict: Verdict
    answer: str = ""
    other: str = ""
    """What the web said in place of the accepted answer."""


async def probe(run_one: Run, task: Task, others: Sequence[Task], seed: int = 0) -> Probed:
    """One task, which best is one that the agent answered right. `others` lend their answers."""
    other = counterfactual(task, others, seed)
    if not other:
        return Probed(task.id, "not probed")
    record = await run_one(task, swap(task, other))
    return Probed(task.id, verdict(record, other), record.answer, other)


def summary(probed: Iterable[Probed]) -> dict[str, float | int]:
    """How many there were of each verdict, and the share of those that read among all that have one."""
    counted = Counter(one.verdict for one in probed)
    told = sum(counted[one] for one in ("reads", "closed-book", "neither"))
    return {**dict(sorted(counted.items())), "share_reads": counted["reads"] / told if told else 0.0}


def verdict(record: Record, other: str) -> Verdict:
    """What an answer shows. Neither: it gave up, or found something else."""
    if record.masked:
        return "masked"
    if exact(record.answer, (other,)):
        return "reads"
    return "closed-book" if exact(record.answer, record.task.answers) else "neither"


def counterfactual(task: Task, others: Iterable[Task], seed: int = 0) -> str:
    """Another task's answer of the same type and form, drawn by the seed among those most alike; empty where the task
    cannot be probed or there is none. It neither holds the accepted answer nor is held by it, nor by the question."""
    if task.answer_type in _EXEMPT or _is_in(task.question, task.answers):
        return ""
    gold = task.answers[0]
    answers = {
        one.answers[0]
        for one in others
        if one.answer_type == task.answer_type and form(one.answers[0]) == form(gold) and one.answers[0].strip()
    }
    apart = [one for one in sorted(answers) if not _touches(one, task)]
    nearest = min((_distance(one, gold) for one in apart), default=0)
    alike = [one for one in apart if _distance(one, gold) == nearest]
    return random.Random(f"{seed}:{task.id}").choice(alike) if alike else ""


def swap(task: Task, other: str) -> dict[str, str]:
    """Every spelling of the accepted answers that a page may have, and the other in the same spelling."""
    return {old: _as(old, other) for answer in task.answers for old in _spellings(answer)}


def _spellings(answer: str) -> list[str]:
    text = normalise(answer)
    if date := _DATE.fullmatch(text):
        return list(dict.fromkeys([answer, *_dates(date)]))
    if text.isdigit():
        return list(dict.fromkeys([answer, text, f"{int(text):,}"]))
    return [answer]


def _as(old: str, other: str) -> str:
    """The other answer as the old one is spelled."""
    before, after = normalise(old), normalise(other)
    if (of := _DATE.fullmatch(before)) and (to := _DATE.fullmatch(after)):
        spelled = dict(zip(_dates(of), _dates(to), strict=True))
        return next((new for known, new in spelled.items() if known.casefold() == old.casefold()), _dates(to)[1])
    if before.isdigit() and after.isdigit():
        return f"{int(after):,}" if "," in old else after
    return other


def _dates(day: re.Match[str]) -> list[str]:
    """2004-03-12, 12 March 2004, March 12, 2004, 12 Mar 2004."""
    year, month, number = day[1], _MONTHS[int(day[2]) - 1], str(int(day[3]))
    return [
        "-".join(day.groups()),
        f"{number} {month} {year}",
        f"{month} {number}, {year}",
        f"{number} {month[:3]} {year}",
    ]


def _distance(one: str, gold: str) -> tuple[int, int, int]:
    """How unlike two answers look: words, marks and capitals between the letters, length of a number."""
    shapes = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)) for text in (one, gold)]
    digits = abs(len(re.sub(r"\D", "", one)) - len(re.sub(r"\D", "", gold)))
    return abs(len(one.split()) - len(gold.split())), int(shapes[0] != shapes[1]), digits


def _touches(one: str, task: Task) -> bool:
    """Whether an answer is not apart from the task's own."""
    given = normalise(one)
    return _is_in(task.question, (one,)) or any(
        holds(given, gold) or holds(gold, given) for gold in map(normalise, task.answers)
    )


def _is_in(question: str, answers: Iterable[str]) -> bool:
    asked = normalise(question)
    return any(holds(asked, normalise(answer)) for answer in answers)
