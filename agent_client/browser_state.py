"""The state of one rollout's browser: the displays so far, each with its cursor. No network.

A call is planned first, which yields the next display or the API call that gets it; then the display is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from webemu.agent_client import page_display
from webemu.agent_client.calls import Call
from webemu.agent_client.numbered_text import end_of_view, numbered, wrapped
from webemu.agent_client.page_display import SOURCE, Leaf
from webemu.agent_client.tokens import Tokens
from webemu.agent_client.tools import Misuse

ABOVE = 4
"""Lines shown above a match."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The next display and the part of it to show."""

    leaf: Leaf | Call[Leaf]
    """A display, or the API call that returns it."""
    line: int = 0
    """First line to show."""
    lines: int = -1
    """Number of lines; as many as the budget allows if not positive."""
    failing: str = ""
    """Prefix of the text that reports a refused call."""


@dataclass
class Tab:
    """Displays in the order in which they were shown; the index of a display is its cursor."""

    tokens: Tokens
    budget: int = 1024
    """Tokens of a view."""
    results: int = 20
    """Results of a search."""
    stack: list[Leaf] = field(default_factory=list)
    known: dict[str, Leaf] = field(default_factory=dict)
    """The last display of each address."""

    def plan(self, name: str, arguments: str | Mapping[str, Any]) -> Turn:
        """Return what a tool call leads to. Raises InvalidToolCall."""
        given = _read(arguments)
        tool = name.removeprefix("browser.")
        if tool == "search":
            query = _text(given, "query", tool)
            return Turn(page_display.results(query, self.results), failing=f"Error during search for `{query}`: ")
        if tool == "open":
            return self._open(given)
        if tool == "find":
            return self._find(given)
        raise Misuse(json.dumps({"error": f"Unknown function: {tool}"}))

    def show(self, shown: Leaf, turn: Turn) -> str:
        """Append a display and return its text. Raises InvalidToolCall if it does not have the first line."""
        lines = wrapped(shown.text)
        if turn.line >= len(lines):
            end = len(lines) - 1
            raise Misuse(f"Invalid location parameter: `{turn.line}`. Cannot exceed page maximum of {end}.")
        self.known[shown.url] = shown  # so that a later link to it needs no request
        self.stack.append(shown)
        first = turn.line
        fitting = end_of_view(lines, first, self.budget, self.tokens) if turn.lines <= 0 else first + turn.lines
        last = min(fitting, len(lines))
        place = f" ({_cut(unquote(shown.url))})" if shown.url else ""
        scrollbar = f"**viewing lines [{first} - {last - 1}] of {len(lines) - 1}**"
        head = f"[{len(self.stack) - 1}] {shown.title}{place}\n{scrollbar}\n\n"
        return head + numbered(lines[first:last], first)

    def _open(self, given: Mapping[str, Any]) -> Turn:
        """Plan a call of `open`: an address, a link of a display, or another part of a display."""
        wanted = given.get("id", -1)
        if isinstance(wanted, str) and not _NUMBER.fullmatch(wanted):
            return self._visit(wanted, given)
        link, here = _number(given, "id"), self._at(given)
        if link < 0:
            return self._visit(here.url, given, here)
        if str(link) not in here.links:
            raise Misuse(f"Invalid link id `{link}`.")
        url = here.links[str(link)]
        return self._visit(url, given, self.known.get(url), (here.places or {}).get(str(link), 0))

    def _visit(self, url: str, given: Mapping[str, Any], known: Leaf | None = None, place: int = 0) -> Turn:
        """Plan to show an address, from a display that is known or by a call. HTML source is always fetched, and shown
        from its start.
        """
        if given.get("view_source") in (True, 1, "true", "True"):
            url, known, place = SOURCE + url.removeprefix(SOURCE), None, 0
        line = _number(given, "loc")
        first = line if line >= 0 else place - ABOVE if place > ABOVE else place
        return Turn(
            known or page_display.page(url), first, _number(given, "num_lines"), f"Error fetching URL `{_cut(url)}`: "
        )

    def _find(self, given: Mapping[str, Any]) -> Turn:
        """Plan a call of `find`."""
        here = self._at(given)
        if here.places is not None:
            raise Misuse("Cannot run `find` on search results page or find results page")
        return Turn(page_display.found(here, _text(given, "pattern", "find")))

    def _at(self, given: Mapping[str, Any]) -> Leaf:
        """Return the display that a cursor names, or the last one. Raises InvalidToolCall."""
        if not self.stack:
            raise Misuse("No pages to access!")
        cursor = _number(given, "cursor")
        try:
            return self.stack[cursor]
        except IndexError:
            raise Misuse(
                f"Cursor `{cursor}` is out of range. Available cursor indices: [0 - {len(self.stack) - 1}]."
            ) from None


_NUMBER = re.compile(r"\s*-?\d{1,15}(?:\.0*)?\s*")


def _read(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments that are not null. Raises InvalidToolCall if they are not a JSON object."""
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, Mapping):
        raise Misuse(json.dumps({"error": "Invalid function arguments"}))
    return {name: value for name, value in given.items() if value is not None}


def _number(given: Mapping[str, Any], name: str) -> int:
    """Return an integer argument; -1 if it is absent. Raises InvalidToolCall."""
    value = given.get(name, -1)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise Misuse(f"`{name}` should be an integer, not `{type(value).__name__}`")
    return int(value)


def _text(given: Mapping[str, Any], name: str, tool: str) -> str:
    """Return a text argument. Raises InvalidToolCall."""
    value = given.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str | int | float):
        raise Misuse(f"`{tool}` needs one text as `{name}`")
    return str(value)


def _cut(text: str, most: int = 1024) -> str:
    """Return a text cut to `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
