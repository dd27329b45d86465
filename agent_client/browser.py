"""The browser tool of gpt-oss over the emulated web: `search`, `open`, `find`, with cursors, numbered lines and links.

Use one browser per rollout. Whatever a model writes, it gets a text back; only InfrastructureError is raised, so that
the rollout can be masked. `webemu.agent_client.gpt_oss` provides the same pages to the original tool.
"""

from __future__ import annotations

from collections.abc import Mapping

from webemu.agent_client.browser_state import BrowserState, NextDisplay
from webemu.agent_client.client import AsyncClient, Client
from webemu.agent_client.errors import WebError
from webemu.agent_client.page_display import Display
from webemu.agent_client.tokens import TokenOffset, default_token_offset
from webemu.agent_client.tools import InvalidToolCall, PropertySchema, function_tool, refusal_text

_CURSOR: PropertySchema = {
    "type": "integer",
    "description": "Number in brackets above a display; the last display if not given.",
}
BROWSER_TOOLS = [
    function_tool(
        "search",
        "Search the web. Shows the results as a display with numbered links.",
        ["query"],
        query={"type": "string", "description": "What to search for."},
    ),
    function_tool(
        "open",
        "Open a link `【id†…】` of a display, or an address; without an id, scroll the display to the line `loc`.",
        [],
        id={"type": ["integer", "string"], "description": "Number of the link, or an address."},
        cursor=_CURSOR,
        loc={"type": "integer", "description": "Line to begin at."},
        num_lines={"type": "integer", "description": "How many lines; as many as fit if not given."},
        view_source={"type": "boolean", "description": "Show the HTML instead of the text."},
    ),
    function_tool(
        "find",
        "Find a text in a display, upper and lower case alike. Shows where as a display with numbered links.",
        ["pattern"],
        pattern={"type": "string", "description": "The text to find."},
        cursor=_CURSOR,
    ),
]
"""Tool definitions for a model, which cites a display as `【cursor†L9-L11】`."""


class _BaseBrowser:
    """State and display shared by both browsers."""

    def __init__(self, view_tokens: int, results: int, tokens: TokenOffset | None) -> None:
        self.state = BrowserState(tokens or default_token_offset(), view_tokens, results)

    def _show_display(self, display: Display, next_display: NextDisplay) -> str:
        """Return the text of a display; an error text if it has no such line."""
        try:
            return self.state.show(display, next_display)
        except InvalidToolCall as error:
            return str(error)


class Browser(_BaseBrowser):
    """The browser of one rollout.

    browser = Browser(Client())
    browser.call("search", {"query": "river port"})
    """

    def __init__(
        self, client: Client, view_tokens: int = 1024, results: int = 20, tokens: TokenOffset | None = None
    ) -> None:
        super().__init__(view_tokens, results, tokens)
        self._client = client

    def call(self, name: str, arguments: str | Mapping[str, object]) -> str:
        """Return the text that a model sees for one call of `search`, `open` or `find`. Raises InfrastructureError
        only.
        """
        try:
            next_display = self.state.plan(name, arguments)
        except InvalidToolCall as error:
            return str(error)
        try:
            display = (
                next_display.display
                if isinstance(next_display.display, Display)
                else self._client.request(next_display.display)
            )
        except WebError as error:
            return next_display.error_prefix + refusal_text(error)
        return self._show_display(display, next_display)


class AsyncBrowser(_BaseBrowser):
    """`Browser` for an `AsyncClient`."""

    def __init__(
        self, client: AsyncClient, view_tokens: int = 1024, results: int = 20, tokens: TokenOffset | None = None
    ) -> None:
        super().__init__(view_tokens, results, tokens)
        self._client = client

    async def call(self, name: str, arguments: str | Mapping[str, object]) -> str:
        """Return the text that a model sees for one call of `search`, `open` or `find`. Raises InfrastructureError
        only.
        """
        try:
            next_display = self.state.plan(name, arguments)
        except InvalidToolCall as error:
            return str(error)
        try:
            display = (
                next_display.display
                if isinstance(next_display.display, Display)
                else await self._client.request(next_display.display)
            )
        except WebError as error:
            return next_display.error_prefix + refusal_text(error)
        return self._show_display(display, next_display)
