"""Lists of `action=query`: search, prefixsearch and random. Each also serves as a generator of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from random import Random
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import number
from webemu.api.wiki.params import Ask
from webemu.api.wiki.search import Match, capture_of, search, snippet, total
from webemu.api.wiki.site import completions, titles
from webemu.api.wiki.titles import NAMESPACES, namespace, spelled


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of a list."""

    items: list[Tree]
    """Items, each with a `title`."""
    on: Tree = field(default_factory=dict)
    """Parameters that continue with the next page; empty after the last."""
    said: Tree = field(default_factory=dict)
    """Fields about the whole list, such as `searchinfo`."""


List: TypeAlias = Callable[[Ask, str], Listed]
"""Computes a list for a call; the second argument prefixes its parameters (`g` in a generator, otherwise empty)."""


def found(ask: Ask, letter: str = "") -> Listed:
    """Answer `list=search` (https://www.mediawiki.org/wiki/API:Search). Raises ApiError if `srsearch` is missing."""
    words = ask.required(f"{letter}srsearch")
    start, limit = ask.number(f"{letter}sroffset", 0, most=10_000), ask.number(f"{letter}srlimit", 10, 1)
    spaces = ask.namespaces(f"{letter}srnamespace")
    matches = search(ask, words, start, limit, spaces)
    # A generator only needs titles, so the costly fields are computed for a plain list alone.
    shown = set(ask.values("srprop", "size|wordcount|timestamp|snippet")) if not letter else set()
    items = [_result(ask, match, words, shown) for match in matches.shown]
    on: Tree = {f"{letter}sroffset": start + limit} if matches.more else {}
    return Listed(items, on, _searchinfo(ask, words, spaces) if not letter else {})


def _searchinfo(ask: Ask, words: str, spaces: frozenset[int] | None) -> Tree:
    wanted = ask.values("srinfo", "totalhits|suggestion")
    told: Tree = {"totalhits": total(ask, words, spaces)} if "totalhits" in wanted else {}
    suggestion = ask.world.correct(words) if "suggestion" in wanted else None
    told |= {"suggestion": suggestion} if suggestion else {}
    return {"searchinfo": told} if told else {}


def _result(ask: Ask, match: Match, words: str, shown: set[str]) -> Tree:
    item: Tree = {"ns": match.space, "title": match.title, "pageid": number(ask, match.title)}
    capture = capture_of(ask, match) if shown & {"wordcount", "timestamp"} else None
    if "wordcount" in shown and capture:
        item["wordcount"] = len(ask.world.text_of(capture)[1].split())
    if "snippet" in shown:
        item["snippet"] = snippet(ask, match, words)
    if "timestamp" in shown and capture:
        item["timestamp"] = f"{datetime.fromtimestamp(capture.time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return item


def completed(ask: Ask, letter: str = "") -> Listed:
    """Answer `list=prefixsearch` (https://www.mediawiki.org/wiki/API:Prefixsearch). Raises ApiError without
    `pssearch`.
    """
    prefix = spelled(ask.required(f"{letter}pssearch"))
    start, limit = ask.number(f"{letter}psoffset", 0, most=10_000), ask.number(f"{letter}pslimit", 10, 1)
    spaces = ask.namespaces(f"{letter}psnamespace") or frozenset(NAMESPACES)
    begun = completions(ask.world, ask.host, prefix, spaces | {namespace(prefix)}, start + limit + 1)
    on: Tree = {f"{letter}psoffset": start + limit} if len(begun) > start + limit else {}
    return Listed([_named(ask, title) for title in begun[start : start + limit]], on)


def drawn(ask: Ask, letter: str = "") -> Listed:
    """Answer `list=random` (https://www.mediawiki.org/wiki/API:Random).

    The draw is seeded by snapshot, host and session name, so the same client gets the same pages.
    """
    start, limit = ask.number(f"{letter}rncontinue", 0, most=10_000), ask.number(f"{letter}rnlimit", 1, 1)
    articles = titles(ask.world, ask.host).articles
    seed = blake2b(f"random {ask.world.snapshot} {ask.host} {ask.session}".encode("utf-8", "replace")).digest()
    chosen = Random(seed).sample(articles, min(len(articles), start + limit))[start:]
    on: Tree = {f"{letter}rncontinue": str(start + limit)} if len(articles) > start + limit else {}
    items: list[Tree] = [{"id": number(ask, title), "ns": namespace(title), "title": title} for title in chosen]
    return Listed(items, on)


def _named(ask: Ask, title: str) -> Tree:
    return {"ns": namespace(title), "title": title, "pageid": number(ask, title)}


LISTS: dict[str, List] = {"search": found, "prefixsearch": completed, "random": drawn}
"""Lists by their name in the API."""
