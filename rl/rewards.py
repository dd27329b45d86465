"""Rewards for short answers (`SHORT`) and for reports (`LONG`, with the terms of `webemu.rl.reports.scoring`).

A correct answer earns nothing without a citation of an opened page that bears it (`webemu.rl.evidence`), and such a
page earns nothing without the answer. A wrong answer earns 0, as an abstention does, so that neither a guess nor a word
of the page is worth more than saying that nothing was found. Costs count only if the answer is correct: without this
condition they taught a small model never to search (docs/environment.md).
"""

from __future__ import annotations

from webemu.rl import gates
from webemu.rl.answers import is_equivalent
from webemu.rl.evidence import is_supported_by
from webemu.rl.ledger import count_repeats, find_opened_urls
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.reports import scoring
from webemu.rl.rubric import Rubric, Term
from webemu.rl.sanitizing import has_template_tokens
from webemu.rl.tasks import Task
from webemu.rl.tasks.phrases import find_names
from webemu.rl.verify import f1, normalise
from webemu.rl.wording import relation_words

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
MAX_SEARCH_OVERLAP = 0.7
"""Share of common words (Jaccard) from which two searches count as one."""


def check_finished(record: EpisodeRecord) -> float:
    """1 if the agent called `finish`, else 0."""
    return record.end == "finished"


def check_format(record: EpisodeRecord) -> float:
    """1 if the answer is one plain line, or correct and without tricks, and the citations are not too many, else 0."""
    return len(record.citations) <= MAX_CITATIONS and (
        gates.is_plain(record.answer[: scoring.MAX_REPORT_CHARACTERS])
        or (check_correct(record) and not has_template_tokens(record.answer))
    )


def check_length(record: EpisodeRecord) -> float:
    """1 if the answer is correct or not much longer than the accepted ones, else 0."""
    return check_correct(record) or gates.is_short(record.answer, record.task.answers)


def check_single(record: EpisodeRecord) -> float:
    """1 if the answer is correct or one answer, not a list or a choice, else 0."""
    return check_correct(record) or gates.is_single(_truncate_answer(record), record.task.answers)


def check_own_words(record: EpisodeRecord) -> float:
    """1 if the answer is correct or does not repeat the question, else 0."""
    return check_correct(record) or gates.is_not_from_question(
        _truncate_answer(record), record.task.question, record.task.answers
    )


def check_correct(record: EpisodeRecord) -> float:
    """1 if the answer says an accepted answer as a person would judge it (`webemu.rl.answers`), else 0."""
    task = record.task
    return is_equivalent(
        record.answer, task.answers, task.answer_type, task.question, [one.quote for one in task.evidence]
    )


def score_grounding(record: EpisodeRecord) -> float:
    """Return the share of the cited pages that were opened, according to the ledger, and showed a passage that bears
    the answer (`webemu.rl.evidence`); 0 for a wrong answer.

    If "not found" is correct, no page says it. Then the pages on which the answer would be found must be cited; if
    there are none, nothing may be cited, after two different searches.
    """
    cited = record.citations[:MAX_CITATIONS]
    if not check_correct(record):
        return 0.0
    if record.task.answer_type == "none":
        return _score_not_found(record)
    return sum(is_supported_by(record, one) for one in cited) / len(cited) if cited else 0.0


def score_cost(record: EpisodeRecord) -> float:
    """Return 1 if the answer is wrong; otherwise less for each request beyond what the hops need, but at least
    `COST_FLOOR`. A repeated request counts twice. A question to the user counts as a request.
    """
    if not check_correct(record):
        return 1.0
    # The agent does not pay for faults that the environment injected.
    request_count = len(record.requests) - sum(one.had_fault or one.failed for one in record.requests)
    request_count += len(record.questions)
    # A question that leaves something open needs a question to the user.
    allowance = REQUESTS_PER_HOP * record.task.hops + SPARE_REQUESTS + len(record.task.user)
    extra_requests = max(0, request_count - allowance) + count_repeats(record.requests)
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
        return not record.citations and _has_searched(record)
    cited = record.citations[:MAX_CITATIONS]
    expected_citations = [one for one in cited if record.final_key(one) in expected_keys]
    return (
        sum(any(map(str.strip, record.shown_parts_of(one))) for one in expected_citations) / len(cited)
        if cited
        else 0.0
    )


def _has_searched(record: EpisodeRecord) -> bool:
    """True if `MIN_SEARCHES` searches asked for the question's subject in ways that a person would call different."""
    topic, subject = relation_words(normalise(record.task.question)), _subject_words(record.task.question)
    distinct: list[frozenset[str]] = []
    queries = (query for one in record.requests if one.reached_agent for query in one.searches)
    for words in (relation_words(normalise(query)) for query in queries):
        is_new = all(_are_different(words, earlier, topic) for earlier in distinct)
        distinct += [words] if words & subject and is_new else []
    return len(distinct) >= MIN_SEARCHES


def _subject_words(question: str) -> frozenset[str]:
    """Return the words of the names in a question, or of the whole question if it names nothing."""
    return relation_words(normalise(" ".join(find_names(question)) or question))


def _are_different(words: frozenset[str], earlier: frozenset[str], topic: frozenset[str]) -> bool:
    """True if two searches share few words and ask for different parts of the question. Words that the question does
    not have make no search different: they may be anything.
    """
    return len(words & earlier) < MAX_SEARCH_OVERLAP * len(words | earlier) and words & topic != earlier & topic


def _truncate_answer(record: EpisodeRecord) -> str:
    """Return the answer cut to 2,000 characters. Longer answers fail the length check, and must not cost time to
    normalise.
    """
    return record.answer[:2000]


def check_asking(record: EpisodeRecord) -> float:
    """1 if the user was asked exactly where the question leaves something open: a clear task without a question, or an
    open one whose user could say something; else 0.
    """
    return any(one.has_reply for one in record.questions) if record.task.user else not record.questions


METRICS = (
    Term("correct", "metric", check_correct),
    Term("f1", "metric", lambda record: f1(_truncate_answer(record), record.task.answers)),
    Term("requests", "metric", lambda record: len(record.requests)),
    Term("searches", "metric", lambda record: sum(len(one.searches) for one in record.requests)),
    Term("opened", "metric", lambda record: len(find_opened_urls(record.requests))),
    Term("asked", "metric", lambda record: len(record.questions)),
    Term("asked_when_needed", "metric", check_asking),
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
        Term("answer", "factor", check_correct),
        Term("grounding", "factor", score_grounding),
        Term("cost", "factor", score_cost),
        *METRICS,
    )
)
"""Rubric of short answers."""
LONG = Rubric(
    (
        Term("finished", "gate", check_finished),
        Term("format", "gate", scoring.is_written),
        Term("accuracy", "factor", scoring.accuracy),
        Term("coverage", "metric", scoring.coverage),
        Term("precision", "metric", scoring.precision),
        Term("relevance", "factor", scoring.relevance),
        *METRICS[2:],
    )
)
"""Rubric of reports. `METRICS[2:]` leaves out `check_correct` and `f1`, which compare short answers."""
