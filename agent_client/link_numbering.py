"""Numbers links as gpt-oss reads them: `【id†words】`, or `【id†words†host】` if the link leaves the site. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\[[^\[\]\n]{0,100}+\]){1,300}+)\]"
    r"\((?:<([^<>\n]{0,4000})>|((?:[^()\s\\]|\\.|\([^()\s]{0,1000}\)){0,4000}))(?:\s+\"(?:[^\"\\\n]|\\.){0,1000}\")?\)"
)
"""An inline link of CommonMark: words, then the address in one of two forms. Lengths are bounded because pages may be
hostile.
"""
_NUMBERED_LINK = re.compile(r"【\d+†([^†】]+)(?:†[^†】]+)?】")
_PADDING = re.compile(r"(?<=\S ) +(?=\|)|(?<=\| -{3})-+")
"""Padding that makes the columns of a markdown table equally wide."""
_ESCAPES = str.maketrans({"【": "〖", "】": "〗", "◼": "◾", "\u200b": None})
"""Characters that numbered links consist of, with the replacements that gpt-oss uses in page text."""


@dataclass
class LinkNumbering:
    """Numbers the links of one page in order of appearance; an address always gets the same number."""

    site: str
    """Host of the page; empty for a page of results."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses by number, which is a string."""
    _numbers: dict[str, str] = field(default_factory=dict)

    def format_link(self, words: str, address: str) -> str:
        """Return the numbered link; only its words if the address is not a web page or there are no words."""
        words = " ".join(words.replace("†", "‡").split())
        host = host_of(address)
        if not host or not words:
            return words
        number = self._numbers.setdefault(address, str(len(self._numbers)))
        self.addresses[number] = address
        return f"【{number}†{words}】" if host == self.site else f"【{number}†{words}†{host}】"


def escape_marks(text: str) -> str:
    """Return a page's own text without characters that look like numbered links."""
    return text.translate(_ESCAPES)


def number_links(markdown: str, numbering: LinkNumbering) -> str:
    """Return the markdown of a page with its links numbered."""
    text = _LINK.sub(
        lambda link: numbering.format_link(_strip_emphasis(link[1]), _link_address(link)), escape_marks(markdown)
    )
    return _PADDING.sub("", text)


def strip_link_numbers(text: str) -> str:
    """Return the text with numbered links replaced by their words."""
    return _NUMBERED_LINK.sub(r"\1", text)


def host_of(address: str) -> str:
    """Return host and port of a web address; empty if it is not one."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts.netloc if parts.scheme in ("http", "https") else ""


def _strip_emphasis(text: str) -> str:
    return text.strip("*_` ")


def _link_address(link: re.Match[str]) -> str:
    return link[2] if link[2] is not None else re.sub(r"\\(.)", r"\1", link[3])
