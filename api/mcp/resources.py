"""Pages as MCP's resources: read by their own address. None is listed, since there are too many; templates say how."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from webemu.api.http.errors import is_ours
from webemu.api.mcp.rpc import INVALID_PARAMS, NO_RESOURCE, RpcError
from webemu.api.mcp.tools import refusal
from webemu.api.mcp.versions import MODERN
from webemu.emulator.errors import EmulatorError, NoView
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

MOST_BYTES = 4_000_000
TEMPLATES = [
    {
        "uriTemplate": f"{scheme}://{{+address}}",
        "name": f"page-{scheme}",
        "title": "Web page",
        "description": "A page of the web by its address: markdown if it is HTML, else text, else its bytes.",
    }
    for scheme in ("https", "http")
]


def read(world: World, session: Session, uri: Any, version: str) -> dict[str, Any]:
    """The result of `resources/read`. Raises RpcError, and the failures that are ours."""
    if not isinstance(uri, str) or not uri.startswith(("http://", "https://")):
        raise RpcError(INVALID_PARAMS, "uri is no address of a page")
    try:
        return {"contents": [_content(world, PageRequest(uri, "markdown", at=session.at))]}
    except EmulatorError as error:
        if is_ours(error):
            raise
        code = INVALID_PARAMS if version in MODERN else NO_RESOURCE
        raise RpcError(code, refusal(error), 404, {"uri": uri, "reason": error.reason}) from error


def _content(world: World, request: PageRequest) -> dict[str, str]:
    try:
        page = world.fetch(request)
    except NoView:
        return _blob(world, request)
    is_html = page.capture.mime in ("text/html", "application/xhtml+xml")
    kind = "text/markdown" if is_html else "text/plain"
    return {"uri": request.url, "mimeType": kind, "text": page.content}


def _blob(world: World, request: PageRequest) -> dict[str, str]:
    capture, payload = world.payload(PageRequest(request.url, "raw", at=request.at))
    body = world.decoded(payload)
    if len(body) > MOST_BYTES:
        raise NoView(f"{request.url} is over {MOST_BYTES:,} bytes")
    return {"uri": request.url, "mimeType": capture.mime, "blob": b64encode(body).decode()}
