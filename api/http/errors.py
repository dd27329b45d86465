"""The error shape of the native API, and the errors that HTTP itself can produce.

Tracebacks go to the log under a request number; the client sees only that number.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from itertools import count

import orjson

from webemu.api.http.response import ApiResponse, Header, Message, Receive, Scope, Send, send_response
from webemu.emulator.errors import EmulatorError
from webemu.emulator.logs import event_extra
from webemu.emulator.weather import INJECTED_REASON

log = logging.getLogger("webemu.api")

INFRASTRUCTURE: Header = (b"x-webemu-failure", b"infrastructure")
"""Header that tells a trainer that this server failed, not the emulated web: the rollout should be masked."""
CRAWL_FAULT_REASONS = ("payload-too-large", "payload-undecodable")
"""Reasons of 502 responses that the crawl causes: a recorded page that cannot be read, the same on every attempt."""
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI 3 application."""
_RETRY: Header = (b"retry-after", b"1")
_request_numbers = count(1)


class HttpError(EmulatorError):
    """A request that no route can take: `no-such-route`, `method-not-allowed` or `request-too-large`."""

    def __init__(self, status: int, reason: str, message: str, action: str, headers: tuple[Header, ...] = ()) -> None:
        super().__init__(message, action=action, reason=reason)
        self.status = status
        self.headers = headers


def no_such_route_error(path: str) -> HttpError:
    """Return the 404 error for an unknown path."""
    return HttpError(404, "no-such-route", f"{path[:200]} is not an address of this API", "see /docs for the addresses")


def method_not_allowed_error(method: str, path: str, allowed: str) -> HttpError:
    """Return the 405 error; `allowed` is the value of the `Allow` header."""
    headers = ((b"allow", allowed.encode()),)
    return HttpError(405, "method-not-allowed", f"{path} does not take {method}", f"use {allowed}", headers)


def body_too_large_error(limit: int) -> HttpError:
    """Return the 413 error for a body above `limit` bytes."""
    return HttpError(
        413, "request-too-large", f"the request body is larger than {limit:,} bytes", "send several smaller requests"
    )


def error_to_dict(error: EmulatorError) -> dict[str, object]:
    """Return the `error` member of the error shape: status, reason, message, action."""
    return {"status": error.status, "reason": error.reason, "message": error.message, "action": error.action}


def reraise_if_fatal(error: BaseException) -> Exception:
    """Return the error if a request may fail with it; raise it again if it must end the task or the process.

    A panic of a Rust library is no `Exception` but fails one request only, so it becomes a RuntimeError.
    """
    if isinstance(error, Exception):
        return error
    if type(error).__name__ != "PanicException":
        raise error
    return RuntimeError(f"panic: {error}")


def is_server_fault(error: EmulatorError) -> bool:
    """True if this server failed, rather than the request, the crawl or the weather of a session."""
    return error.status >= 500 and error.reason not in (*CRAWL_FAULT_REASONS, INJECTED_REASON)


def server_fault_headers(error: EmulatorError) -> tuple[Header, ...]:
    """Return the headers that a failure of this server has in every error shape; empty for any other error."""
    if not is_server_fault(error):
        return ()
    return (INFRASTRUCTURE, _RETRY) if error.status == 503 else (INFRASTRUCTURE,)


def render_error_response(error: EmulatorError, snapshot: str) -> ApiResponse:
    """Return the error as a JSON response."""
    body = orjson.dumps({"error": error_to_dict(error), "snapshot": snapshot or None})
    headers = error.headers if isinstance(error, HttpError) else ()
    return ApiResponse(body, snapshot, error.status, headers=(*headers, *server_fault_headers(error)))


async def run_app_safely(
    app: AsgiApp, render: Callable[[EmulatorError], ApiResponse], scope: Scope, receive: Receive, send: Send
) -> None:
    """Run an ASGI application and answer its unexpected errors.

    An error before the response has begun becomes a marked 500 made by `render`; a later one is raised, which ends
    the connection.
    """
    has_begun = False

    async def send_and_note(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, send_and_note)
    except ConnectionError:  # the injected fault of a session: the connection is meant to end
        raise
    except BaseException as failure:
        error = reraise_if_fatal(failure)
        if has_begun:
            raise
        await send_response(render(log_internal_error(error, f"{scope['method']} {scope['path'][:500]!r}")), send)


def log_internal_error(cause: BaseException, request_line: str) -> EmulatorError:
    """Log a defect of this server with its traceback; return an error that names the log line and reveals nothing
    else.
    """
    number = f"{os.getpid()}-{next(_request_numbers)}"
    log.error(
        "request %s failed: %s",
        number,
        request_line,
        exc_info=cause,
        extra=event_extra("defect", request=number, asked=request_line),
    )
    return EmulatorError(
        f"the server failed on request {number}",
        action="retry; if it happens again, report what the server's log says about that request",
    )
