"""Parts of a result as people see them: title, date, breadcrumbs, highlighted words of the query."""

from __future__ import annotations

import html
from collections.abc import Iterable
from datetime import date

from webemu.api.pages import addresses
from webemu.emulator.highlight import split_at_spans
from webemu.emulator.query import parse_query
from webemu.emulator.types import Hit
from webemu.emulator.world import World


def display_title(hit: Hit) -> str:
    """Return the title of a result, or its URL if it has none."""
    return hit.title or hit.url


def format_day(hit: Hit, month_format: str = "%b") -> str:
    """Format a result's date as `Jan 1, 2024`; with `month="%B"` as `January 1, 2024`."""
    published = date.fromisoformat(hit.date)
    return f"{published:{month_format}} {published.day}, {published.year}"


def format_breadcrumbs(url: str) -> str:
    """Format a URL as `example.com › path`."""
    return " › ".join(addresses.split_breadcrumbs(url))


def split_highlights(world: World, text: str, query: str) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with True if it is a word of the query."""
    return split_at_spans(text, world.occurrences(text, parse_query(query).words))


def highlight_html(world: World, text: str, query: str, open_tag: str = "<b>", close_tag: str = "</b>") -> str:
    """Return the text as escaped HTML with the words of the query between the two tags."""
    pieces = [(html.escape(piece), is_word) for piece, is_word in split_highlights(world, text, query)]
    return "".join(f"{open_tag}{piece}{close_tag}" if is_word else piece for piece, is_word in pieces)


def drop_unlinkable(hits: Iterable[Hit]) -> list[Hit]:
    """Return the results whose URL is safe in a link: a crawled URL may be a `javascript:` one."""
    return [hit for hit in hits if addresses.is_web_url(hit.url)]
