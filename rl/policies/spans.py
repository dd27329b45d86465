"""Spans of a text that have the form which a question asks for, for baselines that guess without a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.phrases import STOP_WORDS
from webemu.rl.tasks.question_form import find_options
from webemu.rl.verify import normalise

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"\b[12]\d{3}\b"
_FULL_DATE = (
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}},? \d{{4}}\b"
)
_NUMBER = (
    r"(?<![\w.-])(?![12]\d{3}\b)\d[\d,]*(?:\.\d+)?"
    r"(?:\s(?:million|billion|thousand|km²?|metres|years|days|hectares)(?!\w))?"
)
_FORMS: tuple[tuple[str, str], ...] = (
    (r"\b(?:in|of) (?:which|what) year\b|\bwhat (?:is|was) the year\b|, in which did\b|\bhow many years ago\b", _YEAR),
    (r"\b(?:what|which) (?:day|date)\b|\bthe date of\b", _FULL_DATE),
    (r"^when\b", rf"{_FULL_DATE}|\b{_MONTH} \d{{4}}\b|{_YEAR}"),
    (r"\b(?:version|release)\b", r"\b\d+(?:\.\d+)+\w*"),
    (r"\bdefault\b", r"\bTrue\b|\bFalse\b|\bNone\b|\bnull\b|'[^'\s]{1,20}'|-?\b\d+(?:\.\d+)?\b|(?<==)\w+"),
    (
        r"\bhow (?:many|much|long|far|tall|old|high|wide|large)\b"
        r"|\bwhat (?:is|was|were) the (?:[a-z]+ )?(?:population|number|length|height|area|total|sum|difference)\b",
        _NUMBER,
    ),
    (
        r"\b(?:function|class|method|module|parameter|command|routine|operator)s?\b",
        r"\b[A-Za-z_]\w*(?:\.\w+)+|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|\b\w+(?=\()",
    ),
)
"""Pairs of patterns: what the question has, and what its answer then looks like. The first that fits decides."""
_ANSWER_PATTERNS = tuple((re.compile(asks, re.IGNORECASE), re.compile(answer)) for asks, answer in _FORMS)
_NAME = re.compile(
    r"\b[A-ZÀ-Þ][\w'’-]*(?:\s+(?:(?:of|the|de|von|van|and|&)\s+)*[A-ZÀ-Þ\d][\w'’-]*)*(?:\s\([A-Z]\w+\))?"
)
_CALENDAR = re.compile(
    rf"{_MONTH}(?: \d{{1,4}})*|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
)
_LABEL_BEHIND = re.compile(r"(?:\s\(?[a-z]+\)?){0,3}\s\|")
"""End of a row's label, which stands without a sign behind the value of the row before."""


def find_spans(question: str, text: str) -> Iterator[tuple[str, int]]:
    """Yield the spans that may answer a question, each with its offset. If the question offers options, they are the
    only spans; otherwise nothing that the question has is one.

        list(find_spans("Who is the mayor of Wick?", "Wick. Its mayor is Bo Lund."))  # [("Bo Lund", 19)]
    """
    options = find_options(question)
    if options:
        pattern = "|".join(map(re.escape, options))
        yield from ((match[0], match.start()) for match in re.finditer(pattern, text))
        return
    normal_question = normalise(question)
    form = next((answer for asks, answer in _ANSWER_PATTERNS if asks.search(question)), _NAME)
    for match in form.finditer(text):
        span = _cut_label(match[0], text[match.end() :]) if form is _NAME else match[0].strip("'")
        if _is_name_or_value(span) and not contains_phrase(normal_question, normalise(span)):
            yield span, match.start()


def _cut_label(name: str, behind: str) -> str:
    """Return a run of capitalised words without the label of the next row, which begins with the last of them."""
    return name.rpartition(" ")[0] if _LABEL_BEHIND.match(behind) else name


def _is_name_or_value(span: str) -> bool:
    """True unless a span is empty, a small word, or a month or weekday alone."""
    return bool(span) and span.casefold() not in STOP_WORDS and not _CALENDAR.fullmatch(span)
