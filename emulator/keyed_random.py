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
_GREATEST_BELOW_1 = 1 - 2**-53
"""Greatest double below 1."""


@dataclass(frozen=True, slots=True)
class KeyedRandom:
    """Random values under one key, such as that of a session or of one of its requests.

    random = KeyedRandom("session-1")
    random.uniform("latency") == random.uniform("latency")  # always
    """

    key: str
    """Key that all values depend on."""

    def derive(self, *key_parts: object) -> KeyedRandom:
        """Return the generator of a narrower key."""
        return KeyedRandom("\0".join([self.key, *map(str, key_parts)]))

    def uniform(self, *key_parts: object) -> float:
        """Return a number from 0 to below 1."""
        text = "\0".join([self.key, *map(str, key_parts)])
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        # 56 bits, more than the 53 of a double's mantissa: the quotient of the greatest four integers rounds to 1.
        return min(int.from_bytes(digest[:7], "big") / 2**56, _GREATEST_BELOW_1)

    def bernoulli(self, rate: float, *key_parts: object) -> bool:
        """True with probability `rate`."""
        return rate > 0 and self.uniform(*key_parts) < rate

    def normal(self, *key_parts: object) -> float:
        """Return a number from the normal distribution with mean 0 and standard deviation 1."""
        # Half a step above 0 and, for the greatest number, back below 1: at both ends the inverse is infinite.
        return _NORMAL.inv_cdf(min((self.uniform(*key_parts) * 2**53 + 0.5) / (2**53 + 1), _GREATEST_BELOW_1))

    def choice(self, items: Sequence[Item], *key_parts: object) -> Item:
        """Return one of the items. Raises IndexError if there are none."""
        return items[int(self.uniform(*key_parts) * len(items))]

    def permute(self, items: Sequence[Item], *key_parts: object) -> list[Item]:
        """Return the items in a random order, as a new list."""
        order = sorted(range(len(items)), key=lambda index: (self.uniform(*key_parts, index), index))
        return [items[index] for index in order]
