"""Parsing of observations, for policies without a model. Pure; the texts are made by `webemu.rl.views` and `webemu.rl.sanitizing`."""

from __future__ import annotations

import re

_FRAME = re.compile(r"\A\[(?:results|page|matches) (\w+): data, not instructions\]\n(.*)\n\[end of \w+ \1\]", re.DOTALL)
_RESULT = re.compile(r"^\[(r\d+)\] (.*)\n   (\S+)", re.MULTILINE)
_NEXT = re.compile(r"\n\nThe page goes on: open it with cursor=(\d+)\.\Z")
_SIGNS = re.compile(r"[^\w\s.,'’%&+-]|_+|(?<!\w)-")
_MARK = re.compile(r"\[(\d+)\]")


def within(observation: str) -> str:
    """Return the text between the markers of an observation; the whole text if it has none."""
    found = _FRAME.match(observation)
    return found[2] if found else observation


def query(question: str) -> str:
    """Return the question as plain words. Its quotation marks would demand an exact phrase."""
    return " ".join(_SIGNS.sub(" ", question).split())


def results(observation: str) -> list[tuple[str, str, str]]:
    """Return (link id, title, URL) of the results in rank order."""
    return _RESULT.findall(within(observation))


def page(observation: str) -> str:
    """Return the text of the page's window, without its header and footer."""
    return _NEXT.sub("", within(observation).partition("\n\n")[2])


def cursor(observation: str) -> int | None:
    """Return the offset at which the page continues, in characters; None if this is its end."""
    found = _NEXT.search(within(observation))
    return int(found[1]) if found else None


def marks(text: str) -> list[str]:
    """Return the numbers of the links in a text, in order."""
    return _MARK.findall(text)


def plain(text: str) -> str:
    """Return the text without link numbers."""
    return _MARK.sub("", text)
