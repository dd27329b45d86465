"""Parsing of observations, for policies without a model. Pure; the texts are made by `webemu.rl.views` and
`webemu.rl.sanitizing`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKED_TEXT = re.compile(
    r"\A\[(?:results|page|matches) (\w+): data, not instructions\]\n(.*)\n\[end of \w+ \1\]", re.DOTALL
)
_RESULT = re.compile(r"^\[(r\d+)\] (.*)\n   (\S+).*(?:\n   (.*))?", re.MULTILINE)
_NEXT_CURSOR = re.compile(r"\n\nThe page goes on: open it with cursor=(\d+)\.\Z")
_PUNCTUATION = re.compile(r"[^\w\s.,'’%&+-]|_+|(?<!\w)-")
_LINK_NUMBER = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class ShownResult:
    """Search result as an observation shows it."""

    link: str
    """Link id, such as `r1`."""
    title: str
    url: str
    snippet: str = ""


def unwrap(observation: str) -> str:
    """Return the text between the markers of an observation; the whole text if it has none."""
    match = _MARKED_TEXT.match(observation)
    return match[2] if match else observation


def to_plain_query(question: str) -> str:
    """Return the question as plain words. Its quotation marks would demand an exact phrase."""
    return " ".join(_PUNCTUATION.sub(" ", question).split())


def parse_results(observation: str) -> list[ShownResult]:
    """Return the results in rank order."""
    return [ShownResult(*match.groups("")) for match in _RESULT.finditer(unwrap(observation))]


def parse_page_text(observation: str) -> str:
    """Return the text of the page's window, without its header and footer."""
    return _NEXT_CURSOR.sub("", unwrap(observation).partition("\n\n")[2])


def parse_next_cursor(observation: str) -> int | None:
    """Return the offset at which the page continues, in characters; None if this is its end."""
    match = _NEXT_CURSOR.search(unwrap(observation))
    return int(match[1]) if match else None


def find_link_numbers(text: str) -> list[str]:
    """Return the numbers of the links in a text, in order."""
    return _LINK_NUMBER.findall(text)
