"""Sessions named outside the header `X-Webemu-Session`: in a path below `/s/<session>/`, or in place of an API key."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from webemu.api.http.credentials import HEADER, PROXY
from webemu.api.http.request import Request
from webemu.api.http.response import Header, Scope
from webemu.emulator.session import INLINE, OPENED, is_session

PREFIX = "/s/"
"""Beginning of a path that names its session."""
_KEYS = (b"authorization", b"x-api-key")
"""Headers in which services take their API keys."""
_BEGINNINGS = tuple(name.encode() for name in (OPENED, INLINE))
"""Beginnings of session names."""


def within(scope: Scope) -> Scope:
    """Return the request without `/s/<session>/` in its path, the session named by its header instead."""
    session, _, rest = scope["raw_path"][len(PREFIX) :].partition(b"/")
    path = scope["path"][len(PREFIX) :].partition("/")[2]
    name = unquote(session.decode("latin-1")).encode("latin-1", "replace")
    headers = [*(one for one in scope["headers"] if one[0] != HEADER), (HEADER, name)]
    return {**scope, "path": f"/{path}", "raw_path": b"/" + rest, "headers": headers}


def carries(headers: Iterable[Header]) -> bool:
    """True if the headers of a request to the native API may name a session."""
    for name, value in headers:
        if name in (HEADER, PROXY) or (name in _KEYS and _token(value).startswith(_BEGINNINGS)):
            return True
    return False


def _token(value: bytes) -> bytes:
    """Return a header value without the scheme `Bearer`."""
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else value.strip()


def key_of(request: Request) -> str:
    """Return the session name in a header that every service takes keys from; empty if there is none."""
    tokens = (_token(request.headers.get(name, b"")).decode("latin-1") for name in _KEYS)
    return next(filter(is_session, tokens), "")
