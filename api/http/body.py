"""The body of a request, read whole and bounded."""

from __future__ import annotations

from webemu.api.http.errors import too_large
from webemu.api.http.response import Message, Receive, Scope


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The whole body, None if the asker left. Raises HttpError on one that is too large, before it is read whole."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise too_large(limit)
    body = bytearray()
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)
