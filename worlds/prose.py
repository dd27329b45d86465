"""Sentences from templates: `[this|that]` is a choice, `{name}` a slot; a voice never uses a template twice on a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

_CHOICE = re.compile(r"\[([^\]]*)\]")


@cache
def _parse(template: str) -> tuple[tuple[str, ...], ...]:
    parts = _CHOICE.split(template)
    return tuple((part,) if n % 2 == 0 else tuple(part.split("|")) for n, part in enumerate(parts))


def expand(rng: Random, template: str, slots: Mapping[str, object]) -> str:
    """The template with its choices made and its slots filled."""
    chosen = "".join(part[0] if len(part) == 1 else rng.choice(part) for part in _parse(template))
    return chosen.format_map(slots)


class Voice:
    """Whoever writes one page: remembers which templates were used."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._used: set[str] = set()

    def say(self, bank: Sequence[str], **slots: object) -> str:
        """One sentence (or passage) of the bank, not used on this page while another is left."""
        fresh = [template for template in bank if template not in self._used] or list(bank)
        template = self.rng.choice(fresh)
        self._used.add(template)
        return expand(self.rng, template, slots)

    def some(self, bank: Sequence[str], least: int, most: int, **slots: object) -> list[str]:
        """Several different sentences of the bank in random order."""
        count = min(self.rng.randint(least, most), len(bank))
        return [self.say(bank, **slots) for _ in range(count)]


def paragraph(*sentences: str) -> str:
    """`<p>` of the sentences that are not empty; sentences are HTML already."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return f"<p>{text}</p>\n" if text else ""


def long_date(iso: str) -> str:
    """`14 June 2022` from `2022-06-14`."""
    year, month, day = iso.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {year}"


MONTHS = "January February March April May June July August September October November December".split()
