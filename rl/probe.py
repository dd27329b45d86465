"""Evidence-swap probe (Proof-of-Use, arXiv 2510.10931): finds out whether an agent reads its sources, or knows the
answer or cheats.

A task is run again while the web says another answer of the same form in place of the accepted one (`webemu.rl.swap`). An
agent that reads gives the other answer; one that still gives the accepted answer has it from elsewhere. A metric for a
sample of tasks, never a reward.
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
"""Function that runs a task with words swapped, such as with `AsyncEpisode(client, swap=...)`."""
_MONTHS = "January February March April May June July August September October November December".split()
_DATE = re.compile(r"date(\d{4})(\d{2})(\d{2})")
_EXEMPT = ("choice", "none", "report", "url")
"""Answer types that cannot be probed: the answer is in the question, is nowhere, is long, or is a URL, which is not
swapped.
"""


@dataclass(frozen=True, slots=True)
class Probed:
    """Outcome of the probe for one task."""

    task: str
    """Id of the task."""
    verdict: Verdict
    answer: str = ""
    """Answer that the agent gave."""
    other: str = ""
    """Answer that the web said in place of the accepted one."""


async def probe(run_one: Run, task: Task, others: Sequence[Task], seed: int = 0) -> Probed:
    """Run the probe on one task, preferably one that the agent answered correctly. `other_tasks` are the tasks whose
    answers may be swapped in.

        result = await probe(run_one, task, all_tasks, seed=1)
        result.verdict  # "reads"
    """
    other = counterfactual(task, others, seed)
    if not other:
        return Probed(task.id, "not probed")
    record = await run_one(task, swap(task, other))
    return Probed(task.id, verdict(record, other), record.answer, other)


def summary(probed: Iterable[Probed]) -> dict[str, float | int]:
    """Return the number of results by verdict, and `share_reads`: the share of "reads" among "reads", "closed-book"
    and "neither"; 0 if there are none of these.
    """
    counted = Counter(one.verdict for one in probed)
    told = sum(counted[one] for one in ("reads", "closed-book", "neither"))
    return {**dict(sorted(counted.items())), "share_reads": counted["reads"] / told if told else 0.0}


def verdict(record: Record, other: str) -> Verdict:
    """Return what an answer shows. "neither" means that the agent gave up or found something else."""
    if record.masked:
        return "masked"
    if exact(record.answer, (other,)):
        return "reads"
    return "closed-book" if exact(record.answer, record.task.answers) else "neither"


def counterfactual(task: Task, others: Iterable[Task], seed: int = 0) -> str:
    """Return an answer of another task, of the same type and form as this task's, drawn by the seed among the most
    similar ones. It does not contain the accepted answer, nor is it contained in it or in the question.

    Empty if the task cannot be probed or no other task has such an answer.
    """
    if task.answer_type in _EXEMPT or _is_in(task.question, task.answers):
        return ""
    gold = task.answers[0]
    answers = {
        one.answers[0]
        for one in others
        if one.answer_type == task.answer_type and form(one.answers[0]) == form(gold) and one.answers[0].strip()
    }
    apart = [one for one in sorted(answers) if not _touches(one, task)]
    # An answer that looks odd in its place would give the swap away.
    nearest = min((_distance(one, gold) for one in apart), default=0)
    alike = [one for one in apart if _distance(one, gold) == nearest]
    return random.Random(f"{seed}:{task.id}").choice(alike) if alike else ""


def swap(task: Task, other: str) -> dict[str, str]:
    """Return the words to replace: every spelling of the accepted answers that a page may use, mapped to the other
    answer in the same spelling.
    """
    return {old: _as(old, other) for answer in task.answers for old in _spellings(answer)}


def _spellings(answer: str) -> list[str]:
    """Return the spellings of an answer: common formats of a date or an integer, else the answer alone."""
    text = normalise(answer)
    if date := _DATE.fullmatch(text):
        return list(dict.fromkeys([answer, *_dates(date)]))
    if text.isdigit():
        return list(dict.fromkeys([answer, text, f"{int(text):,}"]))
    return [answer]


def _as(old: str, other: str) -> str:
    """Return the other answer in the spelling of the old one."""
    before, after = normalise(old), normalise(other)
    if (of := _DATE.fullmatch(before)) and (to := _DATE.fullmatch(after)):
        spelled = dict(zip(_dates(of), _dates(to), strict=True))
        return next((new for known, new in spelled.items() if known.casefold() == old.casefold()), _dates(to)[1])
    if before.isdigit() and after.isdigit():
        return f"{int(after):,}" if "," in old else after
    return other


def _dates(day: re.Match[str]) -> list[str]:
    """Return a date as 2004-03-12, 12 March 2004, March 12, 2004 and 12 Mar 2004."""
    year, month, number = day[1], _MONTHS[int(day[2]) - 1], str(int(day[3]))
    return [
        "-".join(day.groups()),
        f"{number} {month} {year}",
        f"{month} {number}, {year}",
        f"{number} {month[:3]} {year}",
    ]


def _distance(one: str, gold: str) -> tuple[int, int, int]:
    """Return how different two answers look; smaller is more similar. Compared in this order: number of words, pattern
    of letters and punctuation, number of digits.
    """
    shapes = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)) for text in (one, gold)]
    digits = abs(len(re.sub(r"\D", "", one)) - len(re.sub(r"\D", "", gold)))
    return abs(len(one.split()) - len(gold.split())), int(shapes[0] != shapes[1]), digits


def _touches(one: str, task: Task) -> bool:
    """True if an answer overlaps with the question or with an accepted answer."""
    given = normalise(one)
    return _is_in(task.question, (one,)) or any(
        holds(given, gold) or holds(gold, given) for gold in map(normalise, task.answers)
    )


def _is_in(question: str, answers: Iterable[str]) -> bool:
    asked = normalise(question)
    return any(holds(asked, normalise(answer)) for answer in answers)
