"""Limits hostile HTML to what parsers can bear, at ingest and while serving: size, depth, tags and attributes."""

from __future__ import annotations

import re
from itertools import accumulate, islice
from operator import sub

MAX_CHARACTERS = 4 << 20
"""Characters of a document that are parsed."""
MAX_DEPTH = 1000
"""Deepest nesting of elements that is parsed."""
_MANY_TAGS, _MANY_OPEN_TAGS = 20_000, 4000
"""Tags, and tags without an end tag, up to which a document parses in bearable time however it is nested."""
_TAG = re.compile(r"</?[a-zA-Z]{1,12}")
_MAX_ATTRIBUTES = 200
"""Attributes of a tag that are kept in large documents. Parsers compare each attribute with all before it."""
_LARGE_CHARACTERS = 100_000
"""Characters up to which a tag cannot have so many attributes that parsing takes more than two seconds."""
_ATTRIBUTE = r"""[\s/]*+=?[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?+"""
_PARSABLE = re.compile(
    r"(?:[^<]++|<(?![a-zA-Z])|<script[\s>](?:[^<]++|<(?!/script))*+"
    rf"|<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{0,1999}}+(?!{_ATTRIBUTE}))*+",
    re.IGNORECASE,
)
"""Everything before a tag of 2,000 attributes. Script contents are skipped, since they only look like tags.

It is one match, so that it takes linear time.
"""
_UNNESTING_TAGS = frozenset(
    "p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt html head body "
    "br img input meta link hr wbr area base col source param embed track".split()
)
"""Elements that need no end tag: an open one does not nest what follows."""


_MIN_HOSTILE_TAGS = 500
"""Tags below which a document can only be hostile by depth or attributes."""
_MAX_OPTION_TAGS = 8000
"""Tags up to which a select with that many options, or a body with that many tags, parses in bearable time."""
_OPTION_TAGS = re.compile(r"(</?)(?=(?:option|optgroup|body|html)[\s/>])", re.IGNORECASE)
_MAX_REOPENED = 300_000
"""Tags times kinds of formatting, at most: a parser may reopen each kind up to three times in every paragraph."""
_FORMATTING_NAME = "<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)"
_FORMATTING_REST = r"""(?:[^<>"']|"[^"]{0,200}"|'[^']{0,200}')*+>?"""
_FORMATTING = re.compile(rf"{_FORMATTING_NAME}(?=[\s/>]){_FORMATTING_REST}", re.IGNORECASE)
_FORMATTING_PARTS = re.compile(rf"{_FORMATTING_NAME}(?=[\s/>])({_FORMATTING_REST})", re.IGNORECASE)
_XHTML_EMPTY = re.compile(
    r"""<(script|style|title|iframe|textarea|div|span|a|p|td|th|i|b|em|ul|ol)((?:\s(?:[^<>]*["'\s])?)?)/>"""
)
_TEMPLATE = re.compile(r"<(/?)template(?=[\s/>])([^<>]*)", re.IGNORECASE)
_SHADOW_ATTRIBUTE = "shadowrootmode"
_NESTED = re.compile(r"(</?)(?:ul|ol|blockquote)(?=[ >])")
MAX_NESTED = 20
"""Deepest nesting of lists and quotes that indents its lines: each level makes every line longer by two."""

MAX_TAGS = 100_000
"""Tags of a document that are shown; more would take longer than a second to render."""

_MORE_ATTRIBUTES = re.compile(rf"(<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{{_MAX_ATTRIBUTES}}}+)(?:{_ATTRIBUTE})++")


class _DepthSteps(dict[str, int]):
    """Cache of how much deeper a tag leads: 1, 0 or -1."""

    def __missing__(self, tag: str) -> int:
        end = tag.startswith("</")
        step = 0 if tag.lower().strip("</") in _UNNESTING_TAGS else -1 if end else 1
        if len(self) < 1000:
            self[tag] = step
        return step


_DEPTH_STEPS = _DepthSteps()


def limit_markup(html: str) -> tuple[str, str | None]:
    """Return the document limited to what parsers can bear, and the reason if it was cut, else None.

    NULs and lone surrogates are removed. Reasons: `text-too-large`, `tag-too-large`, `markup-too-deep`.
    """
    reason = None
    if len(html) > MAX_CHARACTERS:
        html, reason = html[:MAX_CHARACTERS], "text-too-large"
    if "\0" in html:
        html = html.replace("\0", "")
    try:
        html.encode()
    except UnicodeEncodeError:
        html = html.encode("utf-8", "replace").decode()
    # 200,000 attributes of one tag take minutes to parse, 2,000 of each tag seconds.
    if len(html) > _LARGE_CHARACTERS and _MORE_ATTRIBUTES.search(html):
        if (parsable := _PARSABLE.match(html)) and parsable.end() < len(html):
            html, reason = parsable[0], "tag-too-large"
        html = _MORE_ATTRIBUTES.sub(r"\1", html)
    if html.startswith("<?xml"):
        # An HTML parser takes <script/> for a start tag and swallows all that follows.
        html = _XHTML_EMPTY.sub(r"<\1\2></\1>", html)
    if _SHADOW_ATTRIBUTE in html or "shadowRootMode" in html:
        html = _open_shadow_roots(html)
    tags = html.count("<")
    if tags > _MIN_HOSTILE_TAGS:
        html = _rename_hostile_tags(html, tags)
    if (tags > _MANY_TAGS or tags - 2 * html.count("</") > _MANY_OPEN_TAGS) and (
        end := _find_depth_limit(html)
    ) is not None:
        html, reason = html[:end], "markup-too-deep"
    return html, reason


def limit_tags(html: str) -> tuple[str, bool]:
    """Return a document up to its first MAX_TAGS tags, and True if there are more."""
    if html.count("<") <= MAX_TAGS:
        return html, False
    return html[: -len(html.split("<", MAX_TAGS + 1)[-1]) - 1], True


def limit_for_display(html: str) -> tuple[str, bool]:
    """Return the part of a document that is shown, limited as in `limit_markup`, and True if it was cut."""
    html, is_cut = limit_tags(html)  # first: it is cheap, and less markup is left to check
    html, reason = limit_markup(html)
    return html, is_cut or reason is not None


def _find_depth_limit(html: str) -> int | None:
    """Return the offset at which elements nest deeper than MAX_DEPTH; None if nowhere. Unmatched end tags do not
    count.
    """
    # Depth is measured from the lowest point so far: an end tag without a start tag does not close anything.
    depths = list(accumulate(map(_DEPTH_STEPS.__getitem__, _TAG.findall(html))))
    if max(map(sub, depths, accumulate(depths, min)), default=0) <= MAX_DEPTH:
        return None
    lowest = accumulate(depths, min)
    tags_with_depths = zip(_TAG.finditer(html), depths, lowest, strict=True)
    return next(tag.start() for tag, depth, low in tags_with_depths if depth - low > MAX_DEPTH)


def _open_shadow_roots(html: str) -> str:
    """Return the document with its declarative shadow roots (html.spec.whatwg.org) as plain elements."""
    are_shadows: list[bool] = []

    def replace_template(tag: re.Match[str]) -> str:
        if not tag[1]:
            are_shadows.append(_SHADOW_ATTRIBUTE in tag[2].lower())
            return f"<div{tag[2]}" if are_shadows[-1] else tag[0]
        return "</div" if are_shadows and are_shadows.pop() else tag[0]

    return _TEMPLATE.sub(replace_template, html)


def _rename_hostile_tags(html: str, tags: int) -> str:
    """Return the document with tags renamed that make parsers take quadratic time or memory; all text stays."""
    if tags > _MAX_OPTION_TAGS and (first := next(islice(_OPTION_TAGS.finditer(html), _MAX_OPTION_TAGS, None), None)):
        html = html[: first.start()] + _OPTION_TAGS.sub(r"\1x-", html[first.start() :])
    # The more tags a document has, the fewer kinds of formatting it may keep: the product bounds the work.
    kinds = max(1, _MAX_REOPENED // tags)
    formatting_tags = dict.fromkeys(_FORMATTING.findall(html))
    # A tag without an end may be of any kind, so it is always renamed.
    allowed = set(islice((tag for tag in formatting_tags if tag.endswith(">")), kinds))
    if len(allowed) == len(formatting_tags):
        return html
    return _FORMATTING_PARTS.sub(lambda tag: tag[0] if tag[0] in allowed else "<span" + tag[1], html)


def flatten_nesting(html: str) -> str:
    """Return serialized markup whose lists and quotes nest at most MAX_NESTED deep; deeper ones become plain blocks."""
    steps = [-1 if tag == "</" else 1 for tag in _NESTED.findall(html)]
    if max(accumulate(steps), default=0) <= MAX_NESTED:
        return html
    depths = accumulate(steps)

    def replace_tag(tag: re.Match[str]) -> str:
        return f"{tag[1]}div" if next(depths) + (tag[1] == "</") > MAX_NESTED else tag[0]

    return _NESTED.sub(replace_tag, html)
