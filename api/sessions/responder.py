"""Responders: the service that answers a request of a session, how it takes API keys, and how it words errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from webemu.api.dialects.dialect import Dialect, build_error_response, runs_inline
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import Response
from webemu.api.sessions import native
from webemu.api.sessions.credentials import check_carriers, find_keys, find_session_key
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.session import OPENED_PREFIX, has_policy_prefix, parse_session


class Responder(NamedTuple):
    """Answers a request of a session."""

    service: str
    """Name of the dialect, host name, or `webemu`."""
    handler: Handler
    """Function that answers the request."""
    render_error: Callable[[Request, Exception], Response]
    """Function that renders an error."""
    runs_inline: Callable[[Request], bool] = lambda request: False
    """True if the request may be tried on the event loop; slow work raises BlockingIOError there."""


def with_session_from_key(request: Request, dialect: Dialect | None) -> Request:
    """Return the request with the session named in place of its API key, unless it names one already.

    Raises:
        BadRequest: the name in the key cannot be parsed, a header names another session or none properly, or the
            listener wants a session and the request carries none.
    """
    if not request.session.name:
        key = find_session_key(request)
        if not key and dialect is not None and dialect.read_key is not None:
            with suppress(BadRequest):  # an unreadable body has no key; the service reports the error in its own format
                key = dialect.read_key(request)
        if has_policy_prefix(key):
            request = request._replace(session=request.rules.limit(parse_session(key)))
    check_carriers(request)
    if request.rules.requires_session and not has_policy_prefix(request.session.name):
        raise BadRequest(
            "this server answers only requests that carry a session",
            reason="session-required",
            action="open one with POST /v1/sessions, and let the client carry it (docs/sessions.md)",
        )
    return request


def check_api_key(request: Request) -> None:
    """Refuse a request to an API of this server's own if the server wants a key and the request has none.

    Raises:
        ServiceRefusal: neither a key of the server nor the name of an opened session is in the usual headers.
    """
    keys = request.rules.keys
    if keys and not request.session.name.startswith(OPENED_PREFIX) and not keys & set(find_keys(request)):
        action = "send it as Authorization: Bearer KEY or X-API-Key: KEY"
        raise ServiceRefusal("this server wants one of its API keys", reason="bad-key", status=401, action=action)


def dialect_responder(dialect: Dialect, handler: Handler) -> Responder:
    """Return the responder of a service with a dialect. A session that nobody opened counts as an invalid key there."""

    def refuse(request: Request, error: Exception) -> Response:
        if isinstance(error, EmulatorError) and error.reason == "no-such-session":
            # The session was sent in place of the API key, and a vendor knows no sessions.
            error = ServiceRefusal(error.message, reason="bad-key", status=401, action=error.action)
        return build_error_response(
            dialect, error, request._replace(path=request.path.removeprefix(f"/{dialect.name}") or "/")
        )

    return Responder(dialect.name, handler, refuse, partial(runs_inline, dialect))


NATIVE_RESPONDER = Responder(
    "webemu", native.answer, lambda request, error: native.render_refusal(error, request, ""), native.runs_inline
)
"""Responder of the native API."""
