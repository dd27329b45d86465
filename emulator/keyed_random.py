"""Chance that repeats: every draw is a hash of who draws and what about (blake2b), never of a clock or a state."""

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
    """Those of one asker: of a session, or of one request of it."""

    about: str

    def of(self, *more: object) -> Draws:
        """Draws about something narrower."""
        return Draws("\0".join([self.about, *map(str, more)]))

    def share(self, *more: object) -> float:
        """From 0 to below 1."""
        text = "\0".join([self.about, *map(str, more)])
        return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()[:7], "big") / 2**56

    def hits(self, rate: float, *more: object) -> bool:
        """Whether what happens at this rate happens here."""
        return rate > 0 and self.share(*more) < rate

    def normal(self, *more: object) -> float:
        """Of the normal distribution with mean 0 and deviation 1."""
        return _NORMAL.inv_cdf((self.share(*more) * 2**53 + 0.5) / (2**53 + 1))

    def choice(self, items: Sequence[Item], *more: object) -> Item:
        """One of the items, of which there is at least one."""
        return items[int(self.share(*more) * len(items))]

    def shuffled(self, items: Sequence[Item], *more: object) -> list[Item]:
        """The items in another order."""
        order = sorted(range(len(items)), key=lambda at: (self.share(*more, at), at))
        return [items[at] for at in order]
