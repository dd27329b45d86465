"""Read the host name that a TLS client asks for from its ClientHello, before OpenSSL sees it.

Python's own `sni_callback` fails on names that are not ASCII. Bytes that are no ClientHello give no name here and are
left for OpenSSL to refuse.
"""

from __future__ import annotations

import re

HANDSHAKE = 0x16
"""First byte of a TLS handshake record (RFC 8446, section 5.1)."""
MAX_HELLO = 64 << 10
"""Bytes after which the search for a name is given up."""
_RECORD = bytes([HANDSHAKE, 3])
"""Beginning of each handshake record: type and major version."""
_CLIENT_HELLO = 1
"""Type of a ClientHello message."""
_VERSION_AND_RANDOM = 34
"""Bytes of the two fields at the beginning of a ClientHello."""
_HOST_NAME = re.compile(rb"[A-Za-z0-9_.:-]{1,253}")


def server_name(received: bytes) -> str | None:
    """Return the lower-case name of the extension `server_name` (RFC 6066, section 3); empty if there is no valid one.

    None while the ClientHello is incomplete.
    """
    message, is_cut = _handshake(received)
    if is_cut and (len(message) < 4 or len(message) < _skip(message, 1, 3)) and len(received) < MAX_HELLO:
        return None
    name = _extension(message[: _skip(message, 1, 3)]) if message[:1] == bytes([_CLIENT_HELLO]) else b""
    return name.decode("ascii").lower() if _HOST_NAME.fullmatch(name) else ""


def _handshake(received: bytes) -> tuple[bytes, bool]:
    """Return the joined content of the handshake records, and True if more records may follow."""
    message, at = b"", 0
    while received[at : at + 2] == _RECORD[: len(received) - at] != b"":
        end = _skip(received, at + 3, 2)
        message += received[at + 5 : end]
        at = end
    return message, at >= len(received)


def _extension(hello: bytes) -> bytes:
    """Return the host name in a ClientHello (RFC 8446, section 4.1.2); empty if there is none."""
    at = 4 + _VERSION_AND_RANDOM
    for width in (1, 2, 1):  # session, cipher suites, compression
        at = _skip(hello, at, width)
    end, at = _skip(hello, at, 2), at + 2
    while at < min(end, len(hello)):
        kind, value, at = hello[at : at + 2], at + 4, _skip(hello, at + 2, 2)
        # Extension type 0 is server_name; name type 0 in it is host_name.
        if kind == b"\0\0" and hello[value + 2 : value + 3] == b"\0":
            return hello[value + 5 : _skip(hello, value + 3, 2)]
    return b""


def _skip(data: bytes, at: int, width: int) -> int:
    """Return the end of a field that begins with its length in `width` bytes; beyond the data if it is cut off."""
    return at + width + int.from_bytes(data[at : at + width], "big")
