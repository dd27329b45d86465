"""Read the host name that a TLS client asks for from its ClientHello, before OpenSSL sees it.

Python's own `sni_callback` fails on names that are not ASCII. Bytes that are no ClientHello give no name here and are
left for OpenSSL to refuse.
"""

from __future__ import annotations

import re

HANDSHAKE = 0x16
"""First byte of a TLS handshake record (RFC 8446, section 5.1)."""
MAX_HELLO_BYTES = 64 << 10
"""Bytes after which the search for a name is given up."""
_RECORD = bytes([HANDSHAKE, 3])
"""Beginning of each handshake record: type and major version."""
_CLIENT_HELLO = 1
"""Type of a ClientHello message."""
_VERSION_AND_RANDOM = 34
"""Bytes of the two fields at the beginning of a ClientHello."""
_HOST_NAME = re.compile(rb"[A-Za-z0-9_.:-]{1,253}")


def read_server_name(received: bytes) -> str | None:
    """Return the lower-case name of the extension `read_server_name` (RFC 6066, section 3); empty if there is no valid
    one.

    None while the ClientHello is incomplete.
    """
    message, is_cut = _join_records(received)
    if is_cut and (len(message) < 4 or len(message) < _field_end(message, 1, 3)) and len(received) < MAX_HELLO_BYTES:
        return None
    name = _find_host_name(message[: _field_end(message, 1, 3)]) if message[:1] == bytes([_CLIENT_HELLO]) else b""
    return name.decode("ascii").lower() if _HOST_NAME.fullmatch(name) else ""


def _join_records(received: bytes) -> tuple[bytes, bool]:
    """Return the joined content of the handshake records, and True if more records may follow."""
    message, offset = b"", 0
    while received[offset : offset + 2] == _RECORD[: len(received) - offset] != b"":
        end = _field_end(received, offset + 3, 2)
        message += received[offset + 5 : end]
        offset = end
    return message, offset >= len(received)


def _find_host_name(hello: bytes) -> bytes:
    """Return the host name in a ClientHello (RFC 8446, section 4.1.2); empty if there is none."""
    offset = 4 + _VERSION_AND_RANDOM
    for width in (1, 2, 1):  # session, cipher suites, compression
        offset = _field_end(hello, offset, width)
    end, offset = _field_end(hello, offset, 2), offset + 2
    while offset < min(end, len(hello)):
        kind, value, offset = hello[offset : offset + 2], offset + 4, _field_end(hello, offset + 2, 2)
        # Extension type 0 is server_name; name type 0 in it is host_name.
        if kind == b"\0\0" and hello[value + 2 : value + 3] == b"\0":
            return hello[value + 5 : _field_end(hello, value + 3, 2)]
    return b""


def _field_end(data: bytes, offset: int, width: int) -> int:
    """Return the end of a field that begins with its length in `width` bytes; beyond the data if it is cut off."""
    return offset + width + int.from_bytes(data[offset : offset + width], "big")
