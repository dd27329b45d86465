"""Asks an application of this server in process, as the sockets of `webemu.api.proxy` would: no port is opened."""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import orjson

from webemu.api.app import App
from webemu.api.audit.requests import HERE, AuditRequest
from webemu.emulator.errors import BadRequest
from webemu.emulator.session import OPENED_PREFIX

_SESSION_ID = re.compile(rb"(?i)" + OPENED_PREFIX.encode() + rb"[0-9A-Za-z_-]+")


class Answer(NamedTuple):
    """An answer, without the name of the session that it was given in."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


async def ask(app: App, request: AuditRequest, session: str = "") -> Answer:
    """Return what the application answers, at the door that the request's URL belongs to."""
    is_own = request.url.startswith(HERE + "/")
    return await _call(app if is_own else app.doors.web, request, session)


async def open_session(app: App, policy: dict[str, object]) -> str:
    """Open a session under a policy and return its id. Raises BadRequest if the policy is refused."""
    request = AuditRequest(
        "", "POST", f"{HERE}/v1/sessions", orjson.dumps(policy), (("Content-Type", "application/json"),)
    )
    messages = await _messages(app, request, "")
    body = b"".join(message.get("body", b"") for message in messages)
    if messages[0]["status"] != 201:
        raise BadRequest(
            f"no session could be opened: {body.decode()[:300]}", action="see the policy in docs/sessions.md"
        )
    return str(orjson.loads(body)["session"])


async def _call(app: Any, request: AuditRequest, session: str) -> Answer:
    messages = await _messages(app, request, session)
    headers = tuple((bytes(name).lower(), _SESSION_ID.sub(b"", bytes(value))) for name, value in messages[0]["headers"])
    body = b"".join(message.get("body", b"") for message in messages)
    return Answer(messages[0]["status"], headers, _SESSION_ID.sub(b"", body))


async def _messages(app: Any, request: AuditRequest, session: str) -> list[dict[str, Any]]:
    """Return the ASGI messages of a response."""
    parts = urlsplit(request.url)
    headers = [(b"host", parts.netloc.encode("idna" if not parts.netloc.isascii() else "ascii"))]
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers]
    headers += [(b"x-webemu-session", session.encode())] * bool(session)
    headers += [(b"content-length", str(len(request.body)).encode())] * bool(request.body)
    path = parts.path or "/"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": parts.scheme,
        "path": unquote(path),
        "raw_path": path.encode("utf-8"),
        "query_string": parts.query.encode("utf-8"),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)),
    }
    sent: list[dict[str, Any]] = []
    is_complete, has_asked = asyncio.Event(), False

    async def receive() -> dict[str, object]:
        nonlocal has_asked
        if not has_asked:
            has_asked = True
            return {"type": "http.request", "body": request.body, "more_body": False}
        await is_complete.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            is_complete.set()

    await app(scope, receive, send)
    return sent
