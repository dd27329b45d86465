"""Whom a request asks, as far as sessions must know: who reads its key, and in whose words it is refused."""

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
    """Who answers a request."""

    service: str
    """Name of the dialect, of the host, or `webemu`."""
    handler: Handler
    refuse: Callable[[Request, Exception], Reply]
    is_quick: Callable[[Request], bool] = lambda request: False
    """Whether to try in the event loop: what takes long all the same raises BlockingIOError there."""


def carried(request: Request, dialect: Dialect | None) -> Request:
    """The request with the session that stands in the place of its key, unless it brings one. Raises BadRequest."""
    if request.session.name:
        return request
    key = key_of(request)
    if not key and dialect is not None and dialect.key is not None:
        with suppress(BadRequest):  # a body that cannot be read has no key; the service says so in its words
            key = dialect.key(request)
    return request._replace(session=parse(key)) if is_session(key) else request


def spoken(dialect: Dialect, handler: Handler) -> Whom:
    """A service, which says in its words what it refuses; a session nobody opened is a bad key to it."""

    def refuse(request: Request, error: Exception) -> Reply:
        if isinstance(error, EmulatorError) and error.reason == "no-such-session":
            error = Refused(error.message, reason="bad-key", status=401, action=error.action)
        return refused(dialect, error, request._replace(path=request.path.removeprefix(f"/{dialect.name}") or "/"))

    return Whom(dialect.name, handler, refuse, partial(is_quick, dialect))


NATIVE = Whom("webemu", native.answer, lambda request, error: native.refused(error, request, ""), native.is_quick)
