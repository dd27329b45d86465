"""Parts of a result as people see them: title, date, breadcrumbs, highlighted words of the query."""

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
    """Return the title of a result, or its URL if it has none."""
    return hit.title or hit.url


def day(hit: Hit, month: str = "%b") -> str:
    """Format a result's date as `Jan 1, 2024`; with `month="%B"` as `January 1, 2024`."""
    when = date.fromisoformat(hit.date)
    return f"{when:{month}} {when.day}, {when.year}"


def crumbs(url: str) -> str:
    """Format a URL as `example.com › path`."""
    return " › ".join(addresses.crumbs(url))


def split(world: World, text: str, query: str) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with True if it is a word of the query."""
    return pieces(text, world.occurrences(text, parse(query).words))


def marked(world: World, text: str, query: str, before: str = "<b>", after: str = "</b>") -> str:
    """Return the text as escaped HTML with the words of the query between the two tags."""
    cut = [(html.escape(piece), is_word) for piece, is_word in split(world, text, query)]
    return "".join(f"{before}{piece}{after}" if is_word else piece for piece, is_word in cut)


def linked(hits: Iterable[Hit]) -> list[Hit]:
    """Return the results whose URL is safe in a link: a crawled URL may be a `javascript:` one."""
    return [hit for hit in hits if addresses.is_web(hit.url)]
