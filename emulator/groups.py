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
MAX_ALTERNATIVES = 32
"""Maximum number of `OR`s in a query; further ones are ignored."""

TOKEN_PATTERN = re.compile(
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
    is_excluded: bool = False
    """True for `-(...)`."""
    is_choice: bool = False
    is_leaf: bool = False
    members: list[Node] = field(default_factory=list)


def parse_groups(text: str) -> list[Node]:
    """Return the top-level parts of a query, in the order typed."""
    tokens = list(TOKEN_PATTERN.finditer(text))
    pairs = _find_pairs(tokens)
    frames = [_Frame(Node(0, len(text)))]
    or_count = 0
    for index, token in enumerate(tokens):
        if token["either"]:
            or_count += 1
            frames[-1].is_after_or = or_count <= MAX_ALTERNATIVES
        elif token["open"] and index in pairs:
            frames.append(_Frame(Node(token.start(), token.end(), is_excluded=token[0] == "-(")))
        elif token["close"] and index in pairs:
            node = frames.pop().node
            node.end = token.end()
            frames[-1].add(node)
        elif not (token["open"] or token["close"]):
            frames[-1].add(Node(token.start(), token.end(), is_leaf=True))
    return frames[0].node.members


def removable_groups(nodes: list[Node]) -> Iterator[Node]:
    """Yield the parts that a user can remove one by one: leaves, choices and excluded groups. Plain parentheses are
    opened.
    """
    for node in nodes:
        if node.is_leaf or node.is_choice or node.is_excluded:
            yield node
        else:
            yield from removable_groups(node.members)


@dataclass(slots=True)
class _Frame:
    """Parser state between two parentheses."""

    node: Node
    is_after_or: bool = False
    """True if an `OR` was read and its right operand is still to come."""

    def add(self, node: Node) -> None:
        """Append a part, or join it to the previous one if an `OR` stands between them."""
        members = self.node.members
        if not (self.is_after_or and members):
            members.append(node)
        elif members[-1].is_choice:
            members[-1].members.append(node)
            members[-1].end = node.end
        else:
            members[-1] = Node(members[-1].start, node.end, is_choice=True, members=[members[-1], node])
        self.is_after_or = False


def _find_pairs(tokens: list[re.Match[str]]) -> set[int]:
    """Return the indices of parentheses that are balanced and not nested too deeply. Unbalanced ones add no depth."""
    closing_of: dict[int, int] = {}
    open_indices: list[int] = []
    for index, token in enumerate(tokens):
        if token["open"]:
            open_indices.append(index)
        elif token["close"] and open_indices:
            closing_of[open_indices.pop()] = index
    accepted: set[int] = set()
    ends: list[int] = []  # closing indices of the pairs around the current one: their number is its depth
    for first, last in sorted(closing_of.items()):
        while ends and ends[-1] < first:
            ends.pop()
        if len(ends) < MAX_DEPTH:
            accepted |= {first, last}
        ends.append(last)
    return accepted
