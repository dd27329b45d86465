"""Faults that do not look like an answer: connections that end early, and CAPTCHA pages in front of the real ones."""

from __future__ import annotations

import asyncio
from html import escape

from webemu.api.http.response import CUT, Scope, Send
from webemu.api.services.origin import Headers, Reply
from webemu.api.sessions.handler import Outcome

_MARK = b"x-webemu-"
"""Beginning of the names of debug headers."""
_WALL = (
    "<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Verify you are human</h1>"
    "<p>{}.</p><form><label><input type=checkbox> I am not a robot</label></form></body></html>\n"
)


def wall(text: str) -> Reply:
    """Return an imitated CAPTCHA page with status 403."""
    body = _WALL.format(escape(text)).encode()
    told: Headers = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Reply(403, b"Forbidden", told, body)


def unmarked(headers: Headers) -> Headers:
    """Return the headers without those that only this server sends."""
    return [one for one in headers if not one[0].lower().startswith(_MARK)]


async def cut(outcome: Outcome, scope: Scope, send: Send) -> None:
    """End a connection as the outcome says: after half a response, by a reset, or by closing it.

    Raises:
        ConnectionResetError: the HTTP server offers no way to end a connection (in tests); the request fails instead.
    """
    if outcome.cut == "half" and outcome.reply is not None:
        reply = outcome.reply
        headers = reply.headers if outcome.marks else unmarked(reply.headers)
        start = {"status": reply.status, "reason": reply.reason, "headers": headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": reply.body[: len(reply.body) // 2], "more_body": True})
    if (end := scope.get("extensions", {}).get(CUT)) is None:
        raise ConnectionResetError(f"fault injected by the weather of the session: {outcome.cut}")
    end(outcome.cut == "reset")
    await asyncio.sleep(0)  # lets the connection close before the request ends
