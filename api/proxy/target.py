"""What the first line of a request asks for (RFC 9112, section 3.2): forms of the target, and names in them."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_AUTHORITY = 300
_AUTHORITY = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\x00-\x20\x7f-\xff\"#%,/:<>?@\[\\\]^`{|}]+)(?::([0-9]{0,5}))?")
_ABSOLUTE = re.compile(rb"(https?)://(?:[^/?#@]*@)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def authority(text: bytes) -> tuple[str, int]:
    """Name in lower case and port (0 if it has none) of `host[:port]`; an empty name if it is no such thing."""
    return _authority(text) if len(text) <= MAX_AUTHORITY else ("", 0)


@lru_cache(4096)
def _authority(text: bytes) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if found is None or (found[2] and not 0 < int(found[2]) < 1 << 16):
        return "", 0
    return found[1].decode("ascii").lower().strip("[]").rstrip("."), int(found[2] or 0)


def absolute(target: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Scheme, authority without user, and origin form of `http://host/path`; None if it is no such thing."""
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return None
    rest = found[3] if found[3].startswith(b"/") else b"/" + found[3]
    return found[1].lower(), found[2], rest


def escaped(target: bytes) -> bytes:
    """Bytes beyond ASCII percent-escaped, as browsers send them; other programs leave that out."""
    return _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], target)
