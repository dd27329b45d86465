"""Pages as MCP resources, read by their own URL.

None is listed, because there are too many; the templates tell a client how to address them.
"""

from __future__ import annotations

from base64 import b64encode

from webemu.api.http.errors import is_server_fault
from webemu.api.mcp.rpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from webemu.api.mcp.tools import refusal_text
from webemu.api.mcp.versions import MODERN
from webemu.emulator.errors import EmulatorError, ViewUnavailable
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

MAX_BYTES = 4_000_000
"""Largest resource without a text, in bytes."""
RESOURCE_TEMPLATES = [
    {
        "uriTemplate": f"{scheme}://{{+address}}",
        "name": f"page-{scheme}",
        "title": "Web page",
        "description": "A page of the web by its address: markdown if it is HTML, else text, else its bytes.",
    }
    for scheme in ("https", "http")
]
"""Entries of `resources/templates/list`."""


def read_resource(world: World, session: Session, uri: object, version: str) -> dict[str, object]:
    """Return the result of `resources/read`.

    Raises: RpcError if the URI is wrong or the page cannot be shown, EmulatorError if the server itself fails.
    """
    if not isinstance(uri, str) or not uri.startswith(("http://", "https://")):
        raise RpcError(INVALID_PARAMS, "uri must be an http or https URL")
    try:
        return {"contents": [_read_content(world, PageRequest(uri, "markdown", at_time=session.at_time))]}
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        code = INVALID_PARAMS if version in MODERN else RESOURCE_NOT_FOUND
        raise RpcError(code, refusal_text(error), 404, {"uri": uri}) from error


def _read_content(world: World, request: PageRequest) -> dict[str, str]:
    """Return a page as markdown if it is HTML, as text if it has any, else as bytes."""
    try:
        page = world.fetch(request)
    except ViewUnavailable:
        return _read_bytes(world, request)
    is_html = page.capture.mime in ("text/html", "application/xhtml+xml")
    kind = "text/markdown" if is_html else "text/plain"
    return {"uri": request.url, "mimeType": kind, "text": page.content}


def _read_bytes(world: World, request: PageRequest) -> dict[str, str]:
    """Return a page's bytes in Base64. Raises ViewUnavailable if they are too many."""
    capture, payload = world.payload(PageRequest(request.url, "raw", at_time=request.at_time))
    body = world.decode_body(payload)
    if len(body) > MAX_BYTES:
        raise ViewUnavailable(f"{request.url} has {len(body):,} bytes; the limit is {MAX_BYTES:,}")
    return {"uri": request.url, "mimeType": capture.mime, "blob": b64encode(body).decode()}
