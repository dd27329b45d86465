"""Faults that do not look like an answer: connections that end early, and CAPTCHA pages in front of the real ones."""

from __future__ import annotations

import asyncio
from html import escape

from webemu.api.http.response import BREAK_CONNECTION, Headers, Response, Scope, Send
from webemu.api.sessions.step import Outcome

_DEBUG_PREFIX = b"x-webemu-"
"""Beginning of the names of debug headers."""
_CAPTCHA_HTML = (
    "<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Verify you are human</h1>"
    "<p>{}.</p><form><label><input type=checkbox> I am not a robot</label></form></body></html>\n"
)


def render_captcha_page(text: str) -> Response:
    """Return an imitated CAPTCHA page with status 403."""
    body = _CAPTCHA_HTML.format(escape(text)).encode()
    headers: Headers = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Response(403, b"Forbidden", headers, body)


def strip_debug_headers(headers: Headers) -> Headers:
    """Return the headers without those that only this server sends."""
    return [header for header in headers if not header[0].lower().startswith(_DEBUG_PREFIX)]


async def break_connection(outcome: Outcome, scope: Scope, send: Send) -> None:
    """End a connection as the outcome says: after half a response, by a reset, or by closing it.

    Raises:
        ConnectionResetError: the HTTP server offers no way to end a connection (in tests); the request fails instead.
    """
    if outcome.connection_fault == "half" and outcome.reply is not None:
        reply = outcome.reply
        headers = reply.headers if outcome.sends_debug_headers else strip_debug_headers(reply.headers)
        start = {"status": reply.status, "reason": reply.reason, "headers": headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": reply.body[: len(reply.body) // 2], "more_body": True})
    if (break_now := scope.get("extensions", {}).get(BREAK_CONNECTION)) is None:
        raise ConnectionResetError(f"fault injected by the weather of the session: {outcome.connection_fault}")
    break_now(outcome.connection_fault == "reset")
    await asyncio.sleep(0)  # lets the connection close before the request ends
