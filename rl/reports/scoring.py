"""Coverage, precision and relevance of a report: how many claims of the hidden report its supported statements state,
how many of its statements their citations support, and how many of them the task asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from webemu.rl.gates import normalise_lines
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.reports.assessment import AssessedStatement, CitedPage, ReportInput, assess
from webemu.rl.reports.citations import ids_of, mark_citations
from webemu.rl.reports.visible_text import strip_hidden
from webemu.rl.reports.words import Token, content, keys_of, matches_figure, tokenize
from webemu.rl.sanitizing import has_template_tokens
from webemu.rl.tasks import Evidence
from webemu.rl.verify import normalise

_URL = re.compile(r"https?://[^\s<>()|]+")
MAX_REPORT_CHARACTERS = 20_000
"""Longest report, in characters, whatever the number of claims."""
CHARACTERS_PER_CLAIM, BASE_CHARACTERS = 300, 400
"""Characters that a report may have, without its URLs: for each claim, and in addition."""
MIN_COPIED_WORDS = 5
"""Words from which a statement that stands on a page is taken for a copy."""
MIN_DIGITS = 3
"""Digits beyond which a value tells what it is about."""
HALF = 0.5
"""Share of true claims below which a report earns less than that share."""
FREE_STATEMENTS, FREE_PER_CLAIM = 2, 1
"""Supported statements in own words that a report may have beyond what the task asks for: in any case, and for each
of its claims, which are a choice of what its pages say. The length of a report is bounded as well.
"""


def extract_claims(record: EpisodeRecord) -> tuple[Evidence, ...]:
    """Return the claims that a report should state: the task's evidence with a value, or its first answer if there is
    none.
    """
    claims_with_value = tuple(row for row in record.task.evidence if row.value)
    return claims_with_value or tuple(Evidence("", value=answer) for answer in record.task.answers[:1])


def is_written(record: EpisodeRecord) -> float:
    """1 if the report is not empty, not too long for its number of claims, and without chat template tokens; else 0."""
    text, limit = record.answer, BASE_CHARACTERS + CHARACTERS_PER_CLAIM * len(extract_claims(record))
    is_bounded = len(text) <= MAX_REPORT_CHARACTERS and len(_URL.sub("", text)) <= limit
    return bool(text.strip()) and is_bounded and not has_template_tokens(text)


def read_statements(record: EpisodeRecord) -> tuple[AssessedStatement, ...]:
    """Return the statements of a report that are claims, with their verdicts.

    [(one.text, one.status) for one in read_statements(record)]  # [("It has 900 people.", "borne")]
    """
    return tuple(one for one in assess(_input_of(record)) if one.status != "none")


def coverage(record: EpisodeRecord) -> float:
    """Return the share of the task's claims that a supported statement states, whose cited pages contain the claim's
    value.
    """
    claim_rows = extract_claims(record)
    borne = [one for one in read_statements(record) if one.status == "borne"]
    return sum(any(states_claim(one, row, record.task.question) for one in borne) for row in claim_rows) / len(
        claim_rows
    )


def accuracy(record: EpisodeRecord) -> float:
    """Return the smaller of coverage and precision, squared and doubled below one half.

    A true sentence in words that no rule knows is missed by both, and should not cost twice, as it would if they were
    multiplied. What is false for the most part earns next to nothing.
    """
    share = min(coverage(record), precision(record))
    return share if share >= HALF else 2 * share * share


def precision(record: EpisodeRecord) -> float:
    """Return the share of the claims of a report that their citations support; 0 if it makes none."""
    statements = read_statements(record)
    return sum(one.status == "borne" for one in statements) / len(statements) if statements else 0.0


def relevance(record: EpisodeRecord) -> float:
    """Return 1 if the report keeps to what the task asks for, else the share of its supported statements that do.

    `FREE_STATEMENTS` more in own words cost nothing; sentences copied from a page all count.
    """
    borne = [one for one in read_statements(record) if one.status == "borne"]
    rows = extract_claims(record)
    bearing = [one for one in borne if any(states_claim(one, row, record.task.question) for row in rows)]
    extras = [one for one in borne if one not in bearing]
    copied = sum(map(_is_copied, extras))
    # A single sentence, such as a definition, may be a quotation.
    copied = copied if copied > 1 else 0
    extra = copied + max(0, len(extras) - copied - FREE_STATEMENTS - FREE_PER_CLAIM * len(rows))
    return len(bearing) / (len(bearing) + extra) if extra else 1.0


def states_claim(statement: AssessedStatement, claim: Evidence, question: str) -> bool:
    """True if a statement has a claim's value, or a less precise date, and another word of its quote. Its pages must
    have the value too.
    """
    tokens = tokenize(statement.text)
    keys = {token.key for token in tokens} | keys_of(statement.section)
    value = content(tokenize(claim.value)) or list(tokenize(claim.value))
    if not value or not all(_has_value(token, tokens) for token in value):
        return False
    value_keys = {token.key for token in value}
    context = keys_of(claim.quote) - value_keys
    beyond_question = context - keys_of(question)
    required = beyond_question or context
    is_context = not required or bool(required & keys) or _is_distinctive(claim.value, value)
    return is_context and any(_page_has_value(part, value) for part in statement.parts)


def _is_distinctive(text: str, value: Sequence[Token]) -> bool:
    """True if a value hardly stands for two things: a number or date with many digits, or a name of several words."""
    digits = sum(character.isdigit() for character in text)
    return digits > MIN_DIGITS or len(value) > 1


def _has_value(token: Token, tokens: Sequence[Token]) -> bool:
    """True if a statement has a token of a value; a part of a date will do."""
    if token.is_figure:
        return any(other.is_figure and matches_figure(other, token) for other in tokens)
    return any(other.key == token.key for other in tokens)


def _page_has_value(part: str, value: Sequence[Token]) -> bool:
    keys = keys_of(part)
    return all(token.key in keys for token in value)


def _is_copied(statement: AssessedStatement) -> bool:
    """True if a statement is a sentence of a page, word by word."""
    if len(statement.text.split()) < MIN_COPIED_WORDS:
        return False
    return any(f" {normalise(statement.text)} " in f" {normalise_lines(part)} " for part in statement.parts)


def _input_of(record: EpisodeRecord) -> ReportInput:
    """Return what the assessment of a record depends on: its text, and the pages that it can cite."""
    text = record.answer[:MAX_REPORT_CHARACTERS]
    marked = mark_citations(strip_hidden(text), len(record.citations))
    urls = {str(number): url for number, url in enumerate(record.citations, 1)} | dict(marked.sources)
    urls |= {label: label for label in ids_of(marked.text) if label.startswith("http")}
    urls |= {entry.url: entry.url for entry in marked.entries}
    pages = tuple(CitedPage(label, url_key(url), record.shown_parts_of(url)) for label, url in urls.items())
    return ReportInput(text, record.task.question, len(record.citations), pages)
