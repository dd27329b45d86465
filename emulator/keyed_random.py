"""Deterministic randomness: every value is a hash (blake2b) of a key, never of a clock or of hidden state.

A rollout that is repeated with the same policy therefore sees the same faults, delays and noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist
from typing import TypeVar

Item = TypeVar("Item")
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Draws:
    """Random values under one key, such as that of a session or of one of its requests.

    random = KeyedRandom("session-1")
    random.uniform("latency") == random.uniform("latency")  # always
    """

    about: str
    """Key that all values depend on."""

    def of(self, *more: object) -> Draws:
        """Return the generator of a narrower key."""
        return Draws("\0".join([self.about, *map(str, more)]))

    def share(self, *more: object) -> float:
        """Return a number from 0 to below 1."""
        text = "\0".join([self.about, *map(str, more)])
        # 56 bits, more than the 53 of a double's mantissa.
        return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()[:7], "big") / 2**56

    def hits(self, rate: float, *more: object) -> bool:
        """True with probability `rate`."""
        return rate > 0 and self.share(*more) < rate

    def normal(self, *more: object) -> float:
        """Return a number from the normal distribution with mean 0 and standard deviation 1."""
        return _NORMAL.inv_cdf((self.share(*more) * 2**53 + 0.5) / (2**53 + 1))

    def choice(self, items: Sequence[Item], *more: object) -> Item:
        """Return one of the items. Raises IndexError if there are none."""
        return items[int(self.share(*more) * len(items))]

    def shuffled(self, items: Sequence[Item], *more: object) -> list[Item]:
        """Return the items in a random order, as a new list."""
        order = sorted(range(len(items)), key=lambda at: (self.share(*more, at), at))
        return [items[at] for at in order]
