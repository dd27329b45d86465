"""Evidence-swap probe (Proof-of-Use, arXiv 2510.10931): finds out whether an agent reads its sources, or knows the
answer or cheats.

A task is run again while the web says another answer of the same form in place of the accepted one (`webemu.rl.swap`).
An agent that reads gives the other answer; one that still gives the accepted answer has it from elsewhere. A metric
for a sample of tasks, never a reward.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from webemu.rl.answers import is_equivalent
from webemu.rl.gates import classify_form, contains_phrase
from webemu.rl.record import EpisodeRecord
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise

Verdict = Literal["reads", "closed-book", "neither", "masked", "not probed"]
RunEpisode = Callable[[Task, Mapping[str, str]], Awaitable[EpisodeRecord]]
"""Function that runs a task with words swapped, such as with `AsyncEpisode(client, swap=...)`."""
_MONTHS = "January February March April May June July August September October November December".split()
_DATE = re.compile(r"date(\d{4})(\d{2})(\d{2})")
_EXEMPT_TYPES = ("choice", "none", "report", "url")
"""Answer types that cannot be probed: the answer is in the question, is nowhere, is long, or is a URL, which is not
swapped.
"""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Outcome of the probe for one task."""

    task: str
    """Id of the task."""
    verdict: Verdict
    answer: str = ""
    """Answer that the agent gave."""
    other: str = ""
    """Answer that the web said in place of the accepted one."""


async def probe(run_one: RunEpisode, task: Task, other_tasks: Sequence[Task], seed: int = 0) -> ProbeResult:
    """Run the probe on one task, preferably one that the agent answered correctly. `other_tasks` are the tasks whose
    answers may be swapped in.

        result = await probe(run_one, task, all_tasks, seed=1)
        result.verdict  # "reads"
    """
    swapped_answer = pick_counterfactual(task, other_tasks, seed)
    if not swapped_answer:
        return ProbeResult(task.id, "not probed")
    record = await run_one(task, build_swap(task, swapped_answer))
    return ProbeResult(task.id, classify_answer(record, swapped_answer), record.answer, swapped_answer)


def summarize(results: Iterable[ProbeResult]) -> dict[str, float | int]:
    """Return the number of results by verdict, and `share_reads`: the share of "reads" among "reads", "closed-book"
    and "neither"; 0 if there are none of these.
    """
    counts = Counter(one.verdict for one in results)
    conclusive = sum(counts[one] for one in ("reads", "closed-book", "neither"))
    return {**dict(sorted(counts.items())), "share_reads": counts["reads"] / conclusive if conclusive else 0.0}


def classify_answer(record: EpisodeRecord, swapped_answer: str) -> Verdict:
    """Return what an answer shows. "neither" means that the agent gave up or found something else."""
    if record.masked:
        return "masked"
    task = record.task
    if is_equivalent(record.answer, (swapped_answer,), task.answer_type, task.question):
        return "reads"
    is_own = is_equivalent(record.answer, task.answers, task.answer_type, task.question)
    return "closed-book" if is_own else "neither"


def pick_counterfactual(task: Task, other_tasks: Iterable[Task], seed: int = 0) -> str:
    """Return an answer of another task, of the same type and form as this task's, drawn by the seed among the most
    similar ones. It does not contain the accepted answer, nor is it contained in it or in the question.

    Empty if the task cannot be probed or no other task has such an answer.
    """
    if task.answer_type in _EXEMPT_TYPES or _is_in_question(task.question, task.answers):
        return ""
    gold = task.answers[0]
    answers = {
        one.answers[0]
        for one in other_tasks
        if one.answer_type == task.answer_type
        and classify_form(one.answers[0]) == classify_form(gold)
        and one.answers[0].strip()
    }
    candidates = [one for one in sorted(answers) if not _overlaps(one, task)]
    # An answer that looks odd in its place would give the swap away.
    least_distance = min((_distance(one, gold) for one in candidates), default=0)
    most_similar = [one for one in candidates if _distance(one, gold) == least_distance]
    return random.Random(f"{seed}:{task.id}").choice(most_similar) if most_similar else ""


def build_swap(task: Task, swapped_answer: str) -> dict[str, str]:
    """Return the words to replace: every spelling of the accepted answers that a page may use, mapped to the other
    answer in the same spelling.
    """
    return {old: _respell(old, swapped_answer) for answer in task.answers for old in _list_spellings(answer)}


def _list_spellings(answer: str) -> list[str]:
    """Return the spellings of an answer: common formats of a date or an integer, else the answer alone."""
    text = normalise(answer)
    if date := _DATE.fullmatch(text):
        return list(dict.fromkeys([answer, *_date_spellings(date)]))
    if text.isdigit():
        return list(dict.fromkeys([answer, text, f"{int(text):,}"]))
    return [answer]


def _respell(old: str, other: str) -> str:
    """Return the other answer in the spelling of the old one."""
    before, after = normalise(old), normalise(other)
    if (old_date := _DATE.fullmatch(before)) and (new_date := _DATE.fullmatch(after)):
        new_by_old = dict(zip(_date_spellings(old_date), _date_spellings(new_date), strict=True))
        return next(
            (
                new_spelling
                for old_spelling, new_spelling in new_by_old.items()
                if old_spelling.casefold() == old.casefold()
            ),
            _date_spellings(new_date)[1],
        )
    if before.isdigit() and after.isdigit():
        return f"{int(after):,}" if "," in old else after
    return other


def _date_spellings(day: re.Match[str]) -> list[str]:
    """Return a date as 2004-03-12, 12 March 2004, March 12, 2004 and 12 Mar 2004."""
    year, month, day_number = day[1], _MONTHS[int(day[2]) - 1], str(int(day[3]))
    return [
        "-".join(day.groups()),
        f"{day_number} {month} {year}",
        f"{month} {day_number}, {year}",
        f"{day_number} {month[:3]} {year}",
    ]


def _distance(candidate: str, gold: str) -> tuple[int, int, int]:
    """Return how different two answers look; smaller is more similar. Compared in this order: number of words, pattern
    of letters and punctuation, number of digits.
    """
    shapes = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)) for text in (candidate, gold)]
    digits = abs(len(re.sub(r"\D", "", candidate)) - len(re.sub(r"\D", "", gold)))
    return abs(len(candidate.split()) - len(gold.split())), int(shapes[0] != shapes[1]), digits


def _overlaps(candidate: str, task: Task) -> bool:
    """True if an answer overlaps with the question or with an accepted answer."""
    normal_candidate = normalise(candidate)
    return _is_in_question(task.question, (candidate,)) or any(
        contains_phrase(normal_candidate, gold) or contains_phrase(gold, normal_candidate)
        for gold in map(normalise, task.answers)
    )


def _is_in_question(question: str, answers: Iterable[str]) -> bool:
    normal_question = normalise(question)
    return any(contains_phrase(normal_question, normalise(answer)) for answer in answers)
