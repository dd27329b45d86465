"""Sentences of an answer. Points of initials, abbreviations and decimals end none."""

from __future__ import annotations

import re

from webemu.rl.answers.mention import Span

_END = re.compile(r"[.!?。]+[)'\"]*(?=\s|$)|\n")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|st|dr|mr|mrs|ms|prof|jr|sr|art|sec|vol|ep|ch|fig|pp?|ltd|inc|co|corp|no|vs|ca|approx|fr|mt|ft|capt|gen|col"
    r"|rev|hon|sen|gov|messrs"
    r"|e\.g|i\.e|u\.s|u\.k|d\.c|b\.c|a\.d|[^\W\d_](?:\.[^\W\d_])+|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov"
    r"|dec|\d{1,2})$",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[Span]:
    """Return the sentences of a text, each with its closing sign and without spaces around it."""
    spans, start = [], 0
    for match in _END.finditer(text):
        remainder = text[match.end() :].lstrip()
        before = text[max(start, match.start() - 20) : match.start()]
        if (
            match[0] == "."
            and remainder
            and text[match.end()] != "\n"
            and (_ABBREVIATED.search(before) or remainder[0].islower())
        ):
            continue
        spans.append(_strip(text, start, match.end()))
        start = match.end()
    spans.append(_strip(text, start, len(text)))
    return [span for span in spans if span.end > span.start]


def _strip(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)
