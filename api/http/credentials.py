"""Read the session of a request: from the header `X-Webemu-Session`, else from the user name given to a proxy."""

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
"""Longest header value that may name a session, in bytes: enough for an inline policy with some dozens of blocked
pages.
"""
NOBODY = Session()
"""Session of a request that names none."""


def session_of(headers: Mapping[bytes, bytes]) -> Session:
    """Return the session that the headers name. Raises BadRequest if it cannot be parsed or is too long."""
    if (named := headers.get(HEADER)) is not None:
        return parse(_bounded(named).decode("latin-1"))
    if (user := headers.get(PROXY)) is not None:
        return parse(_user(_bounded(user)))
    return NOBODY


def _bounded(value: bytes) -> bytes:
    """Return the value unchanged. Raises BadRequest if it is too long: parsed values are cached in memory."""
    if len(value) > MAX_BYTES:
        raise BadRequest(f"the session has {len(value):,} bytes, more than {MAX_BYTES:,}", reason="bad-session")
    return value


@lru_cache(1024)
def _user(authorization: bytes) -> str:
    """Return the user name of Basic credentials (RFC 7617), empty for any other scheme. The password is ignored."""
    scheme, _, token = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return ""
    try:
        name, _, _ = b64decode(token.strip(), validate=True).partition(b":")
    except binascii.Error as error:
        raise BadRequest("the proxy credentials are not valid base64", reason="bad-session") from error
    return unquote(name.decode("utf-8", "replace"))
