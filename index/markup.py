"""Hostile markup made bearable: what no parser, here or while serving, may be given whole."""

from __future__ import annotations

import re
from itertools import accumulate
from operator import sub

MAX_CHARACTERS = 4 << 20
MAX_DEPTH = 1000
_MANY_TAGS, _MANY_OPEN = 20_000, 4000
"""Documents of fewer tags, or fewer without an end, parse in bearable time however they are nested."""
_TAG = re.compile(r"</?[a-zA-Z]{1,12}")
_LARGE = 100_000
"""Characters up to which no tag has so many attributes that it takes more than two seconds to parse."""
_ATTRIBUTE = r"""[\s/]*+=?[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?+"""
_BEARABLE = re.compile(
    r"(?:[^<]++|<(?![a-zA-Z])|<script[\s>](?:[^<]++|<(?!/script))*+"
    rf"|<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{0,1999}}+(?!{_ATTRIBUTE}))*+",
    re.IGNORECASE,
)
"""All up to a tag of 2,000 attributes; what scripts hold only looks like tags. In one match, so that it is linear."""
_FLAT = frozenset(
    "p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt html head body "
    "br img input meta link hr wbr area base col source param embed track".split()
)
"""Elements that need no end tag: an open one does not make what follows deeper."""


class _Steps(dict[str, int]):
    """How much deeper a tag leads: 1, 0 or -1."""

    def __missing__(self, tag: str) -> int:
        end = tag.startswith("</")
        step = 0 if tag.lower().strip("</") in _FLAT else -1 if end else 1
        if len(self) < 1000:
            self[tag] = step
        return step


_STEPS = _Steps()


def bounded(html: str) -> tuple[str, str | None]:
    """The document without NULs and lone surrogates, cut where it, its depth or a tag grows too large; and why."""
    cut = None
    if len(html) > MAX_CHARACTERS:
        html, cut = html[:MAX_CHARACTERS], "text-too-large"
    if "\0" in html:
        html = html.replace("\0", "")
    try:
        html.encode()
    except UnicodeEncodeError:
        html = html.encode("utf-8", "replace").decode()
    # Parsers compare each attribute of a tag with all before it: 200,000 take minutes.
    if len(html) > _LARGE and (whole := _BEARABLE.match(html)) and whole.end() < len(html):
        html, cut = whole[0], "tag-too-large"
    tags = html.count("<")
    if (tags > _MANY_TAGS or tags - 2 * html.count("</") > _MANY_OPEN) and (end := _too_deep(html)) is not None:
        html, cut = html[:end], "markup-too-deep"
    return html, cut


def _too_deep(html: str) -> int | None:
    """Where elements are nested deeper than MAX_DEPTH, None if nowhere. End tags of what is not open do not count."""
    depths = list(accumulate(map(_STEPS.__getitem__, _TAG.findall(html))))
    if max(map(sub, depths, accumulate(depths, min)), default=0) <= MAX_DEPTH:
        return None
    lowest = accumulate(depths, min)
    found = zip(_TAG.finditer(html), depths, lowest, strict=True)
    return next(tag.start() for tag, depth, low in found if depth - low > MAX_DEPTH)
