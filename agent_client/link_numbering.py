"""Links as gpt-oss reads them: `【id†words】`, and `【id†words†host】` where the link leaves the site. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\[[^\[\]\n]{0,100}+\]){1,300}+)\]"
    r"\((?:<([^<>\n]{0,4000})>|((?:[^()\s\\]|\\.|\([^()\s]{0,1000}\)){0,4000}))(?:\s+\"(?:[^\"\\\n]|\\.){0,1000}\")?\)"
)
"""An inline link of CommonMark: words, then its address in one of two forms. Bounded, as pages may be hostile."""
_MARK = re.compile(r"【\d+†([^†】]+)(?:†[^†】]+)?】")
_PADDING = re.compile(r"(?<=\S ) +(?=\|)|(?<=\| -{3})-+")
"""What makes the columns of a table as wide as their widest cell."""
_MEANT = str.maketrans({"【": "〖", "】": "〗", "◼": "◾", "\u200b": None})
"""Characters that marks are made of, and those that pages get instead; as gpt-oss has them."""


@dataclass
class Marks:
    """Numbers the links of one page as they come; one address has one number."""

    site: str
    """Host of the page; empty for a page of results."""
    addresses: dict[str, str] = field(default_factory=dict)
    """By number, as a text."""
    _numbers: dict[str, str] = field(default_factory=dict)

    def mark(self, words: str, address: str) -> str:
        """The link; its words alone if it leads to no page or has none."""
        words = " ".join(words.replace("†", "‡").split())
        host = host_of(address)
        if not host or not words:
            return words
        number = self._numbers.setdefault(address, str(len(self._numbers)))
        self.addresses[number] = address
        return f"【{number}†{words}】" if host == self.site else f"【{number}†{words}†{host}】"


def plain(text: str) -> str:
    """A page's own text, without characters that look like marks."""
    return text.translate(_MEANT)


def marked(markdown: str, marks: Marks) -> str:
    """The text of a page, its links numbered."""
    text = _LINK.sub(lambda link: marks.mark(_words(link[1]), _address(link)), plain(markdown))
    return _PADDING.sub("", text)


def unmarked(text: str) -> str:
    """The text with the words of its links alone."""
    return _MARK.sub(r"\1", text)


def host_of(address: str) -> str:
    """Host and port of a page's address; empty for what is none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts.netloc if parts.scheme in ("http", "https") else ""


def _words(text: str) -> str:
    return text.strip("*_` ")


def _address(link: re.Match[str]) -> str:
    return link[2] if link[2] is not None else re.sub(r"\\(.)", r"\1", link[3])
