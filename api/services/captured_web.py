"""Responses of the emulated web: a recorded exchange, a captured page, or what stands for a URL that was not captured.

Pure functions of a world and a request; `webemu.api.services.web` is the application that calls them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from webemu.api.http.errors import CRAWL_FAULT_REASONS, log_internal_error, server_fault_headers
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import ApiResponse, Headers, Response, compose_response
from webemu.api.services.origin import rebuild_response
from webemu.api.services.recordings import mark_unrecorded, replay_exchange
from webemu.api.services.registry import GENERATED_PAGES
from webemu.api.sessions.connection_faults import render_captcha_page
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, NotCaptured
from webemu.emulator.request_world import CAPTCHA
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World


def answer(world: World, request: Request, wait: bool = True) -> Response:
    """Return the response of the emulated web.

    Raises:
        EmulatorError: the page cannot be served.
        BlockingIOError: `wait` is False, and the answer needs a disk or long work.
    """
    if world.has_exchanges:
        reply = replay_exchange(world, request, "fetches", wait)
        return reply or mark_unrecorded(answer_from_index(world, request, wait))
    return answer_from_index(world, request, wait)


def answer_from_index(world: World, request: Request, wait: bool = True) -> Response:
    """Return the response of the emulated web without recorded exchanges. Raises as `answer`."""
    if request.method in ("GET", "HEAD"):
        try:
            return _replay_capture(world, request, wait)
        except NotCaptured as error:
            if not wait:
                raise BlockingIOError from error
            return _first_response(GENERATED_PAGES, world, request) or _answer_uncaptured(world, request, error)
    refused = _text_response(405, "The crawl asked only with GET.", [(b"Allow", b"GET, HEAD")])
    return _first_response(GENERATED_PAGES, world, request) or refused


def _replay_capture(world: World, request: Request, wait: bool) -> Response:
    """Return the recorded response of the captured page. Raises NotCaptured."""
    page_request = PageRequest(request.url, "raw", at_time=_requested_time(request), follow=False)
    capture, payload = world.payload(page_request, wait)
    return _add_debug_headers(
        rebuild_response(payload, request.method, request.headers, world.decode_body), capture, world.snapshot, []
    )


def _first_response(handlers: Sequence[Handler], world: World, request: Request) -> Response | None:
    """Return the response of the first handler that has one; None if none has."""
    replies = (handler(world, request) for handler in handlers)
    return next((reply for reply in replies if reply), None)


def _answer_uncaptured(world: World, request: Request, error: NotCaptured) -> Response:
    """Return the response for a URL that was not captured: no such host, the host's own error page, or a plain 404."""
    host = urls.host_of(urls.normalize(request.url))
    reason_header = (b"X-Webemu-Reason", error.reason.encode())
    if not world.knows_host(host):
        return _text_response(502, f"The name {host} does not resolve.", [reason_header])
    if (error_page := world.error_page_of(host, _requested_time(request))) is None:
        return _text_response(404, "Not Found", [reason_header])
    reply = rebuild_response(error_page[1], request.method, request.headers, world.decode_body)
    return _add_debug_headers(reply, error_page[0], world.snapshot, [reason_header])


def render_refusal(request: Request, error: Exception) -> Response:
    """Return the error response of the plain web: an imitated CAPTCHA page, or a plain text."""
    emulator_error = (
        error if isinstance(error, EmulatorError) else log_internal_error(error, f"{request.method} {request.url}")
    )
    return (
        render_captcha_page(emulator_error.message)
        if emulator_error.reason == CAPTCHA
        else render_failure(emulator_error)
    )


def render_failure(error: EmulatorError) -> Response:
    """Return the response for an error of this server or of the crawl: 502 if the crawl caused it, else the error's
    status.
    """
    reason_headers: Headers = [(b"X-Webemu-Reason", error.reason.encode())]
    status = 502 if error.reason in CRAWL_FAULT_REASONS else error.status
    return _text_response(status, error.message, [*reason_headers, *server_fault_headers(error)])


def render_plain_failure(error: EmulatorError) -> ApiResponse:
    """Return the error as a plain text, for failures outside the routing."""
    reply = render_failure(error)
    return ApiResponse(reply.body, "", reply.status, b"text/plain; charset=utf-8", tuple(reply.headers[2:]))


@lru_cache(4096)
def _format_date(time: int) -> bytes:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _add_debug_headers(reply: Response, capture: Capture, snapshot: str, extra_headers: Headers) -> Response:
    """Return the response with debug headers: URL, time and snapshot of the capture, then `extra_headers`."""
    debug_headers: Headers = [
        (b"X-Webemu-Url", capture.url.encode("ascii", "backslashreplace")),
        (b"X-Webemu-Fetched", _format_date(capture.time)),
        (b"X-Webemu-Snapshot", snapshot.encode()),
    ]
    return Response(reply.status, reply.reason, [*reply.headers, *debug_headers, *extra_headers], reply.body)


def _text_response(status: int, text: str, headers: Headers) -> Response:
    """Return a plain text response."""
    return compose_response(status, b"text/plain; charset=utf-8", f"{text}\n".encode(), headers)


def _requested_time(request: Request) -> datetime | None:
    """Return the requested time: `Accept-Datetime` (RFC 7089, section 2.1.1), else that of the session; None for the
    latest.

    An unreadable date counts as none.
    """
    if (date := request.headers.get(b"accept-datetime")) is None:
        return request.session.at_time
    try:
        return parsedate_to_datetime(date.decode("ascii")).astimezone(UTC)
    except (ValueError, OverflowError):
        return request.session.at_time
