"""The browser tool of gpt-oss over the emulated web: `search`, `open`, `find`, with cursors, numbered lines and links.

Use one browser per rollout. Whatever a model writes, it gets a text back; only InfrastructureError is raised, so that
the rollout can be masked. `webemu.agent_client.gpt_oss` provides the same pages to the original tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webemu.agent_client.browser_state import Tab, Turn
from webemu.agent_client.client import AsyncClient, Client
from webemu.agent_client.errors import WebError
from webemu.agent_client.page_display import Leaf
from webemu.agent_client.tokens import Tokens, best
from webemu.agent_client.tools import Misuse, function_tool, refusal

_CURSOR = {"type": "integer", "description": "Number in brackets above a display; the last display if not given."}
BROWSER_TOOLS: list[dict[str, Any]] = [
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


class _Browser:
    """State and display shared by both browsers."""

    def __init__(self, view_tokens: int, results: int, tokens: Tokens | None) -> None:
        self.tab = Tab(tokens or best(), view_tokens, results)

    def _shown(self, shown: Leaf, turn: Turn) -> str:
        """Return the text of a display; an error text if it has no such line."""
        try:
            return self.tab.show(shown, turn)
        except Misuse as error:
            return str(error)


class Browser(_Browser):
    """The browser of one rollout.

    browser = Browser(Client())
    browser.call("search", {"query": "river port"})
    """

    def __init__(
        self, client: Client, view_tokens: int = 1024, results: int = 20, tokens: Tokens | None = None
    ) -> None:
        super().__init__(view_tokens, results, tokens)
        self._client = client

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Return the text that a model sees for one call of `search`, `open` or `find`. Raises InfrastructureError
        only.
        """
        try:
            turn = self.tab.plan(name, arguments)
        except Misuse as error:
            return str(error)
        try:
            shown = turn.leaf if isinstance(turn.leaf, Leaf) else self._client.perform(turn.leaf)
        except WebError as error:
            return turn.failing + refusal(error)
        return self._shown(shown, turn)


class AsyncBrowser(_Browser):
    """`Browser` for an `AsyncClient`."""

    def __init__(
        self, client: AsyncClient, view_tokens: int = 1024, results: int = 20, tokens: Tokens | None = None
    ) -> None:
        super().__init__(view_tokens, results, tokens)
        self._client = client

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Return the text that a model sees for one call of `search`, `open` or `find`. Raises InfrastructureError
        only.
        """
        try:
            turn = self.tab.plan(name, arguments)
        except Misuse as error:
            return str(error)
        try:
            shown = turn.leaf if isinstance(turn.leaf, Leaf) else await self._client.perform(turn.leaf)
        except WebError as error:
            return turn.failing + refusal(error)
        return self._shown(shown, turn)
