"""How the parts of a query are grouped by `OR` and parentheses. What a part says is `webemu.emulator.query`'s business.

`OR` (or `|`) joins the part before it with the part after it and binds closer than standing side by side, as search
engines have it: `a OR b c` is either of `a` and `b`, and `c`. What has no counterpart says nothing: a parenthesis that
is never closed, an `OR` at an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 8
"""Parentheses further inside say nothing."""
MAX_WAYS = 32
"""So many `OR`s of a query count."""

TOKEN = re.compile(
    r"""(?P<open>-?\()|(?P<close>\))|(?P<either>(?:OR|\|)(?![^\s()]))
        |[-+]?(?:[A-Za-z]+:)?(?:"[^"]*"|(?:[^\s()]|\([^\s()]*\))++)""",
    re.VERBOSE,
)


@dataclass(slots=True)
class Node:
    """A part of a query and where it stands.

    Without members it is a leaf: words, phrases, operators. `is_choice`: any of the members will do, else all are said.
    """

    start: int
    end: int
    is_unwanted: bool = False
    is_choice: bool = False
    is_leaf: bool = False
    members: list[Node] = field(default_factory=list)


def grouped(text: str) -> list[Node]:
    """The parts of a query, in the order typed."""
    tokens = list(TOKEN.finditer(text))
    pairs = _pairs(tokens)
    levels = [_Level(Node(0, len(text)))]
    ways = 0
    for place, token in enumerate(tokens):
        if token["either"]:
            ways += 1
            levels[-1].joins = ways <= MAX_WAYS
        elif token["open"] and place in pairs:
            levels.append(_Level(Node(token.start(), token.end(), is_unwanted=token[0] == "-(")))
        elif token["close"] and place in pairs:
            node = levels.pop().node
            node.end = token.end()
            levels[-1].add(node)
        elif not (token["open"] or token["close"]):
            levels[-1].add(Node(token.start(), token.end(), is_leaf=True))
    return levels[0].node.members


def leaves(nodes: list[Node]) -> Iterator[Node]:
    """The parts that can be taken off one by one: groups of parentheses alone are gone through."""
    for node in nodes:
        if node.is_leaf or node.is_choice or node.is_unwanted:
            yield node
        else:
            yield from leaves(node.members)


@dataclass(slots=True)
class _Level:
    """What is between two parentheses, as far as it was read."""

    node: Node
    joins: bool = False
    """Whether an `OR` waits for what it joins."""

    def add(self, node: Node) -> None:
        members = self.node.members
        if not (self.joins and members):
            members.append(node)
        elif members[-1].is_choice:
            members[-1].members.append(node)
            members[-1].end = node.end
        else:
            members[-1] = Node(members[-1].start, node.end, is_choice=True, members=[members[-1], node])
        self.joins = False


def _pairs(tokens: list[re.Match[str]]) -> set[int]:
    """The places of parentheses that have a counterpart and are not too deep; one without makes nothing deeper."""
    matched: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token["open"]:
            opened.append(place)
        elif token["close"] and opened:
            matched[opened.pop()] = place
    found: set[int] = set()
    ends: list[int] = []
    for first, last in sorted(matched.items()):
        while ends and ends[-1] < first:
            ends.pop()
        if len(ends) < MAX_DEPTH:
            found |= {first, last}
        ends.append(last)
    return found
