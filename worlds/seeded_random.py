"""Random generators keyed by what they decide, so that a change to one page never disturbs another.

Every random choice of the generator comes from `seeded_rng(seed, purpose, ...)` instead of one shared stream.
"""

from __future__ import annotations

import hashlib
from random import Random


def stable_hash(*parts: object) -> int:
    """Return a 64-bit hash that depends on the text of the arguments alone, in every process."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def seeded_rng(*parts: object) -> Random:
    """Return a generator seeded by the arguments: by convention the web's seed first, then the purpose."""
    return Random(stable_hash(*parts))
