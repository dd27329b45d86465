"""How a result looks to people: its title, its date, where it stands on the web, the words that were asked for."""

from __future__ import annotations

import html
from collections.abc import Iterable
from datetime import date

from webemu.api.pages import addresses
from webemu.emulator.highlight import pieces
from webemu.emulator.query import parse
from webemu.emulator.types import Hit
from webemu.emulator.world import World


def title(hit: Hit) -> str:
    """Never empty: the URL of a page that has none."""
    return hit.title or hit.url


def day(hit: Hit, month: str = "%b") -> str:
    """`Jan 1, 2024`; with another format of the month `January 1, 2024`."""
    when = date.fromisoformat(hit.date)
    return f"{when:{month}} {when.day}, {when.year}"


def crumbs(url: str) -> str:
    """`example.com › path`."""
    return " › ".join(addresses.crumbs(url))


def split(world: World, text: str, query: str) -> list[tuple[str, bool]]:
    """The text in pieces, and whether each is a word of the query."""
    return pieces(text, world.occurrences(text, parse(query).words))


def marked(world: World, text: str, query: str, before: str = "<b>", after: str = "</b>") -> str:
    """The text as HTML, the words of the query between two tags."""
    cut = [(html.escape(piece), is_word) for piece, is_word in split(world, text, query)]
    return "".join(f"{before}{piece}{after}" if is_word else piece for piece, is_word in cut)


def linked(hits: Iterable[Hit]) -> list[Hit]:
    """Those whose URL may stand in a link: what was crawled may be called `javascript:`."""
    return [hit for hit in hits if addresses.is_web(hit.url)]
