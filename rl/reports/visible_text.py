"""Visible text of a report with HTML in it: comments and hidden elements are taken out, tags become line breaks."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,15})((?:\s[^<>]{0,400})?)/?>")
_HIDDEN = re.compile(
    r"\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0|font-size\s*:\s*0|color\s*:\s*(?:white|#fff"
    r"|transparent)|(?:left|top|text-indent)\s*:\s*-\d",
    re.IGNORECASE,
)
_UNSEEN = frozenset(("script", "style", "template", "noscript", "head", "title", "iframe", "object"))
_VOID = frozenset(("br", "hr", "img", "input", "meta", "link", "wbr"))
_INLINE = frozenset(
    "a b i u s em strong span code sup sub small mark cite q abbr del ins strike wbr font big tt kbd".split()
)
_STRUCK_TAGS = frozenset(("s", "del", "strike"))
_HREF = re.compile(r"href\s*=\s*[\"']?(https?://[^\s\"'<>]+)", re.IGNORECASE)


def strip_hidden(text: str) -> str:
    """Return the text that a reader of the rendered report sees. Marks of Markdown stay.

    strip_hidden("It burnt. <!-- It did not. -->")  # "It burnt. "
    """
    return _strip_tags(_strip_comments(text))


def _strip_comments(text: str) -> str:
    """Return the text without comments. One that does not end hides what follows."""
    pieces, position = list[str](), 0
    while (start := text.find("<!--", position)) >= 0:
        pieces.append(text[position:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(pieces)
        position = end + 3
    return "".join(pieces) + text[position:]


def _strip_tags(text: str) -> str:
    pieces, position, hidden_tags = list[str](), 0, list[str]()
    for match in _TAG.finditer(text):
        name = match[2].lower()
        if not hidden_tags:
            pieces.append(text[position : match.start()])
            pieces.append(_replace_tag(match, name))
        position = match.end()
        _follow_hidden(hidden_tags, match, name)
    return "".join(pieces) + ("" if hidden_tags else text[position:])


def _follow_hidden(hidden_tags: list[str], match: re.Match[str], name: str) -> None:
    """Keep the stack of open elements within a hidden one; it is empty where text is seen."""
    if name in _VOID or match[0].endswith("/>"):
        return
    if match[1]:
        if name in hidden_tags:
            del hidden_tags[len(hidden_tags) - 1 - hidden_tags[::-1].index(name) :]
    elif len(hidden_tags) < 100 and (hidden_tags or name in _UNSEEN or _HIDDEN.search(match[3])):
        hidden_tags.append(name)


def _replace_tag(match: re.Match[str], name: str) -> str:
    if name == "sup":
        return match[0] if not match[3] else ""
    if name in _STRUCK_TAGS:
        return "~~"
    if name == "a":
        link = _HREF.search(match[3])
        return f" {link[1]} " if link else " "
    return "" if name in _INLINE else "\n\n"
