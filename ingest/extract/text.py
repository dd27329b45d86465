"""The readable text of an HTML document: its main content, or everything where a main content cannot be told."""

from __future__ import annotations

import re

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

_MAIN_SHARE = 0.25
"""A main content shorter than this share of the whole text, and shorter than _SHORT, is not believed."""
_SHORT = 600
_CELL_OPEN = re.compile(r"(<t[dh](?:\s[^<>]*)?>)\s*<(?:p|div)(?:\s[^<>]*)?>", re.IGNORECASE)
_CELL_CLOSE = re.compile(r"</(?:p|div)>\s*(</t[dh]>)", re.IGNORECASE)
_CELL_GAP = re.compile(r"[ \t]*\t\t[ \t]*(?=\S)")
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def readable(html: str) -> str:
    """Text of a document, a table row on one line with ` | ` between its cells. Raises nothing on valid strings."""
    if "<t" in html:
        html = _CELL_CLOSE.sub(r"\1", _CELL_OPEN.sub(r"\1", html))
    tree = HTMLTree.parse(html)
    text = extract_plain_text(tree, main_content=True, comments=False, alt_texts=False, preserve_formatting=True)
    if len(text) < _SHORT:
        whole = extract_plain_text(tree, comments=True, alt_texts=False, preserve_formatting=True)
        if len(text) < _MAIN_SHARE * len(whole):
            text = whole
    return tidy(text)


def tidy(text: str) -> str:
    text = _CELL_GAP.sub(" | ", text)
    return _BLANK_LINES.sub("\n\n", text).strip()
