"""A backend for `SimpleBrowserTool` of the package `gpt-oss`: the original tool over the emulated web.

    tool = SimpleBrowserTool(backend=Backend(AsyncClient()))

The original tool turns every exception of a backend into a text for the model, infrastructure failures included.
`failures` counts those: mask a rollout in which it is not 0. `webemu.agent_client.browser` raises them instead.
"""

from __future__ import annotations

from importlib import import_module

from webemu.agent_client import page_display
from webemu.agent_client.calls import ApiCall
from webemu.agent_client.client import AsyncClient
from webemu.agent_client.errors import InfrastructureError, WebError
from webemu.agent_client.page_display import Display
from webemu.agent_client.tools import refusal_text

# Imported by name at run time: the package is not a dependency.
_CONTENTS_MODULE = "gpt_oss.tools.simple_browser.page_contents"


class Backend:
    """Implements the backend interface of the tool: `source`, `search`, `fetch`. Use one per rollout."""

    source = "web"
    """Name of the source, which the tool shows."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._contents = import_module(_CONTENTS_MODULE).PageContents
        self.failures = 0
        """Number of infrastructure failures so far."""

    async def search(self, query: str, topn: int, session: object = None) -> object:
        """Return a page of results. `session` is the tool's HTTP session, which is not needed here."""
        return await self._fetch_display(page_display.call_for_results(query, topn))

    async def fetch(self, url: str, session: object = None) -> object:
        """Return a page. `session` is the tool's HTTP session, which is not needed here."""
        return await self._fetch_display(page_display.call_for_page(url))

    async def _fetch_display(self, call: ApiCall[Display]) -> object:
        """Return a display as the tool's page contents. Raises LookupError if the web refuses, InfrastructureError."""
        try:
            display = await self._client.request(call)
        except WebError as error:
            raise LookupError(refusal_text(error)) from error
        except InfrastructureError:
            self.failures += 1
            raise
        return self._contents(url=display.url, title=display.title, text=display.text, urls=dict(display.links))
