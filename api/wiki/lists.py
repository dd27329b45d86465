"""Lists of `action=query`: search, prefixsearch and random. Each also serves as a generator of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from random import Random
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import page_id_of
from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.search import WikiMatch, count_matches, matched_capture, search_wiki, snippet_html
from webemu.api.wiki.site import complete_titles, list_titles
from webemu.api.wiki.titles import NAMESPACES, namespace_of, normalize_title


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list."""

    items: list[Tree]
    """Items, each with a `title`."""
    continuation: Tree = field(default_factory=dict)
    """Parameters that continue with the next page; empty after the last."""
    summary_fields: Tree = field(default_factory=dict)
    """Fields about the whole list, such as `searchinfo`."""


ListModule: TypeAlias = Callable[[WikiCall, str], ListPage]
"""Computes a list for a call; the second argument prefixes its parameters (`g` in a generator, otherwise empty)."""


def list_search(call: WikiCall, param_prefix: str = "") -> ListPage:
    """Answer `list=search` (https://www.mediawiki.org/wiki/API:Search). Raises ApiError if `srsearch` is missing."""
    words = call.require(f"{param_prefix}srsearch")
    start, limit = (
        call.number(f"{param_prefix}sroffset", 0, maximum=10_000),
        call.number(f"{param_prefix}srlimit", 10, 1),
    )
    namespaces = call.namespaces(f"{param_prefix}srnamespace")
    match_page = search_wiki(call, words, start, limit, namespaces)
    # A generator only needs titles, so the costly fields are computed for a plain list alone.
    wanted_fields = set(call.values("srprop", "size|wordcount|timestamp|snippet")) if not param_prefix else set()
    items = [_search_result(call, match, words, wanted_fields) for match in match_page.matches]
    continuation: Tree = {f"{param_prefix}sroffset": start + limit} if match_page.has_more else {}
    return ListPage(items, continuation, _search_info(call, words, namespaces) if not param_prefix else {})


def _search_info(call: WikiCall, words: str, namespaces: frozenset[int] | None) -> Tree:
    info_names = call.values("srinfo", "totalhits|suggestion")
    search_info: Tree = {"totalhits": count_matches(call, words, namespaces)} if "totalhits" in info_names else {}
    suggestion = call.world.correct(words) if "suggestion" in info_names else None
    search_info |= {"suggestion": suggestion} if suggestion else {}
    return {"searchinfo": search_info} if search_info else {}


def _search_result(call: WikiCall, match: WikiMatch, words: str, wanted_fields: set[str]) -> Tree:
    search_item: Tree = {"ns": match.namespace, "title": match.title, "pageid": page_id_of(call, match.title)}
    capture = matched_capture(call, match) if wanted_fields & {"wordcount", "timestamp"} else None
    if "wordcount" in wanted_fields and capture:
        search_item["wordcount"] = len(call.world.text_of(capture)[1].split())
    if "snippet" in wanted_fields:
        search_item["snippet"] = snippet_html(call, match, words)
    if "timestamp" in wanted_fields and capture:
        search_item["timestamp"] = f"{datetime.fromtimestamp(capture.time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return search_item


def list_prefixsearch(call: WikiCall, param_prefix: str = "") -> ListPage:
    """Answer `list=prefixsearch` (https://www.mediawiki.org/wiki/API:Prefixsearch). Raises ApiError without
    `pssearch`.
    """
    prefix = normalize_title(call.require(f"{param_prefix}pssearch"))
    start, limit = (
        call.number(f"{param_prefix}psoffset", 0, maximum=10_000),
        call.number(f"{param_prefix}pslimit", 10, 1),
    )
    namespaces = call.namespaces(f"{param_prefix}psnamespace") or frozenset(NAMESPACES)
    completed_titles = complete_titles(
        call.world, call.host, prefix, namespaces | {namespace_of(prefix)}, start + limit + 1
    )
    continuation: Tree = {f"{param_prefix}psoffset": start + limit} if len(completed_titles) > start + limit else {}
    return ListPage([_title_item(call, title) for title in completed_titles[start : start + limit]], continuation)


def list_random(call: WikiCall, param_prefix: str = "") -> ListPage:
    """Answer `list=random` (https://www.mediawiki.org/wiki/API:Random).

    The draw is seeded by snapshot, host and the seed of the session's policy, or else its name, so that the same
    client gets the same pages.
    """
    start, limit = (
        call.number(f"{param_prefix}rncontinue", 0, maximum=10_000),
        call.number(f"{param_prefix}rnlimit", 1, 1),
    )
    articles = list_titles(call.world, call.host).articles
    seed = blake2b(f"random {call.world.snapshot} {call.host} {call.draw_key}".encode("utf-8", "replace")).digest()
    sampled_titles = Random(seed).sample(articles, min(len(articles), start + limit))[start:]
    continuation: Tree = {f"{param_prefix}rncontinue": str(start + limit)} if len(articles) > start + limit else {}
    items: list[Tree] = [
        {"id": page_id_of(call, title), "ns": namespace_of(title), "title": title} for title in sampled_titles
    ]
    return ListPage(items, continuation)


def _title_item(call: WikiCall, title: str) -> Tree:
    return {"ns": namespace_of(title), "title": title, "pageid": page_id_of(call, title)}


LISTS: dict[str, ListModule] = {"search": list_search, "prefixsearch": list_prefixsearch, "random": list_random}
"""Lists by their name in the API."""
