"""The client library: search, open and find over HTTP, tools for a model, and a small agent loop.

from webemu.agent_client import Client
with Client("http://127.0.0.1:8800") as web:
    print(web.search("river port").results[0].title)
"""

from webemu.agent_client.agent import Action, Policy, Step, Trajectory, run
from webemu.agent_client.browser import BROWSER_TOOLS, AsyncBrowser, Browser
from webemu.agent_client.client import AsyncClient, Client
from webemu.agent_client.errors import (
    BadRequest,
    ClientError,
    InfrastructureError,
    NotCaptured,
    ViewUnavailable,
    WebError,
)
from webemu.agent_client.tools import TOOLS, call, call_async
from webemu.agent_client.types import FindAnswer, Health, Match, PageAnswer, RawAnswer, SearchAnswer, SearchResult

__all__ = [
    "BROWSER_TOOLS",
    "TOOLS",
    "Action",
    "AsyncBrowser",
    "AsyncClient",
    "BadRequest",
    "Browser",
    "Client",
    "ClientError",
    "FindAnswer",
    "Health",
    "InfrastructureError",
    "Match",
    "NotCaptured",
    "PageAnswer",
    "Policy",
    "RawAnswer",
    "SearchAnswer",
    "SearchResult",
    "Step",
    "Trajectory",
    "ViewUnavailable",
    "WebError",
    "call",
    "call_async",
    "run",
]
