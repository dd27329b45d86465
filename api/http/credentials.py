"""Read the session of a request: from the header `X-Webemu-Session`, else from the user name given to a proxy."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote

from webemu.emulator.errors import BadRequest
from webemu.emulator.session import Session, parse_session

SESSION_HEADER = b"x-webemu-session"
PROXY_HEADER = b"proxy-authorization"
MAX_CREDENTIAL_BYTES = 6000
"""Longest header value that may name a session, in bytes: enough for an inline policy with some dozens of blocked
pages.
"""
NO_SESSION = Session()
"""Session of a request that names none."""


def read_session(headers: Mapping[bytes, bytes]) -> Session:
    """Return the session that the headers name. Raises BadRequest if it cannot be parsed or is too long."""
    if (header_value := headers.get(SESSION_HEADER)) is not None:
        return parse_session(_check_size(header_value).decode("latin-1"))
    if (authorization := headers.get(PROXY_HEADER)) is not None:
        return parse_session(_proxy_user_name(_check_size(authorization)))
    return NO_SESSION


def _check_size(value: bytes) -> bytes:
    """Return the value unchanged. Raises BadRequest if it is too long: parsed values are cached in memory."""
    if len(value) > MAX_CREDENTIAL_BYTES:
        raise BadRequest(
            f"the session has {len(value):,} bytes, more than {MAX_CREDENTIAL_BYTES:,}", reason="bad-session"
        )
    return value


@lru_cache(1024)
def _proxy_user_name(authorization: bytes) -> str:
    """Return the user name of Basic credentials (RFC 7617), empty for any other scheme. The password is ignored."""
    scheme, _, token = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return ""
    try:
        name, _, _ = b64decode(token.strip(), validate=True).partition(b":")
    except binascii.Error as error:
        raise BadRequest("the proxy credentials are not valid base64", reason="bad-session") from error
    return unquote(name.decode("utf-8", "replace"))
