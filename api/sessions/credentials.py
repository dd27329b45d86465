"""Sessions named outside the header `X-Webemu-Session`: in a path below `/s/<session>/`, or in place of an API key.

What nearly names a session is refused: whoever carries the name of a session with a policy, in whatever header and
spelling, must not be answered from the web without that policy.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable
from urllib.parse import unquote

from webemu.api.http.credentials import PROXY_HEADER, SESSION_HEADER
from webemu.api.http.request import Request
from webemu.api.http.response import Header, Scope
from webemu.emulator.errors import BadRequest
from webemu.emulator.session import INLINE_PREFIX, OPENED_PREFIX, has_policy_prefix

SESSION_PREFIX = "/s/"
"""Beginning of a path that names its session."""
_OVERRIDDEN_HEADER = b"x-webemu-session-header"
"""Name of the header of a session where the path names one too."""
_KEY_HEADERS = (b"authorization", b"x-api-key")
"""Headers in which services take their API keys."""
_SESSION_NAME = re.compile(rb"(?<![0-9a-z])w[sp]-(?:[0-9a-f]{20}[\w-]*|ey[\w-]{6,})", re.IGNORECASE)
"""Name of a session with a policy, in any case: a fingerprint in hexadecimal, or a policy in base64url."""
MIN_NAME_BYTES = 11
"""Bytes of the shortest name of a session with a policy."""
_DESCRIBING_HEADERS = frozenset(
    (b"accept", b"accept-encoding", b"accept-language", b"cookie", b"host", b"origin", b"referer", b"user-agent")
)
"""Headers that tell of the client, or of the pages that it saw; a name in them carries no session."""
_NAME_PREFIXES = tuple(name.encode() for name in (OPENED_PREFIX, INLINE_PREFIX))
"""Beginnings of session names."""


def strip_session_prefix(scope: Scope) -> Scope:
    """Return the request without `/s/<session>/` in its path, the session named by its header instead."""
    session, _, remaining_path = scope["raw_path"][len(SESSION_PREFIX) :].partition(b"/")
    path = scope["path"][len(SESSION_PREFIX) :].partition("/")[2]
    name = unquote(session.decode("latin-1")).encode("latin-1", "replace")
    # The path wins. Under another name, `check_carriers` still sees a header that names another session.
    sent = [(_OVERRIDDEN_HEADER if one[0] == SESSION_HEADER else one[0], one[1]) for one in scope["headers"]]
    headers = [*sent, (SESSION_HEADER, name)]
    return {**scope, "path": f"/{path}", "raw_path": b"/" + remaining_path, "headers": headers}


def has_session(headers: Iterable[Header]) -> bool:
    """True if the headers of a request to the native API may name a session."""
    for name, value in headers:
        if name in (SESSION_HEADER, PROXY_HEADER) or (
            name in _KEY_HEADERS and _strip_bearer(value).startswith(_NAME_PREFIXES)
        ):
            return True
        if _carried_names(name, value):
            return True
    return False


def check_carriers(request: Request) -> None:
    """Refuse a request whose headers name a session other than the one that it is answered under, or name one where
    it does not count. Call it once the session of the request is known.

    Raises:
        BadRequest: a header has such a name.
    """
    name = request.session.name
    active = name.rstrip("=") if has_policy_prefix(name) else ""
    for header, value in request.headers.items():
        if other_name := next((carried for carried in _carried_names(header, value) if carried != active), ""):
            problem = "besides the session of the request" if active else "where or as it does not count"
            raise BadRequest(
                f"the header {header.decode('latin-1')} names the session {other_name[:40]} {problem}",
                reason="bad-session",
                action="name one session, as it was given, in one place (docs/sessions.md)",
            )


def _carried_names(header: bytes, value: bytes) -> list[str]:
    """Return the names of sessions in a header value, in Basic credentials too, as they are written."""
    if len(value) < MIN_NAME_BYTES or header in _DESCRIBING_HEADERS:
        return []
    if value[:6].lower() == b"basic ":
        try:
            value = b64decode(value[6:].strip())
        except binascii.Error:
            return []
    return [match[0].decode("latin-1") for match in _SESSION_NAME.finditer(value)] if b"-" in value else []


def _strip_bearer(value: bytes) -> bytes:
    """Return a header value without the scheme `Bearer`."""
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else value.strip()


def find_keys(request: Request) -> list[str]:
    """Return what stands in the headers that every service takes keys from."""
    return [_strip_bearer(request.headers.get(name, b"")).decode("latin-1") for name in _KEY_HEADERS]


def find_session_key(request: Request) -> str:
    """Return the session name in a header that every service takes keys from; empty if there is none."""
    return next(filter(has_policy_prefix, find_keys(request)), "")
