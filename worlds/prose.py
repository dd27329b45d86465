"""Write sentences from templates: `[this|that]` is a random choice, `{name}` a slot.

The random choices come from the generator that is passed in, so one seed always gives one text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

_CHOICE = re.compile(r"\[([^\]]*)\]")


@cache
def _parse_template(template: str) -> tuple[tuple[str, ...], ...]:
    """Split a template into parts, each a tuple of its alternatives; fixed text has one."""
    parts = _CHOICE.split(template)
    # `split` returns fixed text at even and choices at odd positions.
    return tuple((part,) if n % 2 == 0 else tuple(part.split("|")) for n, part in enumerate(parts))


def expand_template(rng: Random, template: str, slots: Mapping[str, object]) -> str:
    """Return the template with its choices made and its slots filled."""
    text = "".join(part[0] if len(part) == 1 else rng.choice(part) for part in _parse_template(template))
    return text.format_map(slots)


class SentencePicker:
    """Picks sentences for one page and remembers which templates it has used."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        """Random generator of the page."""
        self._used_templates: set[str] = set()

    def pick(self, bank: Sequence[str], **slots: object) -> str:
        """Return one sentence (or passage) from the bank; a template is repeated only after all others were used."""
        unused = [template for template in bank if template not in self._used_templates] or list(bank)
        template = self.rng.choice(unused)
        self._used_templates.add(template)
        return expand_template(self.rng, template, slots)

    def pick_several(self, bank: Sequence[str], minimum: int, maximum: int, **slots: object) -> list[str]:
        """Return between `minimum` and `maximum` different sentences of the bank in random order."""
        count = min(self.rng.randint(minimum, maximum), len(bank))
        return [self.pick(bank, **slots) for _ in range(count)]


def render_paragraph(*sentences: str) -> str:
    """Return a `<p>` of the sentences, which are HTML already; empty ones are left out."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return f"<p>{text}</p>\n" if text else ""


def format_long_date(iso: str) -> str:
    """Return `14 June 2022` for `2022-06-14`."""
    year, month, day = iso.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {year}"


MONTHS = "January February March April May June July August September October November December".split()
