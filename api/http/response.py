"""What goes back over HTTP: one status, one body, its headers, sent in two ASGI messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON = b"application/json"
BYTES = b"application/octet-stream"
"""Recorded payloads are never served under their own type: a browser would run them in this server's origin."""


PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}
CUT = "webemu.cut"
"""ASGI extension of our doors: a function that ends the connection, by a reset or once all is sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response, body and all."""

    body: bytes
    snapshot: str = ""
    """Which snapshot it was made from; empty when there is none."""
    status: int = 200
    kind: bytes = JSON
    headers: tuple[Header, ...] = ()


def all_headers(answer: Answer) -> list[Header]:
    """The headers it goes out with."""
    headers = [(b"content-type", answer.kind), (b"content-length", b"%d" % len(answer.body)), *answer.headers]
    if answer.snapshot:
        headers.append((b"x-webemu-snapshot", answer.snapshot.encode()))
    return headers


async def send_answer(answer: Answer, send: Send, *, bodiless: bool = False) -> None:
    """Send it; a bodiless one (HEAD) has the length of what GET would answer."""
    start = {"type": "http.response.start", "status": answer.status, "headers": all_headers(answer)}
    # Our doors write an answer with a reason in one piece, and give this server's own the day.
    await send({**start, "reason": PHRASES[answer.status], "own": True})
    await send({"type": "http.response.body", "body": b"" if bodiless else answer.body})
