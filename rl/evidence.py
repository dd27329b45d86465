"""Support of short answers: whether what a cited page showed in the episode bears the answer.

Three pages do: one of the task's evidence that showed its quote (or the value near the quote's words), a mirror with
the same quote, and any other page with a passage that bears the answer (`webemu.rl.grounding`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from webemu.rl.gates import classify_form, contains_answer
from webemu.rl.grounding import Claim, bears, claim_of, find_places, has_mirror, quote_is_near
from webemu.rl.passages import split_passages
from webemu.rl.record import EpisodeRecord
from webemu.rl.tasks import Evidence, Task
from webemu.rl.verify import normalise
from webemu.rl.views import strip_link_numbers

_FIGURE_START = re.compile(r"[$€£]?\d")


def is_supported_by(record: EpisodeRecord, citation: str) -> bool:
    """True if the cited page bears the task's answer, according to the ledger and to the texts that it showed.

    is_supported_by(record, record.citations[0])
    """
    if is_vouched_for(record, citation):
        return True
    return bool(record.shown_parts_of(citation)) and not _is_derived(record.task) and _bears_answer(record, citation)


def is_vouched_for(record: EpisodeRecord, citation: str) -> bool:
    """True if the task's own evidence proves that the cited page bears the answer: its words alone decide nothing."""
    if not record.shown_parts_of(citation):
        return False
    if _is_derived(record.task):
        return _is_derivable_from(record, citation)
    rows = [row for row in record.task.evidence if _holds_answer(record.task, row)]
    return any(_row_is_shown(record, citation, row) for row in rows)


def _bears_answer(record: EpisodeRecord, citation: str) -> bool:
    """True if a passage that the page showed bears the answer, wherever the task's evidence is."""
    claim, title = _claim_of_task(record.task), record.title_of(citation)
    return any(bears(part, title, claim) for part in record.shown_parts_of(citation))


def _row_is_shown(record: EpisodeRecord, citation: str, row: Evidence) -> bool:
    """True if the page is the one of a row of evidence, or a mirror of it, and showed what the row says."""
    # The shown texts have no numbers in brackets, which are links there and may be indices in the quote.
    parts, quote = record.shown_parts_of(citation), strip_link_numbers(row.quote)
    if record.final_key(citation) != record.final_key(row.url):
        return any(has_mirror(part, quote) for part in parts)
    values = (row.value,) if row.value else record.task.answers
    if not quote and not row.value:
        return _bears_loosely(record, citation)
    if not quote:
        return any(_states_value(part, value) for part in parts for value in values)
    return any(quote_is_near(part, quote, value) for part in parts for value in values)


def _bears_loosely(record: EpisodeRecord, citation: str) -> bool:
    """True if a gold page that is known by its URL alone states the answer beside some word of the relation. The page
    itself stands for the subject.
    """
    claim = replace(_claim_of_task(record.task), is_chain=True, bridge=frozenset(), names=())
    return any(bears(part, record.title_of(citation), claim) for part in record.shown_parts_of(citation))


def _states_value(part: str, value: str) -> bool:
    """True if a passage states a value; a date states its year as well."""
    return contains_answer(part, value) or bool(find_places(split_passages(part), normalise(value)))


def _claim_of_task(task: Task) -> Claim:
    """Return what a page must say to bear the task's answer. The value of the row before the answer's is the bridge."""
    values = [row.value for row in task.evidence if row.value]
    before = [value for value in values if not _is_answer(task, value)]
    bridge = before[-1] if before else ""
    return claim_of(task.question, task.answers, bridge, task.hops > 1)


def _is_answer(task: Task, text: str) -> bool:
    return any(contains_answer(text, answer) for answer in task.answers)


def _holds_answer(task: Task, row: Evidence) -> bool:
    """True if a row of evidence is one that states the answer, or is known by its URL alone."""
    return not (row.value or row.quote) or any(
        text and any(contains_answer(text, answer) for answer in task.answers) for text in (row.value, row.quote)
    )


def _is_derived(task: Task) -> bool:
    """True if the answer follows from all rows of the evidence together: no quote contains it, since it is counted,
    added up, compared or a URL, or it is one of several figures that must be compared.
    """
    quotes = [row.quote for row in task.evidence]
    if not quotes or not all(quotes):
        return False
    return _is_one_of_figures(task) or not any(_is_answer(task, quote) for quote in quotes)


def _is_one_of_figures(task: Task) -> bool:
    """True if pages state different figures, such as years or versions, and the answer is one of these."""
    values = {normalise(row.value) for row in task.evidence}
    are_figures = all(_FIGURE_START.match(row.value) for row in task.evidence)
    is_compared = len(values) > 1 and len({row.url for row in task.evidence}) > 1
    return are_figures and is_compared and any(normalise(answer) in values for answer in task.answers)


def _is_derivable_from(record: EpisodeRecord, citation: str) -> bool:
    """True if all values from which a derived answer follows were shown, and the cited page is part of the evidence,
    has a mirror of it, or bears the answer. A bare number does not count as borne, since many unrelated pages have it.
    """
    rows = [row for row in record.task.evidence if row.value]
    is_part = any(record.final_key(row.url) == record.final_key(citation) for row in rows)
    is_number = all(classify_form(answer) == "number" for answer in record.task.answers)
    is_source = any(_value_is_shown(record, citation, row) for row in rows)
    if not (is_part or is_source or (not is_number and _bears_answer(record, citation))):
        return False
    pages = record.opened_citations()
    return all(any(_value_is_shown(record, page, row) for page in pages) for row in rows)


def _value_is_shown(record: EpisodeRecord, page: str, row: Evidence) -> bool:
    """True if an opened page showed a value of the evidence: on the page of the evidence the value itself, elsewhere a
    name, or the whole quote of a figure, since many unrelated pages have the figure alone.
    """
    parts = record.shown_parts_of(page)
    if record.final_key(page) == record.final_key(row.url):
        return any(contains_answer(part, row.value) for part in parts)
    if classify_form(row.value) == "words":
        return any(contains_answer(part, row.value) for part in parts)
    return any(has_mirror(part, row.quote) for part in parts)
