"""What does not look like an answer: connections that end too early, and walls in front of pages."""

from __future__ import annotations

import asyncio
from html import escape

from webemu.api.http.response import CUT, Scope, Send
from webemu.api.services.origin import Headers, Reply
from webemu.api.sessions.handler import Outcome

_MARK = b"x-webemu-"
_WALL = (
    "<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Verify you are human</h1>"
    "<p>{}.</p><form><label><input type=checkbox> I am not a robot</label></form></body></html>\n"
)


def wall(text: str) -> Reply:
    """A page that wants to be sure."""
    body = _WALL.format(escape(text)).encode()
    told: Headers = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Reply(403, b"Forbidden", told, body)


def unmarked(headers: Headers) -> Headers:
    """Without what only we say."""
    return [one for one in headers if not one[0].lower().startswith(_MARK)]


async def cut(outcome: Outcome, scope: Scope, send: Send) -> None:
    """End a connection as the outcome has it; where the server has no such thing, the request fails."""
    if outcome.cut == "half" and outcome.reply is not None:
        reply = outcome.reply
        headers = reply.headers if outcome.marks else unmarked(reply.headers)
        start = {"status": reply.status, "reason": reply.reason, "headers": headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": reply.body[: len(reply.body) // 2], "more_body": True})
    if (end := scope.get("extensions", {}).get(CUT)) is None:
        raise ConnectionResetError(f"the session's weather: {outcome.cut}")
    end(outcome.cut == "reset")
    await asyncio.sleep(0)
