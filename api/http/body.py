"""Read the body of a request into memory, up to a limit."""

from __future__ import annotations

from webemu.api.http.errors import body_too_large_error
from webemu.api.http.response import Message, Receive, Scope


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """Return the complete body, or None if the client disconnected before its end.

    Raises:
        HttpError: the body is larger than `limit` bytes. A declared length is checked before anything is read.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise body_too_large_error(limit)
    body = bytearray()
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise body_too_large_error(limit)
        if not message.get("more_body", False):
            return bytes(body)
