"""Pages by title, id or generator, their properties, and lists: `action=query`
(https://www.mediawiki.org/wiki/API:Query).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.lists import LISTS
from webemu.api.wiki.meta import METAS
from webemu.api.wiki.page import find, number, proper
from webemu.api.wiki.params import ApiError, Ask
from webemu.api.wiki.property_page import Entry
from webemu.api.wiki.props import PROPERTIES
from webemu.api.wiki.site import titles
from webemu.api.wiki.titles import fault, namespace, spelled

GENERATED = 50
"""Largest number of pages from a generator, since each of them is fetched and parsed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pages that a query is about."""

    entries: list[Entry]
    normalized: list[Tree]
    """Titles that were respelled, as (from, to)."""
    redirects: list[Tree]
    """Redirects that were followed, as (from, to)."""
    on: Tree
    """Parameters that continue with the next pages of a generator."""


def query(ask: Ask) -> Tree:
    """Answer `action=query`. Raises ApiError on a bad parameter."""
    warnings = [warning for name, known in _KNOWN.items() for warning in _unknown(ask, name, known)]
    batch = _batch(ask)
    told: Tree = {}
    told |= {"normalized": batch.normalized} if batch.normalized else {}
    told |= {"redirects": batch.redirects} if batch.redirects else {}
    pages, on_pages = _pages(ask, batch.entries)
    told |= {"pages#": pages} if pages else {}
    lists, on_lists = _lists(ask)
    told |= lists
    for name in ask.values("meta"):
        told |= METAS[name](ask) if name in METAS else {}
    return _enveloped(told, warnings, on_pages, on_lists, batch.on)


def _enveloped(told: Tree, warnings: list[str], pages: Tree, lists: Tree, batch: Tree) -> Tree:
    """Wrap the result with `continue`, `batchcomplete` and warnings, as MediaWiki does.

    Properties of the current pages are continued first; only then does a generator move on to its next pages.
    """
    answer: Tree = {} if pages.keys() - {"continue"} else {"batchcomplete": True}
    if pages.keys() - {"continue"}:
        answer["continue"] = {**lists, **pages}
    elif lists or batch:
        # MediaWiki's form of `continue`: `-||` means that no property of these pages is left.
        begun = f"{next(iter(batch))}||" if batch else "-||"
        answer["continue"] = {**batch, **lists, "continue": begun}
    if warnings:
        answer["warnings"] = {"query": {"warnings*": "\n".join(warnings)}}
    return answer | ({"query": told} if told else {})


def _unknown(ask: Ask, name: str, known: Iterable[str]) -> list[str]:
    values = [value[:60] for value in ask.values(name) if value not in known]
    many = "values" if len(values) > 1 else "value"
    return [f'Unrecognized {many} for parameter "{name}": {", ".join(values)}.'] if values else []


_KNOWN: dict[str, Iterable[str]] = {"prop": PROPERTIES, "list": LISTS, "meta": METAS}


def _batch(ask: Ask) -> Batch:
    """Return the requested pages. Raises ApiError if they are named in two ways at once."""
    if sum(map(ask.has, ("titles", "pageids", "generator"))) > 1 and not ask.has("generator"):
        raise ApiError("multisource", 'Cannot use "titles" at the same time as "pageids".')
    if ask.has("generator"):
        return _generated(ask)
    if ask.has("pageids"):
        return _numbered(ask)
    normalized: list[Tree] = []
    wanted: dict[str, None] = {}
    for title in ask.values("titles"):
        own = proper(ask, title)
        if own != title and own and not fault(own):
            normalized.append({"fromencoded": False, "from": title, "to": own})
        wanted[own if not fault(own) else title] = None
    return _resolved(ask, [_entry(ask, title) for title in wanted], normalized)


def _generated(ask: Ask) -> Batch:
    """Return the pages that a list generates. Raises ApiError if there is no such list."""
    name = ask.text("generator")
    if name not in LISTS:
        raise ApiError("badvalue", f'Unrecognized value for parameter "generator": {name[:60]}.')
    listed = LISTS[name](ask, "g")
    items = [str(item["title"]) for item in listed.items[:GENERATED]]
    entries = [replace(_entry(ask, title), index=place) for place, title in enumerate(items, 1)]
    batch = _resolved(ask, entries, [])
    return replace(batch, on=listed.on)


def _numbered(ask: Ask) -> Batch:
    """Return the pages with the requested ids."""
    numbers = [int(text) if text.isdecimal() and len(text) < 12 else 0 for text in ask.values("pageids")]
    held = titles(ask.world, ask.host).numbers
    known = [(one, held.get(one, "")) for one in numbers]
    entries = [_entry(ask, title) if title else Entry("", pageid=one) for one, title in known]
    return _resolved(ask, entries, [])


def _entry(ask: Ask, title: str) -> Entry:
    """Look up a title and return its entry, invalid or missing ones included."""
    if wrong := fault(spelled(title)):
        return Entry(title, invalid=wrong)
    found = find(ask, title)
    return Entry(title, found, moved=found is not None and found.title != title)


def _resolved(ask: Ask, entries: list[Entry], normalized: list[Tree]) -> Batch:
    """Return the entries as a batch; with `redirects`, each redirect is replaced by its target and reported."""
    if not ask.has("redirects"):
        return Batch(entries, normalized, [], {})
    moved: list[Tree] = [{"from": e.title, "to": e.found.title} for e in entries if e.moved and e.found]
    ends = (replace(e, title=e.found.title, moved=False) if e.moved and e.found else e for e in entries)
    return Batch(list({(e.title, e.pageid): e for e in ends}.values()), normalized, moved, {})


def _pages(ask: Ask, entries: Sequence[Entry]) -> tuple[list[Tree], Tree]:
    """Return the fields of each page, and the parameters that continue with the remaining ones.

    Properties that are complete are listed in `continue`, so that they are not sent again.
    """
    pages = [_head(ask, entry) for entry in entries]
    # The client sends back which properties were complete.
    done = ask.text("continue").partition("||")[2].split("|")
    on: Tree = {}
    for name in ask.values("prop"):
        if name not in PROPERTIES or name in done or not entries:
            continue
        filled = PROPERTIES[name](ask, entries)
        for page, fields in zip(pages, filled.fields, strict=True):
            page |= fields
        on |= filled.on
        if not filled.on:
            done.append(name)
    return pages, on | {"continue": "||" + "|".join(filter(None, done))}


def _head(ask: Ask, entry: Entry) -> Tree:
    """Return the fields that identify a page: id, namespace and title, or why it is missing."""
    if entry.invalid:
        return {"title": entry.title, "invalidreason": entry.invalid, "invalid": True}
    if entry.pageid:
        return {"pageid": entry.pageid, "missing": True}
    space = entry.found.space if entry.found and not entry.moved else namespace(entry.title)
    if entry.found is None:
        return {"ns": space, "title": entry.title, "special" if space < 0 else "missing": True}
    head: Tree = {"pageid": number(ask, entry.title), "ns": space, "title": entry.title}
    return head | ({"index": entry.index} if entry.index else {})


def _lists(ask: Ask) -> tuple[Tree, Tree]:
    """Return the requested lists, and the parameters that continue them."""
    told: Tree = {}
    on: Tree = {}
    for name in ask.values("list"):
        if name in LISTS:
            listed = LISTS[name](ask, "")
            told |= {**listed.said, name: listed.items}
            on |= listed.on
    return told, on
