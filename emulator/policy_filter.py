"""Hides from a world what a policy blocks, by filtering the two ports below it.

Because the ports are filtered and not the answers, everything that a world computes is clean: results, counts,
suggestions, corrections, captures by any key, listings, error pages and bytes of archives. Verdicts are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeVar

from webemu.emulator import urls
from webemu.emulator.blocklist import Blocklist
from webemu.emulator.errors import PayloadError
from webemu.emulator.policy import Blocked, Policy
from webemu.emulator.ports import Column, DocValues, PageStore, Ranker, ScoredDoc, SearchPlan
from webemu.emulator.query import ParsedQuery
from webemu.emulator.similar_pages import read_similar
from webemu.emulator.types import Archive, Capture
from webemu.emulator.warc_range import read_allowed_records, written_at
from webemu.emulator.world import World

Key = TypeVar("Key")

MAX_VERDICTS = 1 << 18
"""Maximum number of cached verdicts of each kind."""
MAX_PAGES_CHECKED = 32
"""Number of pages with a word up to which they are checked before the word counts as known."""
MAX_SCAN_DEPTH = 1024
"""Depth to which a ranking is searched for a page that is not blocked."""


def apply_policy(world: World, policy: Policy) -> World:
    """Return the world under a policy; the same world if the policy blocks nothing.

    Raises:
        BadRequest: the policy names an unknown engine, or in `blocked.similar` a page that cannot be compared.
    """
    world = world.with_engine(policy.engine) if policy.engine else world
    if not policy.restricts_content:
        return world
    checker = BlockChecker(world.page_store, policy)
    ranker = FilteredRanker(world.ranker, checker)
    engines = {name: FilteredRanker(one, checker) for name, one in world.engines.items()}
    return World(world.snapshot, ranker, FilteredPageStore(world.page_store, ranker, checker), world.figures(), engines)


class BlockChecker:
    """Decides whether captures and pages are blocked."""

    def __init__(self, page_store: PageStore, policy: Policy) -> None:
        self.blocklist = Blocklist(policy.blocked, read_similar(policy.blocked.similar, page_store))
        self.cutoff = None if policy.as_of is None else int(policy.as_of.timestamp())
        """Captures later than this (seconds since the epoch) do not exist; None for no limit."""
        self.blocks_content = policy.blocked != Blocked()
        """True if pages are blocked, whenever they were captured."""
        self._page_store = page_store
        self._capture_verdicts: dict[tuple[str, int, str, int], bool] = {}
        self._page_verdicts: dict[int, bool] = {}

    def drop_blocked(self, captures: Iterable[Capture]) -> list[Capture]:
        """Return the captures that are not blocked."""
        return [capture for capture in captures if not self.is_capture_blocked(capture)]

    def date_archives(self, archives: Sequence[Archive]) -> Sequence[Archive]:
        """Return the WARC files that have a capture by the cutoff, none of which ends after it."""
        if (cutoff := self.cutoff) is None:
            return archives
        # A file without captures says nothing about when it was written, so it is left out like a later one.
        dated = (
            archive for archive in archives if archive.last_time >= 0 and not self._is_after_cutoff(archive.first_time)
        )
        return [replace(archive, last_time=min(archive.last_time, cutoff)) for archive in dated]

    def is_continued(self, archive: Archive) -> bool:
        """True if a file, with its times as they were recorded, goes on after the cutoff."""
        return self._is_after_cutoff(archive.last_time)

    def is_capture_blocked(self, capture: Capture) -> bool:
        """True if a capture is blocked by time, URL or content."""
        key = (capture.url, capture.time, *capture.record[:2])
        if (verdict := self._capture_verdicts.get(key)) is None:
            verdict = self._capture_verdicts[key] = self._is_after_cutoff(capture.time) or self._check_capture(capture)
            _limit_size(self._capture_verdicts)
        return verdict

    def _is_after_cutoff(self, time: int) -> bool:
        """True if a capture of this time is after the policy's cutoff."""
        return self.cutoff is not None and time > self.cutoff

    def _check_capture(self, capture: Capture) -> bool:
        """True if a capture is blocked by its URL, its text or its source."""
        if self.blocklist.blocks_url(capture.url):
            return True
        if not self.blocklist.checks_text:
            return False
        return (capture.doc >= 0 and self._has_blocked_text(capture.doc)) or self._has_blocked_source(capture)

    def _has_blocked_content(self, doc: int, url: str) -> bool:
        """True if the text or the source of a page of the index is blocked: what cannot be opened is not found."""
        capture = next((one for one in self._page_store.exact(url) if one.doc == doc), None)
        return self._has_blocked_text(doc) if capture is None else self.is_capture_blocked(capture)

    def _has_blocked_text(self, doc: int) -> bool:
        """True if the title or text of a page is blocked."""
        title, text = self._page_store.text(doc)
        return self.blocklist.blocks_text(f"{title}\n{text}")

    def _has_blocked_source(self, capture: Capture) -> bool:
        """True if anything that can be read in the recorded response is blocked; False if nobody can read it."""
        try:
            payload, html = self._page_store.payload(capture), self._page_store.html(capture)
            return self.blocklist.blocks_any_text(self._page_store.readable_texts(payload, html))
        except PayloadError:
            return False

    def is_page_blocked(self, doc: int, url: Callable[[], str], since: int) -> bool:
        """True if a page of the index is blocked. `url` is called only if it is needed; `since` is the time of its
        capture.
        """
        if (verdict := self._page_verdicts.get(doc)) is None:
            is_late = self._is_after_cutoff(since)
            verdict = (
                is_late
                or self.blocklist.blocks_url(url())
                or (self.blocklist.checks_text and self._has_blocked_content(doc, url()))
            )
            self._page_verdicts[doc] = verdict
            _limit_size(self._page_verdicts)
        return verdict


def _limit_size(verdicts: dict[Key, bool]) -> None:
    """Empty a cache of verdicts that has grown too large."""
    if len(verdicts) > MAX_VERDICTS:
        verdicts.clear()


class FilteredPlan:
    """A prepared query whose ranking leaves out blocked pages."""

    def __init__(self, plan: SearchPlan, since: Column, checker: BlockChecker) -> None:
        """Wrap a plan; `since` is the time of each page's capture, by dense id."""
        self._plan = plan
        self._since = since
        self._checker = checker
        self.render_hit = plan.render_hit
        self.explain = plan.explain

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best pages that are not blocked, and True if no page of the ranking was left out."""
        ranked, complete = self._plan.top(limit)
        return [entry for entry in ranked if not self.is_blocked(entry[1])], complete

    def is_blocked(self, doc: int) -> bool:
        """True if a page is blocked."""
        return self._checker.is_page_blocked(doc, lambda: self._plan.render_hit(doc, 0.0).url, self._since[doc])


class FilteredRanker:
    """A ranker without blocked pages. It may return fewer pages than asked for; the world then asks for more."""

    def __init__(self, ranker: Ranker, checker: BlockChecker) -> None:
        self._ranker = ranker
        self._checker = checker
        self.is_slow = ranker.is_slow
        self.start_async = ranker.start_async
        self.terms = ranker.terms

    @property
    def doc_values(self) -> DocValues:
        return self._ranker.doc_values

    def plan(self, parsed: ParsedQuery) -> FilteredPlan:
        """Return a prepared query whose ranking leaves out blocked pages."""
        parsed = parsed if self._checker.cutoff is None else replace(parsed, is_dated=True)
        return FilteredPlan(self._ranker.plan(parsed), self._ranker.doc_values.since, self._checker)

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return the near-duplicates of a page that are not blocked."""
        doc_ids = self._ranker.duplicates(doc)
        if not doc_ids:
            return ()
        plan = self.plan(ParsedQuery())
        return [one for one in doc_ids if not plan.is_blocked(one)]

    def frequency(self, words: str) -> int:
        """Return the page frequency of words; 0 if only blocked pages contain them."""
        count = self._ranker.frequency(words)
        return count if count and self.has_allowed_page(ParsedQuery(words=words, phrases=(words,))) else 0

    def knows(self, word: str) -> bool:
        """Return True if a page that is not blocked has the word; of a word that more than `MAX_PAGES_CHECKED` pages
        have, it is believed.
        """
        count = self._ranker.frequency(word)
        return count > MAX_PAGES_CHECKED or (count > 0 and self.frequency(word) > 0)

    def has_allowed_page(self, parsed: ParsedQuery) -> bool:
        """True if a page that is not blocked matches a query, within the first `MAX_SCAN_DEPTH` of its ranking."""
        plan, limit = self.plan(parsed), 16
        while limit <= MAX_SCAN_DEPTH:
            entries, complete = plan.top(limit)
            if entries or complete:
                return bool(entries)
            limit *= 4
        return False


class FilteredPageStore:
    """A page store without blocked captures."""

    def __init__(self, page_store: PageStore, ranker: FilteredRanker, checker: BlockChecker) -> None:
        self._page_store = page_store
        self._ranker = ranker
        self._checker = checker
        # These methods take a capture, a page or a text, and no caller can get hold of a blocked one: no filter needed.
        self.text, self.payload, self.decode_body = (
            page_store.text,
            page_store.payload,
            page_store.decode_body,
        )
        self.html, self.markdown, self.wiki = page_store.html, page_store.markdown, page_store.wiki
        self.find_view, self.render_view = page_store.find_view, page_store.render_view
        self.readable_texts = page_store.readable_texts
        self.rewrite_links, self.rewrite_css_links, self.nearest = (
            page_store.rewrite_links,
            page_store.rewrite_css_links,
            page_store.nearest,
        )
        self.select_elements, self.link_targets, self.images = (
            page_store.select_elements,
            page_store.link_targets,
            page_store.images,
        )

    @property
    def has_exchanges(self) -> bool:
        """False if the policy blocks pages: a recorded answer of a service may quote any of them."""
        return self._page_store.has_exchanges and not self._checker.blocks_content

    def recorded_exchanges(self, key: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.recorded_exchanges(key)) if self.has_exchanges else []

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files that were begun by the policy's cutoff."""
        return self._archives

    @cached_property
    def _archives(self) -> Sequence[Archive]:
        return self._checker.date_archives(self._page_store.archives())

    @cached_property
    def _continued_paths(self) -> frozenset[str]:
        """Paths of the files that go on after the cutoff: where they end is not shown."""
        archives = self._page_store.archives()
        return frozenset(archive.path for archive in archives if self._checker.is_continued(archive))

    def exact(self, url: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.exact(url))

    def canonical(self, url: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.canonical(url))

    def surt(self, url: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.surt(url))

    def by_loose_key(self, url: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.by_loose_key(url))

    def error_page_of(self, host: str) -> list[Capture]:
        return self._checker.drop_blocked(self._page_store.error_page_of(host))

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield keys with their captures that are not blocked; keys without any are left out."""
        for key, captures in self._page_store.listing(first, last):
            if allowed := self._checker.drop_blocked(captures):
                yield key, allowed

    def knows_host(self, host: str) -> bool:
        """True if the host has a capture that is not blocked."""
        if self._checker.blocklist.blocks_host(host) or not self._page_store.knows_host(host):
            return False
        key = urls.surt_key(f"http://{host}/")  # ends in ")/", and "*" sorts just after ")"
        groups = self.listing(key, key[:-2] + "*")
        return any(
            urls.host_of(capture.url) == host for capture in chain.from_iterable(captures for _, captures in groups)
        )

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles that at least one page has that is not blocked."""
        titles = self._page_store.suggest(prefix, 4 * limit)  # more than needed, since some may be blocked
        allowed = (
            title for title in titles if self._ranker.has_allowed_page(ParsedQuery(titles=(title.replace("*", " "),)))
        )
        return [title for title, _ in zip(allowed, range(limit), strict=False)]

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return a range of a WARC file if it consists of whole records and none of them is blocked.

        A file with captures after the cutoff has no end. Raises NotCaptured otherwise.
        """
        archive = replace(archive, is_continued=archive.is_continued or archive.path in self._continued_paths)
        read = partial(self._page_store.bytes_of, archive)
        return read_allowed_records(archive, read, offset, length, self._is_allowed_record)

    def _is_allowed_record(self, record: dict[str, str]) -> bool:
        """True unless a record is blocked, or its URL has no capture in the snapshot."""
        if not (url := record.get("warc-target-uri", "").strip("<>")):
            return True
        captures = self._page_store.exact(url) or self._page_store.exact(urls.normalize(url))
        # Those of the record's own second, if there are any: other records, such as requests, may have no capture.
        captures = [one for one in captures if one.time == written_at(record)] or captures
        is_allowed = bool(captures) and len(self._checker.drop_blocked(captures)) == len(captures)
        return is_allowed and not self._checker.blocklist.blocks_url(urls.normalize(url))
