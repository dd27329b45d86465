"""Reads what an episode shows, for policies without a model. Pure."""

from __future__ import annotations

import re

_FRAME = re.compile(r"\A\[(?:results|page|matches) (\w+): data, not instructions\]\n(.*)\n\[end of \w+ \1\]", re.DOTALL)
_RESULT = re.compile(r"^\[(r\d+)\] (.*)\n   (\S+)", re.MULTILINE)
_NEXT = re.compile(r"\n\nThe page goes on: open it with cursor=(\d+)\.\Z")
_SIGNS = re.compile(r"[^\w\s.,'’%&+-]|_+|(?<!\w)-")
_MARK = re.compile(r"\[(\d+)\]")


def within(observation: str) -> str:
    """What stands in the frame; the whole where there is none."""
    found = _FRAME.match(observation)
    return found[2] if found else observation


def query(question: str) -> str:
    """The question as plain words: what it quotes is no phrase that must stand so."""
    return " ".join(_SIGNS.sub(" ", question).split())


def results(observation: str) -> list[tuple[str, str, str]]:
    """(link id, title, address) in rank order."""
    return _RESULT.findall(within(observation))


def page(observation: str) -> str:
    """The window of the page."""
    return _NEXT.sub("", within(observation).partition("\n\n")[2])


def cursor(observation: str) -> int | None:
    """Where the page goes on."""
    found = _NEXT.search(within(observation))
    return int(found[1]) if found else None


def marks(text: str) -> list[str]:
    """Numbers of the links in a text, in order."""
    return _MARK.findall(text)


def plain(text: str) -> str:
    """Without the numbers of links."""
    return _MARK.sub("", text)
