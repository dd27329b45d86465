"""Parses how `OR` and parentheses group the parts of a query. `webemu.emulator.query` parses the parts themselves.

`OR` (or `|`) joins the part before it with the part after it and binds closer than juxtaposition, as in search
engines: `a OR b c` means (`a` or `b`) and `c`. An unbalanced parenthesis or an `OR` at an end is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 8
"""Parentheses nested deeper than this are ignored."""
MAX_WAYS = 32
"""Maximum number of `OR`s in a query; further ones are ignored."""

TOKEN = re.compile(
    r"""(?P<open>-?\()|(?P<close>\))|(?P<either>(?:OR|\|)(?![^\s()]))
        |[-+]?(?:[A-Za-z]+:)?(?:"[^"]*"|(?:[^\s()]|\([^\s()]*\))++)""",
    re.VERBOSE,
)
"""One token: a parenthesis, an `OR`, or an item of the query language."""


@dataclass(slots=True)
class Node:
    """A part of a query with its position.

    A leaf holds words, phrases or operators. Other nodes combine their members: any of them if `is_choice`, else all.
    """

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    is_unwanted: bool = False
    """True for `-(...)`."""
    is_choice: bool = False
    is_leaf: bool = False
    members: list[Node] = field(default_factory=list)


def grouped(text: str) -> list[Node]:
    """Return the top-level parts of a query, in the order typed."""
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
    """Yield the parts that a user can remove one by one: leaves, choices and excluded groups. Plain parentheses are
    opened.
    """
    for node in nodes:
        if node.is_leaf or node.is_choice or node.is_unwanted:
            yield node
        else:
            yield from leaves(node.members)


@dataclass(slots=True)
class _Level:
    """Parser state between two parentheses."""

    node: Node
    joins: bool = False
    """True if an `OR` was read and its right operand is still to come."""

    def add(self, node: Node) -> None:
        """Append a part, or join it to the previous one if an `OR` stands between them."""
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
    """Return the indices of parentheses that are balanced and not nested too deeply. Unbalanced ones add no depth."""
    matched: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token["open"]:
            opened.append(place)
        elif token["close"] and opened:
            matched[opened.pop()] = place
    found: set[int] = set()
    ends: list[int] = []  # closing indices of the pairs around the current one: their number is its depth
    for first, last in sorted(matched.items()):
        while ends and ends[-1] < first:
            ends.pop()
        if len(ends) < MAX_DEPTH:
            found |= {first, last}
        ends.append(last)
    return found
