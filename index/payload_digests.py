"""Payload digests as WARC records state them (mostly `sha1:` and base32): one spelling, and a check against bytes.

Hashes of files, which name sources and guard stored files, are in `webemu.index.digests`.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32decode, b32encode, urlsafe_b64decode
from binascii import Error
from collections.abc import Iterable

_SIZES = {"sha1": 20, "sha256": 32, "md5": 16, "sha512": 64, "sha384": 48, "sha224": 28}
"""Length of a digest in bytes, by algorithm."""
_STATED = re.compile(r"(?:urn:)?([A-Za-z][A-Za-z0-9/_-]*)=?:(.+?):?")
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_NORMALIZED = re.compile("sha1:[A-Z2-7]{32}")
_HEX = re.compile(r"[0-9a-fA-F]+")


def normalize_digest(stated: str) -> str:
    """Return a digest in the one spelling in which equal digests are equal: `sha1:` and base32 without padding.

    Accepts any case, names such as `SHA-256`, hex, base32 and base64 with or without padding, and no name at all if
    the length tells it. A digest of an unknown algorithm or length is returned unchanged.
    """
    if _NORMALIZED.fullmatch(stated):
        return stated
    algorithm, digest = _parse_digest(stated)
    return f"{algorithm}:{b32encode(digest).decode().rstrip('=')}" if digest else stated.strip()


def matches_any(stated: str, bodies: Iterable[bytes]) -> bool | None:
    """Return True if one of the bodies, which are consumed as needed, has the digest; None if the algorithm is
    unknown.

    Text that cannot be a digest of a known algorithm matches no body: False.
    """
    if not stated:
        return None
    algorithm, digest = _parse_digest(stated)
    if not digest:
        return False if algorithm in _SIZES else None
    return any(hashlib.new(algorithm, body, usedforsecurity=False).digest() == digest for body in bodies)


def _parse_digest(stated: str) -> tuple[str, bytes]:
    """Return algorithm and digest; the digest is empty if it cannot be read."""
    stated = stated.strip()
    match = _STATED.fullmatch(stated)
    if match:
        name = _NO_LETTER.sub("", match[1].lower())
        name = "sha1" if name == "sha" else name
        return name, _decode_digest(match[2], _SIZES[name]) if name in _SIZES else b""
    for name, size in _SIZES.items():
        if digest := _decode_digest(stated, size):
            return name, digest
    return "", b""


def _decode_digest(text: str, size: int) -> bytes:
    """Return `size` bytes that are written in hex, base32 or base64; empty if they are not."""
    text = text.strip().rstrip("=")
    try:
        if len(text) == 2 * size and _HEX.fullmatch(text):
            return bytes.fromhex(text)
        if len(text) == -(-8 * size // 5):
            return b32decode(text + "=" * (-len(text) % 8), casefold=True)
        if len(text) == -(-4 * size // 3):
            return urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))
    except (Error, ValueError):
        pass
    return b""
