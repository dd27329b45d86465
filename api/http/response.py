"""Complete HTTP responses: those of the emulated web and of imitated services, and those of the native API.

`Response` has its own reason phrase, and its headers in the order and spelling of the server that it stands for.
`ApiResponse` has its headers added late, by `build_headers`, since the native API may still compress the body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

from starlette import types as asgi

Message: TypeAlias = asgi.Message
Scope: TypeAlias = asgi.Scope
Receive: TypeAlias = asgi.Receive
Send: TypeAlias = asgi.Send
Header = tuple[bytes, bytes]
Headers = list[Header]
"""Response headers in order; names may repeat."""

JSON = b"application/json"
"""Content type of every JSON response."""
OCTET_STREAM = b"application/octet-stream"
"""Content type of recorded payloads. They are never served under their own type: a browser would run them as part of
this server's origin.
"""


REASON_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}
"""Standard reason phrase of each HTTP status code."""
BREAK_CONNECTION = "webemu.cut"
"""ASGI extension that our HTTP protocol offers: a function that ends the connection, by a reset (True) or after
everything is sent (False).
"""


class Response(NamedTuple):
    """A complete HTTP response of the emulated web or of an imitated service."""

    status: int
    reason: bytes
    headers: Headers
    """Headers in the order and spelling of the origin, with a correct `Content-Length`. Some may be ones that HTTP
    forbids; `webemu.api.http.head` drops them.
    """
    body: bytes


def compose_response(status: int, content_type: bytes, body: bytes, headers: Iterable[Header] = ()) -> Response:
    """Return a response with the standard reason phrase; type and length of the body stand before `headers`.

    compose_response(200, b"text/plain", b"OK")
    """
    content_headers = [(b"Content-Type", content_type), (b"Content-Length", b"%d" % len(body))]
    return Response(status, REASON_PHRASES.get(status, b""), [*content_headers, *headers], body)


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete response of the native API: body, status and headers."""

    body: bytes
    snapshot: str = ""
    """Id of the snapshot that the response was made from; empty if there is none."""
    status: int = 200
    content_type: bytes = JSON
    """Content type."""
    headers: tuple[Header, ...] = ()
    """Further headers, besides content type, content length and snapshot."""


def build_headers(answer: ApiResponse) -> list[Header]:
    """Return all headers of a response: content type, length, its own headers, and the snapshot id if there is one."""
    headers = [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)), *answer.headers]
    if answer.snapshot:
        headers.append((b"x-webemu-snapshot", answer.snapshot.encode()))
    return headers


async def send_response(answer: ApiResponse, send: Send, *, bodiless: bool = False) -> None:
    """Send a response as two ASGI messages.

    With `bodiless` (HEAD) the body is left out, while `Content-Length` is that of the GET response.
    """
    start = {"type": "http.response.start", "status": answer.status, "headers": build_headers(answer)}
    # `webemu.api.proxy.http_protocol` sends a response with a reason in one piece, and adds the date to our own.
    await send({**start, "reason": REASON_PHRASES[answer.status], "has_default_headers": True})
    await send({"type": "http.response.body", "body": b"" if bodiless else answer.body})
