"""Rewards for short answers (`SHORT`) and for reports (`LONG`, with the terms of `webemu.rl.longform`).

A correct answer earns nothing without a citation of an opened page that says it, and such a page earns nothing without
the answer. A wrong answer earns at most `WRONG_ANSWER_CAP`, if it is a single answer of the right form that a cited,
opened page says. Costs count only if the answer is correct: without this condition they taught a small model never to
search (docs/environment.md).
"""

from __future__ import annotations

from webemu.rl import gates, longform
from webemu.rl.ledger import count_repeats, find_opened_urls
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rubric import Rubric, Term
from webemu.rl.tasks import Task
from webemu.rl.verify import f1, is_exact_match, normalise

WRONG_ANSWER_CAP = 0.05
"""Largest reward of a wrong answer."""
MAX_CITATIONS = 5
"""Largest number of citations."""
COST_PER_REQUEST, COST_FLOOR = 0.02, 0.5
"""Deduction for each request beyond what the task needs, and the least value of the factor."""
REQUESTS_PER_HOP = 2
"""Requests that a hop needs: a search and a page."""
SPARE_REQUESTS = 1
"""Requests beyond those of the hops that cost nothing."""
MIN_SEARCHES = 2
"""Different searches that are needed before "not found" is believed."""


def check_finished(record: EpisodeRecord) -> float:
    """1 if the agent called `finish`, else 0."""
    return record.end == "finished"


def check_format(record: EpisodeRecord) -> float:
    """1 if the answer is one plain line and the citations are not too many, else 0."""
    return len(record.citations) <= MAX_CITATIONS and gates.is_plain(record.answer[: longform.MAX_REPORT_CHARACTERS])


def check_length(record: EpisodeRecord) -> float:
    """1 if the answer is not much longer than the accepted ones, else 0."""
    return gates.is_short(record.answer, record.task.answers)


def check_single(record: EpisodeRecord) -> float:
    """1 if the answer is one answer, not a list or a choice, else 0."""
    return gates.is_single(_truncate_answer(record), record.task.answers)


def check_own_words(record: EpisodeRecord) -> float:
    """1 if the answer does not repeat the question, else 0."""
    return gates.is_not_from_question(_truncate_answer(record), record.task.question, record.task.answers)


def check_correct(record: EpisodeRecord) -> float:
    """1 if the answer equals an accepted answer after normalisation, else 0."""
    return is_exact_match(_truncate_answer(record), record.task.answers)


def score_answer(record: EpisodeRecord) -> float:
    """Return 1 for a correct answer, `WRONG_ANSWER_CAP` for a wrong one in the form of an accepted answer, and 0
    otherwise.
    """
    if check_correct(record):
        return 1.0
    answer_form = gates.classify_form(_truncate_answer(record))
    return (
        WRONG_ANSWER_CAP
        if answer_form != "mixed" and any(gates.classify_form(gold) == answer_form for gold in record.task.answers)
        else 0.0
    )


def score_grounding(record: EpisodeRecord) -> float:
    """Return the share of the cited pages that were opened, according to the ledger, and showed the answer in this
    episode.

    If "not found" is correct, no page says it. Then the pages on which the answer would be found must be cited; if
    there are none, nothing may be cited, after two different searches. Pages do not say an answer that is counted,
    compared or a URL either: see `_is_derivable_from`.
    """
    cited = record.citations[:MAX_CITATIONS]
    if record.task.answer_type == "none" and check_correct(record):
        return _score_not_found(record)
    return sum(_is_supported_by(record, one) for one in cited) / len(cited) if cited else 0.0


def score_cost(record: EpisodeRecord) -> float:
    """Return 1 if the answer is wrong; otherwise less for each request beyond what the hops need, but at least
    `COST_FLOOR`. A repeated request counts twice.
    """
    if not check_correct(record):
        return 1.0
    # The agent does not pay for faults that the environment injected.
    request_count = len(record.requests) - sum(one.had_fault or one.failed for one in record.requests)
    extra_requests = max(0, request_count - REQUESTS_PER_HOP * record.task.hops - SPARE_REQUESTS) + count_repeats(
        record.requests
    )
    return max(COST_FLOOR, 1 - COST_PER_REQUEST * extra_requests)


def rubric_of(task: Task) -> Rubric:
    """Return the rubric of a task: `LONG` for reports, `SHORT` for all others.

    score = rubric_of(record.task).score(record)
    """
    return LONG if task.answer_type == "report" else SHORT


def _score_not_found(record: EpisodeRecord) -> float:
    """Return the grounding of a correct "not found"."""
    expected_keys = {url_key(one.url) for one in record.task.evidence}
    if not expected_keys:
        return not record.citations and len(_relevant_searches(record)) >= MIN_SEARCHES
    cited = record.citations[:MAX_CITATIONS]
    expected_citations = [one for one in cited if record.redirects.get(url_key(one), url_key(one)) in expected_keys]
    return (
        sum(any(map(str.strip, record.shown_parts_of(one))) for one in expected_citations) / len(cited)
        if cited
        else 0.0
    )


def _relevant_searches(record: EpisodeRecord) -> set[frozenset[str]]:
    """Return the sets of words of the searches that share a word with the names in the question, or with the whole
    question if it names nothing. Searches that only differ in the order of their words count once.
    """
    question = record.task.question
    question_words = set(normalise(" ".join(longform.find_names(question)) or question).split())
    queries = (query for one in record.requests if one.reached_agent for query in one.searches)
    return {words for words in (frozenset(normalise(query).split()) for query in queries) if words & question_words}


def _truncate_answer(record: EpisodeRecord) -> str:
    """Return the answer cut to 2,000 characters. Longer answers fail the length check, and must not cost time to
    normalise.
    """
    return record.answer[:2000]


def _is_supported_by(record: EpisodeRecord, citation: str) -> bool:
    """True if the cited page supports the answer: it says it or, if the answer is derived, belongs to the evidence."""
    is_correct = check_correct(record)
    accepted = record.task.answers if is_correct else (_truncate_answer(record),)
    says_answer = any(gates.contains_answer(part, one) for part in record.shown_parts_of(citation) for one in accepted)
    return _is_derivable_from(record, citation, says_answer) if is_correct and _is_derived(record.task) else says_answer


def _is_derived(task: Task) -> bool:
    """True if no quote of the evidence contains the answer: it is counted, added up, compared, or a URL."""
    quotes = [row.quote for row in task.evidence]
    return (
        all(quotes)
        and bool(quotes)
        and not any(gates.contains_answer(quote, one) for quote in quotes for one in task.answers)
    )


def _is_derivable_from(record: EpisodeRecord, citation: str, says_answer: bool) -> bool:
    """True if all values from which a derived answer follows were shown, and the cited page is part of the evidence or
    says the answer. A bare number does not count as said, since many unrelated pages contain it.
    """
    final_key = record.redirects.get(url_key(citation), url_key(citation))
    is_part = any(row.value and url_key(row.url) == final_key for row in record.task.evidence) and bool(
        record.shown_parts_of(citation)
    )
    if not is_part and not (says_answer and gates.classify_form(_truncate_answer(record)) != "number"):
        return False
    opened_keys = {url_key(url) for url in find_opened_urls(record.requests)}
    shown_parts = [part for url, parts in record.parts_by_page.items() if url in opened_keys for part in parts]
    return all(
        any(gates.contains_answer(part, row.value) for part in shown_parts) for row in record.task.evidence if row.value
    )


METRICS = (
    Term("correct", "metric", check_correct),
    Term("f1", "metric", lambda record: f1(_truncate_answer(record), record.task.answers)),
    Term("requests", "metric", lambda record: len(record.requests)),
    Term("searches", "metric", lambda record: sum(len(one.searches) for one in record.requests)),
    Term("opened", "metric", lambda record: len(find_opened_urls(record.requests))),
    Term("repeats", "metric", lambda record: count_repeats(record.requests)),
    Term("bytes", "metric", lambda record: sum(one.bytes for one in record.requests)),
    Term("weather", "metric", lambda record: sum(bool(one.weather) for one in record.requests)),
    Term("turns", "metric", lambda record: record.turns),
    Term("misuses", "metric", lambda record: record.invalid_calls),
    Term("citations", "metric", lambda record: len(record.citations)),
)
"""Terms that are logged and do not change the reward."""
SHORT = Rubric(
    (
        Term("finished", "gate", check_finished),
        Term("format", "gate", check_format),
        Term("length", "gate", check_length),
        Term("single", "gate", check_single),
        Term("own_words", "gate", check_own_words),
        Term("answer", "factor", score_answer),
        Term("grounding", "factor", score_grounding),
        Term("cost", "factor", score_cost),
        *METRICS,
    )
)
"""Rubric of short answers."""
LONG = Rubric(
    (
        Term("finished", "gate", check_finished),
        Term("format", "gate", longform.is_written),
        Term("coverage", "factor", longform.coverage),
        Term("precision", "factor", longform.precision),
        *METRICS[2:],
    )
)
"""Rubric of reports. `METRICS[2:]` leaves out `check_correct` and `f1`, which compare short answers."""
