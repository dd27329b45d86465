"""Where a client carries its session: the header `X-Webemu-Session`, else the user name it gives its proxy."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote

from webemu.emulator.errors import BadRequest
from webemu.emulator.session import Session, parse

HEADER = b"x-webemu-session"
PROXY = b"proxy-authorization"
MAX_BYTES = 6000
"""Enough for a policy with some dozens of blocked pages."""
NOBODY = Session()


def session_of(headers: Mapping[bytes, bytes]) -> Session:
    """The session of a request. Raises BadRequest."""
    if (named := headers.get(HEADER)) is not None:
        return parse(_bounded(named).decode("latin-1"))
    if (user := headers.get(PROXY)) is not None:
        return parse(_user(_bounded(user)))
    return NOBODY


def _bounded(value: bytes) -> bytes:
    """What is read is also kept for the next request."""
    if len(value) > MAX_BYTES:
        raise BadRequest(f"a session has at most {MAX_BYTES} bytes", reason="bad-session")
    return value


@lru_cache(1024)
def _user(authorization: bytes) -> str:
    """User name of Basic credentials (RFC 7617), empty if they are of another scheme; the password is free."""
    scheme, _, token = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return ""
    try:
        name, _, _ = b64decode(token.strip(), validate=True).partition(b":")
    except binascii.Error as error:
        raise BadRequest("the proxy credentials are no base64", reason="bad-session") from error
    return unquote(name.decode("utf-8", "replace"))
