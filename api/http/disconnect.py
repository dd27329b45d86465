"""End the work for a request when its client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from webemu.api.http.response import Receive, Scope
from webemu.emulator.cancellation import WorkCancelled

Output = TypeVar("Output")
LEAVING = "webemu.leaving"
"""Key of an ASGI scope: an event that is set soon after the client has closed its sending side."""


async def run_while_connected(work: Awaitable[Output], scope: Scope, receive: Receive) -> Output:
    """Return the result of work for a request whose body was read.

    Raises:
        WorkCancelled: the client left before, or closed its sending side, as one that leaves does. The work ends.
    """
    working = asyncio.ensure_future(work)
    leaving = [asyncio.ensure_future(_wait_for_disconnect(receive))]
    if (has_left := scope.get(LEAVING)) is not None:
        leaving.append(asyncio.ensure_future(has_left.wait()))
    try:
        await asyncio.wait((working, *leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise WorkCancelled("the client has left, or closed its sending side before the answer was ready")
        return working.result()
    finally:
        for task in (working, *leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client of a request leaves. Parts of a body that arrive meanwhile are dropped."""
    last_parts = 0
    while (message := await receive())["type"] != "http.disconnect":
        last_parts += not message.get("more_body", False)
        if last_parts > 1:  # no HTTP server: an application in this process that offers the same body for ever
            await asyncio.get_running_loop().create_future()
