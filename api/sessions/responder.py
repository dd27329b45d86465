"""Responders: the service that answers a request of a session, how it takes API keys, and how it words errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from webemu.api.dialects.dialect import Dialect, is_quick, refused
from webemu.api.http.request import Handler, Request
from webemu.api.services.origin import Reply
from webemu.api.sessions import native
from webemu.api.sessions.credentials import key_of
from webemu.emulator.errors import BadRequest, EmulatorError, Refused
from webemu.emulator.session import is_session, parse


class Whom(NamedTuple):
    """Answers a request of a session."""

    service: str
    """Name of the dialect, host name, or `webemu`."""
    handler: Handler
    """Function that answers the request."""
    refuse: Callable[[Request, Exception], Reply]
    """Function that renders an error."""
    is_quick: Callable[[Request], bool] = lambda request: False
    """True if the request may be tried on the event loop; slow work raises BlockingIOError there."""


def carried(request: Request, dialect: Dialect | None) -> Request:
    """Return the request with the session named in place of its API key, unless it names one already.

    Raises:
        BadRequest: the name in the key cannot be parsed.
    """
    if request.session.name:
        return request
    key = key_of(request)
    if not key and dialect is not None and dialect.key is not None:
        with suppress(BadRequest):  # an unreadable body has no key; the service reports the error in its own format
            key = dialect.key(request)
    return request._replace(session=parse(key)) if is_session(key) else request


def spoken(dialect: Dialect, handler: Handler) -> Whom:
    """Return the responder of a service with a dialect. A session that nobody opened counts as an invalid key there."""

    def refuse(request: Request, error: Exception) -> Reply:
        if isinstance(error, EmulatorError) and error.reason == "no-such-session":
            # The session was sent in place of the API key, and a vendor knows no sessions.
            error = Refused(error.message, reason="bad-key", status=401, action=error.action)
        return refused(dialect, error, request._replace(path=request.path.removeprefix(f"/{dialect.name}") or "/"))

    return Whom(dialect.name, handler, refuse, partial(is_quick, dialect))


NATIVE = Whom("webemu", native.answer, lambda request, error: native.refused(error, request, ""), native.is_quick)
"""Responder of the native API."""
