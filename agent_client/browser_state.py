"""The state of one rollout's browser: the displays so far, each with its cursor. No network.

A call is planned first, which yields the next display or the API call that gets it; then the display is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from webemu.agent_client import page_display
from webemu.agent_client.calls import ApiCall
from webemu.agent_client.numbered_text import end_of_view, number_lines, wrap_lines
from webemu.agent_client.page_display import SOURCE_PREFIX, Display
from webemu.agent_client.tokens import TokenOffset
from webemu.agent_client.tools import InvalidToolCall

LINES_ABOVE = 4
"""Lines shown above a match."""


@dataclass(frozen=True, slots=True)
class NextDisplay:
    """The next display and the part of it to show."""

    display: Display | ApiCall[Display]
    """A display, or the API call that returns it."""
    line: int = 0
    """First line to show."""
    lines: int = -1
    """Number of lines; as many as the budget allows if not positive."""
    error_prefix: str = ""
    """Prefix of the text that reports a refused call."""


@dataclass
class BrowserState:
    """Displays in the order in which they were shown; the index of a display is its cursor."""

    token_offset: TokenOffset
    budget: int = 1024
    """Tokens of a view."""
    result_count: int = 20
    """Results of a search."""
    displays: list[Display] = field(default_factory=list)
    pages: dict[str, Display] = field(default_factory=dict)
    """The last display of each address."""

    def plan(self, name: str, arguments: str | Mapping[str, object]) -> NextDisplay:
        """Return what a tool call leads to. Raises InvalidToolCall."""
        options = _parse_arguments(arguments)
        tool = name.removeprefix("browser.")
        if tool == "search":
            query = _text_argument(options, "query", tool)
            return NextDisplay(
                page_display.call_for_results(query, self.result_count),
                error_prefix=f"Error during search for `{query}`: ",
            )
        if tool == "open":
            return self._open(options)
        if tool == "find":
            return self._find(options)
        raise InvalidToolCall(json.dumps({"error": f"Unknown function: {tool}"}))

    def show(self, display: Display, next_display: NextDisplay) -> str:
        """Append a display and return its text. Raises InvalidToolCall if it does not have the first line."""
        lines = wrap_lines(display.text)
        if next_display.line >= len(lines):
            end = len(lines) - 1
            raise InvalidToolCall(
                f"Invalid location parameter: `{next_display.line}`. Cannot exceed page maximum of {end}."
            )
        self.pages[display.url] = display  # so that a later link to it needs no request
        self.displays.append(display)
        first = next_display.line
        fitting = (
            end_of_view(lines, first, self.budget, self.token_offset)
            if next_display.lines <= 0
            else first + next_display.lines
        )
        last = min(fitting, len(lines))
        address = f" ({_truncate(unquote(display.url))})" if display.url else ""
        scrollbar = f"**viewing lines [{first} - {last - 1}] of {len(lines) - 1}**"
        head = f"[{len(self.displays) - 1}] {display.title}{address}\n{scrollbar}\n\n"
        return head + number_lines(lines[first:last], first)

    def _open(self, arguments: Mapping[str, object]) -> NextDisplay:
        """Plan a call of `open`: an address, a link of a display, or another part of a display."""
        link_id = arguments.get("id", -1)
        if isinstance(link_id, str) and not _INTEGER.fullmatch(link_id):
            return self._show_url(link_id, arguments)
        link, display = _integer_argument(arguments, "id"), self._display_at_cursor(arguments)
        if link < 0:
            return self._show_url(display.url, arguments, display)
        if str(link) not in display.links:
            raise InvalidToolCall(f"Invalid link id `{link}`.")
        url = display.links[str(link)]
        return self._show_url(url, arguments, self.pages.get(url), (display.match_lines or {}).get(str(link), 0))

    def _show_url(
        self, url: str, arguments: Mapping[str, object], display: Display | None = None, match_line: int = 0
    ) -> NextDisplay:
        """Plan to show an address, from a display that is known or by a call. HTML source is always fetched, and shown
        from its start.
        """
        if arguments.get("view_source") in (True, 1, "true", "True"):
            url, display, match_line = SOURCE_PREFIX + url.removeprefix(SOURCE_PREFIX), None, 0
        line = _integer_argument(arguments, "loc")
        first = line if line >= 0 else match_line - LINES_ABOVE if match_line > LINES_ABOVE else match_line
        return NextDisplay(
            display or page_display.call_for_page(url),
            first,
            _integer_argument(arguments, "num_lines"),
            f"Error fetching URL `{_truncate(url)}`: ",
        )

    def _find(self, arguments: Mapping[str, object]) -> NextDisplay:
        """Plan a call of `find`."""
        display = self._display_at_cursor(arguments)
        if display.match_lines is not None:
            raise InvalidToolCall("Cannot run `find` on search results page or find results page")
        return NextDisplay(page_display.find_in_display(display, _text_argument(arguments, "pattern", "find")))

    def _display_at_cursor(self, arguments: Mapping[str, object]) -> Display:
        """Return the display that a cursor names, or the last one. Raises InvalidToolCall."""
        if not self.displays:
            raise InvalidToolCall("No pages to access!")
        cursor = _integer_argument(arguments, "cursor")
        try:
            return self.displays[cursor]
        except IndexError:
            raise InvalidToolCall(
                f"Cursor `{cursor}` is out of range. Available cursor indices: [0 - {len(self.displays) - 1}]."
            ) from None


_INTEGER = re.compile(r"\s*-?\d{1,15}(?:\.0*)?\s*")


def _parse_arguments(arguments: str | Mapping[str, object]) -> Mapping[str, object]:
    """Return the arguments that are not null. Raises InvalidToolCall if they are not a JSON object."""
    try:
        decoded = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        decoded = None
    if not isinstance(decoded, Mapping):
        raise InvalidToolCall(json.dumps({"error": "Invalid function arguments"}))
    return {name: value for name, value in decoded.items() if value is not None}


def _integer_argument(arguments: Mapping[str, object], name: str) -> int:
    """Return an integer argument; -1 if it is absent. Raises InvalidToolCall."""
    value = arguments.get(name, -1)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise InvalidToolCall(f"`{name}` should be an integer, not `{type(value).__name__}`")
    return int(value)


def _text_argument(arguments: Mapping[str, object], name: str, tool: str) -> str:
    """Return a text argument. Raises InvalidToolCall."""
    value = arguments.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str | int | float):
        raise InvalidToolCall(f"`{tool}` needs one text as `{name}`")
    return str(value)


def _truncate(text: str, limit: int = 1024) -> str:
    """Return a text cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
