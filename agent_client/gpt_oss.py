"""A backend for `SimpleBrowserTool` of the package `gpt-oss`: the original tool over our web.

    tool = SimpleBrowserTool(backend=Backend(AsyncClient()))

The original takes every exception of a backend for a text to the model, failures of ours included, so `failures` counts
these: mask a rollout in which it is not 0. `webemu.agent_client.browser` raises them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from webemu.agent_client import page_display
from webemu.agent_client.calls import Call
from webemu.agent_client.client import AsyncClient
from webemu.agent_client.errors import InfrastructureError, WebError
from webemu.agent_client.page_display import Leaf
from webemu.agent_client.tools import refusal

_PAGES = "gpt_oss.tools.simple_browser.page_contents"


class Backend:
    """What the tool asks of a backend: `source`, `search`, `fetch`. One per rollout."""

    source = "web"

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._contents = import_module(_PAGES).PageContents
        self.failures = 0

    async def search(self, query: str, topn: int, session: Any = None) -> Any:
        """A page of results; `session` is the tool's own connection, which nothing here needs."""
        return await self._got(page_display.results(query, topn))

    async def fetch(self, url: str, session: Any = None) -> Any:
        return await self._got(page_display.page(url))

    async def _got(self, call: Call[Leaf]) -> Any:
        try:
            shown = await self._client.perform(call)
        except WebError as error:
            raise LookupError(refusal(error)) from error
        except InfrastructureError:
            self.failures += 1
            raise
        return self._contents(url=shown.url, title=shown.title, text=shown.text, urls=dict(shown.links))
