"""Sessions named outside the header `X-Webemu-Session`: in a path below `/s/<session>/`, or in place of an API key."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from webemu.api.http.credentials import PROXY_HEADER, SESSION_HEADER
from webemu.api.http.request import Request
from webemu.api.http.response import Header, Scope
from webemu.emulator.session import INLINE_PREFIX, OPENED_PREFIX, has_policy_prefix

SESSION_PREFIX = "/s/"
"""Beginning of a path that names its session."""
_KEY_HEADERS = (b"authorization", b"x-api-key")
"""Headers in which services take their API keys."""
_NAME_PREFIXES = tuple(name.encode() for name in (OPENED_PREFIX, INLINE_PREFIX))
"""Beginnings of session names."""


def strip_session_prefix(scope: Scope) -> Scope:
    """Return the request without `/s/<session>/` in its path, the session named by its header instead."""
    session, _, remaining_path = scope["raw_path"][len(SESSION_PREFIX) :].partition(b"/")
    path = scope["path"][len(SESSION_PREFIX) :].partition("/")[2]
    name = unquote(session.decode("latin-1")).encode("latin-1", "replace")
    headers = [*(one for one in scope["headers"] if one[0] != SESSION_HEADER), (SESSION_HEADER, name)]
    return {**scope, "path": f"/{path}", "raw_path": b"/" + remaining_path, "headers": headers}


def has_session(headers: Iterable[Header]) -> bool:
    """True if the headers of a request to the native API may name a session."""
    for name, value in headers:
        if name in (SESSION_HEADER, PROXY_HEADER) or (
            name in _KEY_HEADERS and _strip_bearer(value).startswith(_NAME_PREFIXES)
        ):
            return True
    return False


def _strip_bearer(value: bytes) -> bytes:
    """Return a header value without the scheme `Bearer`."""
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else value.strip()


def find_session_key(request: Request) -> str:
    """Return the session name in a header that every service takes keys from; empty if there is none."""
    tokens = (_strip_bearer(request.headers.get(name, b"")).decode("latin-1") for name in _KEY_HEADERS)
    return next(filter(has_policy_prefix, tokens), "")
