"""The name that a TLS client asks for, read from its hello before OpenSSL sees it.

Python's own `sni_callback` cannot be told what to do with a name that is not ASCII. What is no hello has no name here
and is left to OpenSSL to refuse.
"""

from __future__ import annotations

import re

HANDSHAKE = 0x16
"""First byte of a record of the handshake (RFC 8446, section 5.1)."""
MAX_HELLO = 64 << 10
_RECORD = bytes([HANDSHAKE, 3])
"""How each begins: type and major version."""
_CLIENT_HELLO = 1
_VERSION_AND_RANDOM = 34
_HOST_NAME = re.compile(rb"[A-Za-z0-9_.:-]{1,253}")


def server_name(received: bytes) -> str | None:
    """Lower-case name of the extension `server_name` (RFC 6066, section 3), empty without a proper one.

    None while the hello is incomplete.
    """
    message, is_cut = _handshake(received)
    if is_cut and (len(message) < 4 or len(message) < _skip(message, 1, 3)) and len(received) < MAX_HELLO:
        return None
    name = _extension(message[: _skip(message, 1, 3)]) if message[:1] == bytes([_CLIENT_HELLO]) else b""
    return name.decode("ascii").lower() if _HOST_NAME.fullmatch(name) else ""


def _handshake(received: bytes) -> tuple[bytes, bool]:
    """What the records of the handshake hold together, and whether more of them may come."""
    message, at = b"", 0
    while received[at : at + 2] == _RECORD[: len(received) - at] != b"":
        end = _skip(received, at + 3, 2)
        message += received[at + 5 : end]
        at = end
    return message, at >= len(received)


def _extension(hello: bytes) -> bytes:
    """The host name in a hello (RFC 8446, section 4.1.2)."""
    at = 4 + _VERSION_AND_RANDOM
    for width in (1, 2, 1):  # session, cipher suites, compression
        at = _skip(hello, at, width)
    end, at = _skip(hello, at, 2), at + 2
    while at < min(end, len(hello)):
        kind, value, at = hello[at : at + 2], at + 4, _skip(hello, at + 2, 2)
        if kind == b"\0\0" and hello[value + 2 : value + 3] == b"\0":
            return hello[value + 5 : _skip(hello, value + 3, 2)]
    return b""


def _skip(data: bytes, at: int, width: int) -> int:
    """Where a field ends that begins with its length; past the end of data where it is cut off."""
    return at + width + int.from_bytes(data[at : at + width], "big")
