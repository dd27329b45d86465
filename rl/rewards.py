"""The rewards: short answers (`SHORT`), and long-form ones (`LONG`, whose terms are in `webemu.rl.longform`).

A right answer without a page that was opened and says it earns nothing, and neither does such a page without an answer.
A wrong answer earns `ATTEMPT` at most: if it is one answer of the right form that a cited, opened page says. Costs
count only when the answer is right: ungated, they taught a small policy never to search (docs/environment.md).
"""

from __future__ import annotations

from webemu.rl import gates, longform
from webemu.rl.ledger import opened, repeats
from webemu.rl.record import Record, key
from webemu.rl.rubric import Rubric, Term
from webemu.rl.tasks import Task
from webemu.rl.verify import exact, f1, normalise

ATTEMPT = 0.05
"""The ceiling of an honest wrong answer."""
MOST_CITED = 5
COST, COST_FLOOR = 0.02, 0.5
"""Taken off for each request beyond what the task needs, and what is left at least."""
PER_HOP = 2
"""Requests that a hop needs: a search and a page."""
SPARE = 1
SEARCHES = 2
"""Before it is believed that something cannot be found."""


def finished(record: Record) -> float:
    return record.end == "finished"


def format_of(record: Record) -> float:
    return len(record.citations) <= MOST_CITED and gates.is_plain(record.answer[: longform.MOST])


def length(record: Record) -> float:
    return gates.is_short(record.answer, record.task.answers)


def single(record: Record) -> float:
    return gates.is_single(_read(record), record.task.answers)


def own_words(record: Record) -> float:
    return gates.is_own(_read(record), record.task.question, record.task.answers)


def correct(record: Record) -> float:
    """Exact match after normalisation with any accepted answer."""
    return exact(_read(record), record.task.answers)


def answer(record: Record) -> float:
    """1 if right, `ATTEMPT` if wrong and of the form of an accepted answer, else 0."""
    if correct(record):
        return 1.0
    given = gates.form(_read(record))
    return ATTEMPT if given != "mixed" and any(gates.form(gold) == given for gold in record.task.answers) else 0.0


def grounding(record: Record) -> float:
    """Share of the cited pages that were opened, by the ledger, and showed the answer in this episode.

    Where "not found" is right, no page says it: the pages where it would stand are cited, or if there are none, no page
    is, after two different searches. What is counted, compared or an address is said by no page either: see `_follows`.
    """
    cited = record.citations[:MOST_CITED]
    if record.task.answer_type == "none" and correct(record):
        return _looked_for(record)
    return sum(_says(record, one) for one in cited) / len(cited) if cited else 0.0


def cost(record: Record) -> float:
    """1 where the answer is wrong; else less for requests beyond what the hops need. A repeated one counts twice."""
    if not correct(record):
        return 1.0
    asked = len(record.requests) - sum(one.is_struck or one.failed for one in record.requests)
    beyond = max(0, asked - PER_HOP * record.task.hops - SPARE) + repeats(record.requests)
    return max(COST_FLOOR, 1 - COST * beyond)


def rubric_of(task: Task) -> Rubric:
    """`LONG` for reports, else `SHORT`."""
    return LONG if task.answer_type == "report" else SHORT


def _looked_for(record: Record) -> float:
    places = {key(one.url) for one in record.task.evidence}
    if not places:
        return not record.citations and len(_sought(record)) >= SEARCHES
    cited = record.citations[:MOST_CITED]
    there = [one for one in cited if record.redirects.get(key(one), key(one)) in places]
    return sum(any(map(str.strip, record.page(one))) for one in there) / len(cited) if cited else 0.0


def _sought(record: Record) -> set[frozenset[str]]:
    """The words of each search that had a word of what the question names; the same ones in another order are one."""
    question = record.task.question
    asked = set(normalise(" ".join(longform.names(question)) or question).split())
    queries = (query for one in record.requests if one.is_shown for query in one.searches)
    return {words for words in (frozenset(normalise(query).split()) for query in queries) if words & asked}


def _read(record: Record) -> str:
    """No more of an answer than any short one has: what is longer fails the cap, and need not be normalised."""
    return record.answer[:2000]


def _says(record: Record, citation: str) -> bool:
    right = correct(record)
    accepted = record.task.answers if right else (_read(record),)
    said = any(gates.says(part, one) for part in record.page(citation) for one in accepted)
    return _follows(record, citation, said) if right and _is_worked_out(record.task) else said


def _is_worked_out(task: Task) -> bool:
    """Whether the answer stands in no quote of the evidence: it is counted, added up, compared, or an address."""
    quotes = [row.quote for row in task.evidence]
    return all(quotes) and bool(quotes) and not any(gates.says(quote, one) for quote in quotes for one in task.answers)


def _follows(record: Record, citation: str, said: bool) -> bool:
    """Whether all that the answer follows from was shown, and the cited page is part of it or says the answer. A bare
    number is said by many a page that has nothing to do with it."""
    final = record.redirects.get(key(citation), key(citation))
    is_part = any(row.value and key(row.url) == final for row in record.task.evidence) and bool(record.page(citation))
    if not is_part and not (said and gates.form(_read(record)) != "number"):
        return False
    reached = {key(url) for url in opened(record.requests)}
    shown = [part for url, parts in record.shown.items() if url in reached for part in parts]
    return all(any(gates.says(part, row.value) for part in shown) for row in record.task.evidence if row.value)


METRICS = (
    Term("correct", "metric", correct),
    Term("f1", "metric", lambda record: f1(_read(record), record.task.answers)),
    Term("requests", "metric", lambda record: len(record.requests)),
    Term("searches", "metric", lambda record: sum(len(one.searches) for one in record.requests)),
    Term("opened", "metric", lambda record: len(opened(record.requests))),
    Term("repeats", "metric", lambda record: repeats(record.requests)),
    Term("bytes", "metric", lambda record: sum(one.bytes for one in record.requests)),
    Term("weather", "metric", lambda record: sum(bool(one.weather) for one in record.requests)),
    Term("turns", "metric", lambda record: record.turns),
    Term("misuses", "metric", lambda record: record.misuses),
    Term("citations", "metric", lambda record: len(record.citations)),
)
SHORT = Rubric(
    (
        Term("finished", "gate", finished),
        Term("format", "gate", format_of),
        Term("length", "gate", length),
        Term("single", "gate", single),
        Term("own_words", "gate", own_words),
        Term("answer", "factor", answer),
        Term("grounding", "factor", grounding),
        Term("cost", "factor", cost),
        *METRICS,
    )
)
LONG = Rubric(
    (
        Term("finished", "gate", finished),
        Term("format", "gate", longform.is_written),
        Term("coverage", "factor", longform.coverage),
        Term("precision", "factor", longform.precision),
        *METRICS[2:],
    )
)
