"""Sentences of a text, in which marks of citations stand before the full stop."""

from __future__ import annotations

import re

from webemu.rl.reports.citations import CLOSE, MARK, OPEN

_NOT_AFTER_ABBREVIATION = "".join(
    rf"(?<!\b{word}\.)"
    for word in "Dr Mr Mrs Ms St Prof No vs v Jr Sr Inc Ltd Co Rev Gen Col Vol etc e.g i.e ca approx Fig".split()
)
_END = re.compile(
    rf"(?:(?<=[.!?…])|(?<=[.!?][\"”’)*]))(?<!\b[A-Z]\.){_NOT_AFTER_ABBREVIATION}\s+(?=[\"“‘(*_\[A-ZÀ-Þ\d{OPEN}])|\n+"
)
_MARKS_BEHIND_STOP = re.compile(rf"([.!?…][\"”’)*]{{0,3}})((?:\s?{OPEN}[^{OPEN}{CLOSE}]*{CLOSE})+)")
MAX_JOINED_LINE = 60
"""Characters from which a line without an end is taken for one that an editor wrapped."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text with marks. Lines are sentences of their own, unless they were only wrapped.

    split_sentences("Arlen lies on the Bree. <mark> It has 900 people.")  # ["Arlen lies on the Bree <mark>.", ...]
    """
    text = _MARKS_BEHIND_STOP.sub(r"\2\1", _join_wrapped_lines(text))
    return [sentence.strip() for sentence in _END.split(text) if sentence and sentence.strip()]


def _join_wrapped_lines(text: str) -> str:
    lines = [line.strip() for line in text.split("\n")]
    joined = lines[:1]
    for line in lines[1:]:
        before = MARK.sub("", joined[-1]).rstrip()
        is_open = bool(before) and before[-1] not in ".!?:;…|" and not joined[-1].endswith(CLOSE)
        if is_open and line and (line[0].islower() or len(before) > MAX_JOINED_LINE):
            joined[-1] = f"{joined[-1]} {line}"
        else:
            joined.append(line)
    return "\n".join(joined)
