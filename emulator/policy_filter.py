"""Hides from a world what a policy blocks, by filtering the two ports below it.

Because the ports are filtered and not the answers, everything that a world computes is clean: results, counts,
suggestions, corrections, captures by any key, listings, error pages and bytes of archives. Verdicts are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from webemu.emulator import urls
from webemu.emulator.blocklist import Blocklist
from webemu.emulator.errors import NotCaptured, PayloadError
from webemu.emulator.policy import Policy
from webemu.emulator.ports import Entry, Finder, Numbers, Shelf
from webemu.emulator.query import Parsed
from webemu.emulator.types import Archive, Capture, Hit
from webemu.emulator.warc_range import Unreadable, records
from webemu.emulator.world import World

KEPT = 1 << 18
"""Maximum number of cached verdicts of each kind."""
DEEP = 1024
"""Depth to which a ranking is searched for a page that is not blocked."""


def guarded(world: World, policy: Policy) -> World:
    """Return the world under a policy; the same world if the policy blocks nothing. Raises BadRequest for an unknown
    engine.
    """
    world = world.through(policy.engine) if policy.engine else world
    if not policy.guards:
        return world
    judge = Judge(world.shelf, policy)
    finder = GuardedFinder(world.finder, judge)
    engines = {name: GuardedFinder(one, judge) for name, one in world.engines.items()}
    return World(world.snapshot, finder, GuardedShelf(world.shelf, finder, judge), world.figures(), engines)


class Judge:
    """Decides whether captures and pages are blocked."""

    def __init__(self, shelf: Shelf, policy: Policy) -> None:
        self.list = Blocklist(policy.blocked)
        self.until = None if policy.as_of is None else int(policy.as_of.timestamp())
        """Captures later than this (seconds since the epoch) do not exist; None for no limit."""
        self._shelf = shelf
        self._captures: dict[tuple[str, int, str, int], bool] = {}
        self._docs: dict[int, bool] = {}

    def lets(self, captures: Iterable[Capture]) -> list[Capture]:
        """Return the captures that are not blocked."""
        return [capture for capture in captures if not self.is_blocked(capture)]

    def is_blocked(self, capture: Capture) -> bool:
        """True if a capture is blocked by time, URL or content."""
        key = (capture.url, capture.time, *capture.record[:2])
        if (verdict := self._captures.get(key)) is None:
            verdict = self._captures[key] = self._is_late(capture.time) or self._is_capture(capture)
            _bound(self._captures)
        return verdict

    def _is_late(self, time: int) -> bool:
        """True if a capture of this time is after the policy's cutoff."""
        return self.until is not None and time > self.until

    def _is_capture(self, capture: Capture) -> bool:
        """True if a capture is blocked by its URL, its text or its source."""
        if self.list.is_url(capture.url):
            return True
        if not self.list.reads:
            return False
        return (capture.doc >= 0 and self._is_read(capture.doc)) or self._is_source(capture)

    def _is_read(self, doc: int) -> bool:
        """True if the title or text of a page is blocked."""
        title, text = self._shelf.text(doc)
        return self.list.is_text(f"{title}\n{text}")

    def _is_source(self, capture: Capture) -> bool:
        """True if the captured HTML is blocked; False if it cannot be read."""
        try:
            html = self._shelf.html(capture)
        except PayloadError:  # nobody can read it, so it cannot leak anything
            return False
        return html is not None and self.list.is_document(html)

    def is_page(self, doc: int, url: Callable[[], str], since: int) -> bool:
        """True if a page of the index is blocked. `url` is called only if it is needed; `since` is the time of its
        capture.
        """
        if (verdict := self._docs.get(doc)) is None:
            late = self._is_late(since)
            verdict = late or self.list.is_url(url()) or (self.list.reads and self._is_read(doc))
            self._docs[doc] = verdict
            _bound(self._docs)
        return verdict


def _bound(kept: dict[Any, bool]) -> None:
    """Empty a cache of verdicts that has grown too large."""
    if len(kept) > KEPT:
        kept.clear()


class GuardedFinder:
    """A ranker without blocked pages. It may return fewer pages than asked for; the world then asks for more."""

    def __init__(self, finder: Finder, judge: Judge) -> None:
        self._finder = finder
        self._judge = judge
        self.is_long = finder.is_long
        self.plan = finder.plan
        self.ready = finder.ready
        self.terms = finder.terms
        self.explain = finder.explain

    @property
    def columns(self) -> Numbers:
        return self._finder.columns

    def hit(self, doc: int, score: float, plan: Any) -> Hit:
        return self._finder.hit(doc, score, plan)

    def top(self, plan: Any, limit: int) -> tuple[list[Entry], bool]:
        """Return the best pages that are not blocked, and True if no page of the ranking was left out."""
        ranked, complete = self._finder.top(plan, limit)
        since = self._finder.columns.since
        return [entry for entry in ranked if not self._is_blocked(entry[1], plan, since)], complete

    def copies(self, doc: int) -> Sequence[int]:
        """Return the near-duplicates of a page that are not blocked."""
        copies = self._finder.copies(doc)
        if not copies:
            return ()
        plan, since = self._finder.plan(Parsed()), self._finder.columns.since
        return [one for one in copies if not self._is_blocked(one, plan, since)]

    def _is_blocked(self, doc: int, plan: Any, since: Sequence[int]) -> bool:
        """True if a ranked page is blocked."""
        return self._judge.is_page(doc, lambda: self._finder.hit(doc, 0.0, plan).url, since[doc])

    def frequency(self, words: str) -> int:
        """Return the page frequency of words; 0 if only blocked pages contain them."""
        count = self._finder.frequency(words)
        return count if count and self.holds(Parsed(words=words, phrases=(words,))) else 0

    def holds(self, parsed: Parsed) -> bool:
        """True if a page that is not blocked matches a query, within the first `MAX_SCAN_DEPTH` of its ranking."""
        plan, limit = self.plan(parsed), 16
        while limit <= DEEP:
            found, complete = self.top(plan, limit)
            if found or complete:
                return bool(found)
            limit *= 4
        return False


class GuardedShelf:
    """A page store without blocked captures."""

    def __init__(self, shelf: Shelf, finder: GuardedFinder, judge: Judge) -> None:
        self._shelf = shelf
        self._finder = finder
        self._judge = judge
        # These methods take a capture, a page or a text, and no caller can get hold of a blocked one: no filter needed.
        self.archives, self.text, self.payload, self.decoded = shelf.archives, shelf.text, shelf.payload, shelf.decoded
        self.html, self.markdown, self.links, self.wiki = shelf.html, shelf.markdown, shelf.links, shelf.wiki
        self.replayed, self.replayed_css, self.nearest = shelf.replayed, shelf.replayed_css, shelf.nearest
        self.narrowed, self.targets, self.pictures = shelf.narrowed, shelf.targets, shelf.pictures

    def exact(self, url: str) -> list[Capture]:
        return self._judge.lets(self._shelf.exact(url))

    def canonical(self, url: str) -> list[Capture]:
        return self._judge.lets(self._shelf.canonical(url))

    def surt(self, url: str) -> list[Capture]:
        return self._judge.lets(self._shelf.surt(url))

    def loose(self, url: str) -> list[Capture]:
        return self._judge.lets(self._shelf.loose(url))

    def missing(self, host: str) -> list[Capture]:
        return self._judge.lets(self._shelf.missing(host))

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield keys with their captures that are not blocked; keys without any are left out."""
        for key, captures in self._shelf.listing(first, last):
            if let := self._judge.lets(captures):
                yield key, let

    def knows_host(self, host: str) -> bool:
        """True if the host has a capture that is not blocked."""
        if self._judge.list.is_host(host) or not self._shelf.knows_host(host):
            return False
        key = urls.surt(f"http://{host}/")  # ends in ")/", and "*" sorts just after ")"
        listed = self.listing(key, key[:-2] + "*")
        return any(urls.host(capture.url) == host for capture in chain.from_iterable(of for _, of in listed))

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles that at least one page has that is not blocked."""
        titles = self._shelf.suggest(prefix, 4 * limit)  # more than needed, since some may be blocked
        kept = (title for title in titles if self._finder.holds(Parsed(titles=(title.replace("*", " "),))))
        return [title for title, _ in zip(kept, range(limit), strict=False)]

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return a range of a WARC file if it consists of whole records and none of them is blocked.

        A request for one byte only tells whether the file goes on: its value is hidden. Raises NotCaptured otherwise.
        """
        if length == 1:  # a probe for the end of the file, which needs no content
            return [bytes(len(piece)) for piece in self._shelf.bytes_of(archive, offset, 1)]
        try:
            for record in records(self._shelf.bytes_of(archive, offset, length)):
                self._pass(record)
        except (Unreadable, NotCaptured):
            raise _closed(archive) from None
        return self._shelf.bytes_of(archive, offset, length)

    def _pass(self, record: dict[str, str]) -> None:
        """Raise NotCaptured for a record that is blocked, or whose URL has no capture in the snapshot."""
        if not (url := record.get("warc-target-uri", "").strip("<>")):
            return
        captures = self._shelf.exact(url) or self._shelf.exact(urls.exact(url))
        known = captures and len(self._judge.lets(captures)) == len(captures)
        if self._judge.list.is_url(urls.exact(url)) or not known:
            raise NotCaptured(url)


def _closed(archive: Archive) -> NotCaptured:
    """Return the error for a range that may not be read."""
    return NotCaptured(
        f"this range of {archive.name} is not available", action="request whole records, as the index lists them"
    )
