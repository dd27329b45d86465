"""Pages by title, id or generator, their properties, and lists: `action=query`
(https://www.mediawiki.org/wiki/API:Query).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.lists import LISTS
from webemu.api.wiki.meta import METAS
from webemu.api.wiki.page import canonical_title, find_page, page_id_of
from webemu.api.wiki.params import ApiError, WikiCall
from webemu.api.wiki.property_page import PageEntry
from webemu.api.wiki.props import PROPERTIES
from webemu.api.wiki.site import list_titles
from webemu.api.wiki.titles import namespace_of, normalize_title, title_error

MAX_GENERATED = 50
"""Largest number of pages from a generator, since each of them is fetched and parsed."""


@dataclass(frozen=True, slots=True)
class PageBatch:
    """Pages that a query is about."""

    entries: list[PageEntry]
    normalized: list[Tree]
    """Titles that were respelled, as (from, to)."""
    redirects: list[Tree]
    """Redirects that were followed, as (from, to)."""
    continuation: Tree
    """Parameters that continue with the next pages of a generator."""


def action_query(call: WikiCall) -> Tree:
    """Answer `action=query`. Raises ApiError on a bad parameter."""
    warnings = [
        warning
        for name, module_names in _MODULES.items()
        for warning in _unknown_value_warnings(call, name, module_names)
    ]
    batch = _requested_batch(call)
    query_result: Tree = {}
    query_result |= {"normalized": batch.normalized} if batch.normalized else {}
    query_result |= {"redirects": batch.redirects} if batch.redirects else {}
    pages, pages_continuation = _page_fields(call, batch.entries)
    query_result |= {"pages#": pages} if pages else {}
    lists, lists_continuation = _run_lists(call)
    query_result |= lists
    for name in call.values("meta"):
        query_result |= METAS[name](call) if name in METAS else {}
    return _wrap_result(query_result, warnings, pages_continuation, lists_continuation, batch.continuation)


def _wrap_result(
    query_result: Tree,
    warnings: list[str],
    pages_continuation: Tree,
    lists_continuation: Tree,
    batch_continuation: Tree,
) -> Tree:
    """Wrap the result with `continue`, `batchcomplete` and warnings, as MediaWiki does.

    Properties of the current pages are continued first; only then does a generator move on to its next pages.
    """
    answer: Tree = {} if pages_continuation.keys() - {"continue"} else {"batchcomplete": True}
    if pages_continuation.keys() - {"continue"}:
        answer["continue"] = {**lists_continuation, **pages_continuation}
    elif lists_continuation or batch_continuation:
        # MediaWiki's form of `continue`: `-||` means that no property of these pages is left.
        continue_mark = f"{next(iter(batch_continuation))}||" if batch_continuation else "-||"
        answer["continue"] = {**batch_continuation, **lists_continuation, "continue": continue_mark}
    if warnings:
        answer["warnings"] = {"query": {"warnings*": "\n".join(warnings)}}
    return answer | ({"query": query_result} if query_result else {})


def _unknown_value_warnings(call: WikiCall, name: str, known_names: Iterable[str]) -> list[str]:
    values = [value[:60] for value in call.values(name) if value not in known_names]
    noun = "values" if len(values) > 1 else "value"
    return [f'Unrecognized {noun} for parameter "{name}": {", ".join(values)}.'] if values else []


_MODULES: dict[str, Iterable[str]] = {"prop": PROPERTIES, "list": LISTS, "meta": METAS}


def _requested_batch(call: WikiCall) -> PageBatch:
    """Return the requested pages. Raises ApiError if they are named in two ways at once."""
    if sum(map(call.has, ("titles", "pageids", "generator"))) > 1 and not call.has("generator"):
        raise ApiError("multisource", 'Cannot use "titles" at the same time as "pageids".')
    if call.has("generator"):
        return _generate_batch(call)
    if call.has("pageids"):
        return _batch_by_id(call)
    normalized: list[Tree] = []
    distinct_titles: dict[str, None] = {}
    for title in call.values("titles"):
        canonical = canonical_title(call, title)
        if canonical != title and canonical and not title_error(canonical):
            normalized.append({"fromencoded": False, "from": title, "to": canonical})
        distinct_titles[canonical if not title_error(canonical) else title] = None
    return _follow_redirects(call, [_find_entry(call, title) for title in distinct_titles], normalized)


def _generate_batch(call: WikiCall) -> PageBatch:
    """Return the pages that a list generates. Raises ApiError if there is no such list."""
    name = call.text("generator")
    if name not in LISTS:
        raise ApiError("badvalue", f'Unrecognized value for parameter "generator": {name[:60]}.')
    list_page = LISTS[name](call, "g")
    item_titles = [str(item["title"]) for item in list_page.items[:MAX_GENERATED]]
    entries = [replace(_find_entry(call, title), index=rank) for rank, title in enumerate(item_titles, 1)]
    batch = _follow_redirects(call, entries, [])
    return replace(batch, continuation=list_page.continuation)


def _batch_by_id(call: WikiCall) -> PageBatch:
    """Return the pages with the requested ids."""
    numbers = [int(text) if text.isdecimal() and len(text) < 12 else 0 for text in call.values("pageids")]
    title_by_id = list_titles(call.world, call.host).title_by_id
    requested = [(one, title_by_id.get(one, "")) for one in numbers]
    entries = [_find_entry(call, title) if title else PageEntry("", missing_id=one) for one, title in requested]
    return _follow_redirects(call, entries, [])


def _find_entry(call: WikiCall, title: str) -> PageEntry:
    """Look up a title and return its entry, invalid or missing ones included."""
    if error := title_error(normalize_title(title)):
        return PageEntry(title, title_error=error)
    page = find_page(call, title)
    return PageEntry(title, page, is_redirect=page is not None and page.title != title)


def _follow_redirects(call: WikiCall, entries: list[PageEntry], normalized: list[Tree]) -> PageBatch:
    """Return the entries as a batch; with `redirects`, each redirect is replaced by its target and reported."""
    if not call.has("redirects"):
        return PageBatch(entries, normalized, [], {})
    followed: list[Tree] = [{"from": e.title, "to": e.page.title} for e in entries if e.is_redirect and e.page]
    targets = (replace(e, title=e.page.title, is_redirect=False) if e.is_redirect and e.page else e for e in entries)
    return PageBatch(list({(e.title, e.missing_id): e for e in targets}.values()), normalized, followed, {})


def _page_fields(call: WikiCall, entries: Sequence[PageEntry]) -> tuple[list[Tree], Tree]:
    """Return the fields of each page, and the parameters that continue with the remaining ones.

    Properties that are complete are listed in `continue`, so that they are not sent again.
    """
    pages = [_page_head(call, entry) for entry in entries]
    # The client sends back which properties were complete.
    complete_names = call.text("continue").partition("||")[2].split("|")
    continuation: Tree = {}
    for name in call.values("prop"):
        if name not in PROPERTIES or name in complete_names or not entries:
            continue
        property_page = PROPERTIES[name](call, entries)
        for page, fields in zip(pages, property_page.fields_by_page, strict=True):
            page |= fields
        continuation |= property_page.continuation
        if not property_page.continuation:
            complete_names.append(name)
    return pages, continuation | {"continue": "||" + "|".join(filter(None, complete_names))}


def _page_head(call: WikiCall, entry: PageEntry) -> Tree:
    """Return the fields that identify a page: id, namespace and title, or why it is missing."""
    if entry.title_error:
        return {"title": entry.title, "invalidreason": entry.title_error, "invalid": True}
    if entry.missing_id:
        return {"pageid": entry.missing_id, "missing": True}
    namespace_number = entry.page.namespace if entry.page and not entry.is_redirect else namespace_of(entry.title)
    if entry.page is None:
        return {"ns": namespace_number, "title": entry.title, "special" if namespace_number < 0 else "missing": True}
    head: Tree = {"pageid": page_id_of(call, entry.title), "ns": namespace_number, "title": entry.title}
    return head | ({"index": entry.index} if entry.index else {})


def _run_lists(call: WikiCall) -> tuple[Tree, Tree]:
    """Return the requested lists, and the parameters that continue them."""
    list_fields: Tree = {}
    continuation: Tree = {}
    for name in call.values("list"):
        if name in LISTS:
            list_page = LISTS[name](call, "")
            list_fields |= {**list_page.summary_fields, name: list_page.items}
            continuation |= list_page.continuation
    return list_fields, continuation
