"""How a request carries its session beside the header: in its path below `/s/<session>/`, or in the place of a key."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from webemu.api.http.credentials import HEADER, PROXY
from webemu.api.http.request import Request
from webemu.api.http.response import Header, Scope
from webemu.emulator.session import INLINE, OPENED, is_session

PREFIX = "/s/"
_KEYS = (b"authorization", b"x-api-key")
_BEGINNINGS = tuple(name.encode() for name in (OPENED, INLINE))


def within(scope: Scope) -> Scope:
    """The request below `/s/<session>/`, without that."""
    session, _, rest = scope["raw_path"][len(PREFIX) :].partition(b"/")
    path = scope["path"][len(PREFIX) :].partition("/")[2]
    name = unquote(session.decode("latin-1")).encode("latin-1", "replace")
    headers = [*(one for one in scope["headers"] if one[0] != HEADER), (HEADER, name)]
    return {**scope, "path": f"/{path}", "raw_path": b"/" + rest, "headers": headers}


def carries(headers: Iterable[Header]) -> bool:
    """Whether a request to the native API may be of a session."""
    for name, value in headers:
        if name in (HEADER, PROXY) or (name in _KEYS and _token(value).startswith(_BEGINNINGS)):
            return True
    return False


def _token(value: bytes) -> bytes:
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else value.strip()


def key_of(request: Request) -> str:
    """The session in the place of a key, where every service may have it; empty if there is none."""
    tokens = (_token(request.headers.get(name, b"")).decode("latin-1") for name in _KEYS)
    return next(filter(is_session, tokens), "")
