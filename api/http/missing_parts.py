"""Says in every answer which partitions of the index it lacks, in the header `X-Webemu-Missing-Parts`."""

from __future__ import annotations

from collections.abc import Collection

from webemu.api.http.errors import AsgiApp
from webemu.api.http.response import Header, Message, Receive, Scope, Send
from webemu.emulator.missing_parts import collect_missing_parts, lost_parts_error, name_parts

NAME = b"x-webemu-missing-parts"
"""Name of the header."""


def missing_parts_headers(missing: Collection[int]) -> tuple[Header, ...]:
    """Return the headers of an answer that lacks partitions: none if it lacks none."""
    return ((NAME, name_parts(missing).encode()),) if missing else ()


async def run_app_marked(app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Run an ASGI application, and mark its response if partitions were reported missing by then.

    Raises Overloaded, which ends the connection, if they are reported once the response has begun without the mark.
    """
    number_marked = 0
    with collect_missing_parts() as missing:

        async def send_marked(message: Message) -> None:
            nonlocal number_marked
            if message["type"] == "http.response.start":
                number_marked = len(missing)
                if missing:
                    headers = [header for header in message["headers"] if header[0].lower() != NAME]
                    message = {**message, "headers": [*headers, *missing_parts_headers(missing)]}
            elif len(missing) > number_marked:
                raise lost_parts_error(missing)
            await send(message)

        await app(scope, receive, send_marked)
