"""Spans of a text that have the form which a question asks for, for baselines that guess without a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.gates import contains_phrase
from webemu.rl.policies.question_form import find_options
from webemu.rl.verify import normalise

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_FORMS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\byears?\b(?!.*\bhow many\b)|\bwhen\b.*\byear\b", re.I), re.compile(r"\b[12]\d{3}\b")),
    (
        re.compile(r"\bwhen\b|\bwhat day\b|\bdate\b", re.I),
        re.compile(
            rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH} \d{{4}}\b"
            rf"|\b{_MONTH} \d{{1,2}},? \d{{4}}\b|\b{_MONTH} \d{{4}}\b|\b[12]\d{{3}}\b"
        ),
    ),
    (re.compile(r"\b(?:version|release)\b", re.I), re.compile(r"\b\d+(?:\.\d+)+\w*")),
    (
        re.compile(r"\bdefault\b", re.I),
        re.compile(r"\bTrue\b|\bFalse\b|\bNone\b|\bnull\b|'[^'\s]{1,20}'|-?\b\d+(?:\.\d+)?\b|(?<== )\w+"),
    ),
    (
        re.compile(
            r"\bhow (?:many|much|long|far|tall|old|high|wide|large)\b"
            r"|\b(?:population|number|length|height|total|sum|difference)\b",
            re.I,
        ),
        re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?:\s(?:million|billion|thousand|km|metres|years|days|hectares))?\b"),
    ),
    (
        re.compile(r"\b(?:function|class|method|module|parameter|command|routine|operator)s?\b", re.I),
        re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|\b\w+(?=\()"),
    ),
)
"""Pairs of patterns: what the question has, and what its answer then looks like. The first that fits decides."""
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*(?:\s+(?:(?:of|the|de|von|van|and|&)\s+)?[A-ZÀ-Þ\d][\w'’-]*)*")
_CALENDAR = re.compile(
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
)


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
    for match in _answer_pattern(question).finditer(text):
        if not _CALENDAR.fullmatch(match[0]) and not contains_phrase(normal_question, normalise(match[0])):
            yield match[0].strip("'"), match.start()


def _answer_pattern(question: str) -> re.Pattern[str]:
    """Return the pattern of the answers of a question: that of a name if nothing says otherwise."""
    return next((answer for asks, answer in _FORMS if asks.search(question)), _NAME)
