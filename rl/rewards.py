"""Rewards for short answers (`SHORT`) and for reports (`LONG`, with the terms of `webemu.rl.longform`).

A correct answer earns nothing without a citation of an opened page that says it, and such a page earns nothing without
the answer. A wrong answer earns at most `WRONG_ANSWER_CAP`, if it is a single answer of the right form that a cited,
opened page says. Costs count only if the answer is correct: without this condition they taught a small model never to
search (docs/environment.md).
"""

from __future__ import annotations

from webemu.rl import gates, longform
from webemu.rl.ledger import opened, repeats
from webemu.rl.record import Record, key
from webemu.rl.rubric import Rubric, Term
from webemu.rl.tasks import Task
from webemu.rl.verify import exact, f1, normalise

ATTEMPT = 0.05
"""Largest reward of a wrong answer."""
MOST_CITED = 5
"""Largest number of citations."""
COST, COST_FLOOR = 0.02, 0.5
"""Deduction for each request beyond what the task needs, and the least value of the factor."""
PER_HOP = 2
"""Requests that a hop needs: a search and a page."""
SPARE = 1
"""Requests beyond those of the hops that cost nothing."""
SEARCHES = 2
"""Different searches that are needed before "not found" is believed."""


def finished(record: Record) -> float:
    """1 if the agent called `finish`, else 0."""
    return record.end == "finished"


def format_of(record: Record) -> float:
    """1 if the answer is one plain line and the citations are not too many, else 0."""
    return len(record.citations) <= MOST_CITED and gates.is_plain(record.answer[: longform.MOST])


def length(record: Record) -> float:
    """1 if the answer is not much longer than the accepted ones, else 0."""
    return gates.is_short(record.answer, record.task.answers)


def single(record: Record) -> float:
    """1 if the answer is one answer, not a list or a choice, else 0."""
    return gates.is_single(_read(record), record.task.answers)


def own_words(record: Record) -> float:
    """1 if the answer does not repeat the question, else 0."""
    return gates.is_own(_read(record), record.task.question, record.task.answers)


def correct(record: Record) -> float:
    """1 if the answer equals an accepted answer after normalisation, else 0."""
    return exact(_read(record), record.task.answers)


def answer(record: Record) -> float:
    """Return 1 for a correct answer, `WRONG_ANSWER_CAP` for a wrong one in the form of an accepted answer, and 0
    otherwise.
    """
    if correct(record):
        return 1.0
    given = gates.form(_read(record))
    return ATTEMPT if given != "mixed" and any(gates.form(gold) == given for gold in record.task.answers) else 0.0


def grounding(record: Record) -> float:
    """Return the share of the cited pages that were opened, according to the ledger, and showed the answer in this
    episode.

    If "not found" is correct, no page says it. Then the pages on which the answer would be found must be cited; if
    there are none, nothing may be cited, after two different searches. Pages do not say an answer that is counted,
    compared or a URL either: see `_is_derivable_from`.
    """
    cited = record.citations[:MOST_CITED]
    if record.task.answer_type == "none" and correct(record):
        return _looked_for(record)
    return sum(_says(record, one) for one in cited) / len(cited) if cited else 0.0


def cost(record: Record) -> float:
    """Return 1 if the answer is wrong; otherwise less for each request beyond what the hops need, but at least
    `COST_FLOOR`. A repeated request counts twice.
    """
    if not correct(record):
        return 1.0
    # The agent does not pay for faults that the environment injected.
    asked = len(record.requests) - sum(one.is_struck or one.failed for one in record.requests)
    beyond = max(0, asked - PER_HOP * record.task.hops - SPARE) + repeats(record.requests)
    return max(COST_FLOOR, 1 - COST * beyond)


def rubric_of(task: Task) -> Rubric:
    """Return the rubric of a task: `LONG` for reports, `SHORT` for all others.

    score = rubric_of(record.task).score(record)
    """
    return LONG if task.answer_type == "report" else SHORT


def _looked_for(record: Record) -> float:
    """Return the grounding of a correct "not found"."""
    places = {key(one.url) for one in record.task.evidence}
    if not places:
        return not record.citations and len(_sought(record)) >= SEARCHES
    cited = record.citations[:MOST_CITED]
    there = [one for one in cited if record.redirects.get(key(one), key(one)) in places]
    return sum(any(map(str.strip, record.page(one))) for one in there) / len(cited) if cited else 0.0


def _sought(record: Record) -> set[frozenset[str]]:
    """Return the sets of words of the searches that share a word with the names in the question, or with the whole
    question if it names nothing. Searches that only differ in the order of their words count once.
    """
    question = record.task.question
    asked = set(normalise(" ".join(longform.names(question)) or question).split())
    queries = (query for one in record.requests if one.is_shown for query in one.searches)
    return {words for words in (frozenset(normalise(query).split()) for query in queries) if words & asked}


def _read(record: Record) -> str:
    """Return the answer cut to 2,000 characters. Longer answers fail the length check, and must not cost time to
    normalise.
    """
    return record.answer[:2000]


def _says(record: Record, citation: str) -> bool:
    """True if the cited page supports the answer: it says it or, if the answer is derived, belongs to the evidence."""
    right = correct(record)
    accepted = record.task.answers if right else (_read(record),)
    said = any(gates.says(part, one) for part in record.page(citation) for one in accepted)
    return _follows(record, citation, said) if right and _is_worked_out(record.task) else said


def _is_worked_out(task: Task) -> bool:
    """True if no quote of the evidence contains the answer: it is counted, added up, compared, or a URL."""
    quotes = [row.quote for row in task.evidence]
    return all(quotes) and bool(quotes) and not any(gates.says(quote, one) for quote in quotes for one in task.answers)


def _follows(record: Record, citation: str, said: bool) -> bool:
    """True if all values from which a derived answer follows were shown, and the cited page is part of the evidence or
    says the answer. A bare number does not count as said, since many unrelated pages contain it.
    """
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
"""Terms that are logged and do not change the reward."""
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
"""Rubric of short answers."""
LONG = Rubric(
    (
        Term("finished", "gate", finished),
        Term("format", "gate", longform.is_written),
        Term("coverage", "factor", longform.coverage),
        Term("precision", "factor", longform.precision),
        *METRICS[2:],
    )
)
"""Rubric of reports. `METRICS[2:]` leaves out `correct` and `f1`, which compare short answers."""
