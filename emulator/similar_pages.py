"""The texts that `blocked.similar` of a policy names: as they stand, or as captured pages say them.

What a page shares with its neighbours, such as menus and footers, is left out; else a page of few words would hide its
whole site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from webemu.emulator import urls
from webemu.emulator.errors import BadRequest
from webemu.emulator.ports import PageStore
from webemu.emulator.similarity import (
    MAX_RUNS,
    MIN_SHARE,
    MIN_WORDS,
    SimilarTexts,
    has_enough_words,
    list_runs,
    measure_resemblance,
)

NEIGHBOURS = 16
"""Pages of a host that are read for what they share with a page: its first ones, and as many that follow the page."""
MIN_SHARING = 2
"""Neighbours that say something if it counts as shared; of many neighbours, a quarter of them."""


def is_address(text: str) -> bool:
    """True if an entry of `blocked.similar` names a captured page, and is no text."""
    return text.lower().startswith(("http://", "https://")) and len(text.split()) == 1


def check_similar(entries: Iterable[str]) -> None:
    """Raises BadRequest for a text that is too short to be compared."""
    for entry in entries:
        if not is_address(entry) and not has_enough_words(entry):
            raise _similar_error(
                f"has {entry[:60]!r} in blocked.similar, which has fewer than {MIN_WORDS} words",
                "block such a text with blocked.texts, or give the URL of a captured page",
            )


def read_similar(entries: Iterable[str], page_store: PageStore) -> SimilarTexts:
    """Return the texts to look for.

    Raises:
        BadRequest: a URL has no page in the crawl, a page has too few words of its own, or all texts together are too
            long: pages like them could not be told, and a rule that hides nothing is refused.
    """
    texts = SimilarTexts(chain.from_iterable(_read_entry(entry, page_store) for entry in entries))
    if texts.runs > MAX_RUNS:
        raise _similar_error(
            f"has texts in blocked.similar with more than {MAX_RUNS:,} runs of words in all", "give fewer texts"
        )
    return texts


def _read_entry(entry: str, page_store: PageStore) -> Iterator[list[int]]:
    """Yield the runs of words of a text, or of each page that was captured at a URL."""
    if not is_address(entry):
        yield list_runs(entry)
        return
    url = urls.parse_user_url(entry)
    captures = page_store.exact(url) or page_store.canonical(url) or page_store.surt(url)
    docs = dict.fromkeys(capture.doc for capture in captures if capture.doc >= 0)
    if not docs:
        raise _similar_error(
            f"names {entry[:200]} in blocked.similar, which has no page in the crawl",
            "give a URL that was captured as a page, or the text itself",
        )
    for doc in docs:
        yield _read_own_runs(doc, url, page_store)


def _read_own_runs(doc: int, url: str, page_store: PageStore) -> list[int]:
    """Return the runs of words of a page that its neighbours do not have. Raises BadRequest if too few are left."""
    runs = list_runs(page_store.text(doc)[1])
    all_runs = set(runs)
    counts, neighbours = Counter[int](), 0
    for other in _list_neighbours(doc, url, page_store):
        other_runs = set(list_runs(page_store.text(other)[1]))
        if measure_resemblance(all_runs, other_runs) < MIN_SHARE:  # else it is a copy, and all is shared
            counts.update(all_runs & other_runs)
            neighbours += 1
    own_runs = [run for run in runs if counts[run] < max(MIN_SHARING, neighbours / 4)]
    if len(own_runs) < MIN_WORDS:
        raise _similar_error(
            f"names {url[:200]} in blocked.similar, which has fewer than {MIN_WORDS} words of its own",
            "block it by blocked.urls, and pages like it by a text that they say",
        )
    return own_runs


def _list_neighbours(doc: int, url: str, page_store: PageStore) -> list[int]:
    """Return pages of the same host, the same ones for the same snapshot."""
    host_key = urls.surt_key(f"http://{urls.host_of(url)}/")  # ends in ")/", and "*" sorts just after ")"
    after_host = host_key[:-2] + "*"
    docs = chain.from_iterable(
        islice(_list_docs(first, after_host, page_store), NEIGHBOURS) for first in (host_key, urls.surt_key(url))
    )
    return [one for one in dict.fromkeys(docs) if one != doc]


def _list_docs(first: str, last: str, page_store: PageStore) -> Iterator[int]:
    """Yield one page of each key, from the first key on."""
    for _, captures in page_store.listing(first, last):
        doc = max((capture.doc for capture in captures), default=-1)
        if doc >= 0:
            yield doc


def _similar_error(problem: str, action: str) -> BadRequest:
    return BadRequest(f"the policy {problem}", reason="bad-policy", action=action)
