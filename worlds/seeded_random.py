"""Every random choice comes from a generator made of what it is about, so that one page never disturbs another."""

from __future__ import annotations

import hashlib
from random import Random


def number(*about: object) -> int:
    """64 bits that depend on `about` alone."""
    text = "\x1f".join(map(str, about)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def dice(*about: object) -> Random:
    """A generator seeded by `about`: the world's seed first, then what is decided."""
    return Random(number(*about))
