"""The one error shape of the native API, and what HTTP itself can get wrong.

Tracebacks go to the log under a request number; the asker sees the number only.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from itertools import count

import orjson

from webemu.api.http.response import Answer, Header, Message, Receive, Scope, Send, send_answer
from webemu.emulator.errors import EmulatorError
from webemu.emulator.logs import event
from webemu.emulator.weather import REASON

log = logging.getLogger("webemu.api")

INFRASTRUCTURE: Header = (b"x-webemu-failure", b"infrastructure")
"""Tells a trainer that the failure is ours, not the web's: the rollout should be masked."""
OF_THE_CRAWL = ("payload-too-large", "payload-undecodable")
"""502s that say what the crawl holds, the same on every try: a page that cannot be read, and no failure of ours."""
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
_RETRY: Header = (b"retry-after", b"1")
_numbers = count(1)


class HttpError(EmulatorError):
    """An ask that HTTP cannot carry to a route: `no-such-route`, `method-not-allowed`, `request-too-large`."""

    def __init__(self, status: int, reason: str, message: str, action: str, headers: tuple[Header, ...] = ()) -> None:
        super().__init__(message, action=action, reason=reason)
        self.status = status
        self.headers = headers


def no_such_route(path: str) -> HttpError:
    return HttpError(404, "no-such-route", f"{path[:200]} is not an address of this API", "see /docs for those it has")


def method_not_allowed(method: str, path: str, allowed: str) -> HttpError:
    headers = ((b"allow", allowed.encode()),)
    return HttpError(405, "method-not-allowed", f"{path} does not take {method}", f"use {allowed}", headers)


def too_large(limit: int) -> HttpError:
    return HttpError(413, "request-too-large", f"the body is over {limit:,} bytes", "send it in several requests")


def error_fields(error: EmulatorError) -> dict[str, object]:
    """The `error` member of the shape."""
    return {"status": error.status, "reason": error.reason, "message": error.message, "action": error.action}


def ours(error: BaseException) -> Exception:
    """The error, or it is raised again where it is to end what runs. A panic of a Rust library is no `Exception`."""
    if isinstance(error, Exception):
        return error
    if type(error).__name__ != "PanicException":
        raise error
    return RuntimeError(f"panic: {error}")


def is_ours(error: EmulatorError) -> bool:
    """Whether the server failed, rather than the ask or the crawl."""
    return error.status >= 500 and error.reason not in (*OF_THE_CRAWL, REASON)


def failure_marks(error: EmulatorError) -> tuple[Header, ...]:
    """The headers that a failure of ours has in every shape."""
    if not is_ours(error):
        return ()
    return (INFRASTRUCTURE, _RETRY) if error.status == 503 else (INFRASTRUCTURE,)


def error_answer(error: EmulatorError, snapshot: str) -> Answer:
    """The error as a whole answer."""
    body = orjson.dumps({"error": error_fields(error), "snapshot": snapshot or None})
    headers = error.headers if isinstance(error, HttpError) else ()
    return Answer(body, snapshot, error.status, headers=(*headers, *failure_marks(error)))


async def guarded(
    app: AsgiApp, say: Callable[[EmulatorError], Answer], scope: Scope, receive: Receive, send: Send
) -> None:
    """Run an app. What it raises before it has answered is a marked 500, in the words of `say`; never a bare one."""
    has_begun = False

    async def noted(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, noted)
    except ConnectionError:  # a session's weather ends connections so
        raise
    except BaseException as failure:
        error = ours(failure)
        if has_begun:
            raise
        await send_answer(say(internal_error(error, f"{scope['method']} {scope['path'][:500]!r}")), send)


def internal_error(cause: BaseException, asked: str) -> EmulatorError:
    """A defect of ours, logged; what the asker is told names the log line and nothing else."""
    number = f"{os.getpid()}-{next(_numbers)}"
    log.error(
        "request %s failed: %s", number, asked, exc_info=cause, extra=event("defect", request=number, asked=asked)
    )
    return EmulatorError(
        f"the server failed on request {number}", action="retry; if it stays, report the server's log of that request"
    )
