"""A world that lacks what a policy blocks: the ports of another one, with everything blocked taken out on the way.

It is done below `World`, so that whatever is made of a world, now or later, holds nothing of it: results, counts,
suggestions, corrections, captures by any key, lists, error pages, bytes of archives. Verdicts are kept.
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
"""Verdicts that are kept of each kind."""
DEEP = 1024
"""So much of a ranking is looked at for a page that is not blocked and has some words."""


def guarded(world: World, policy: Policy) -> World:
    """The world as the policy has it; the same where nothing is blocked. Raises BadRequest for an unknown engine."""
    world = world.through(policy.engine) if policy.engine else world
    if not policy.guards:
        return world
    judge = Judge(world.shelf, policy)
    finder = GuardedFinder(world.finder, judge)
    engines = {name: GuardedFinder(one, judge) for name, one in world.engines.items()}
    return World(world.snapshot, finder, GuardedShelf(world.shelf, finder, judge), world.figures(), engines)


class Judge:
    """What is blocked, by capture and by page."""

    def __init__(self, shelf: Shelf, policy: Policy) -> None:
        self.list = Blocklist(policy.blocked)
        self.until = None if policy.as_of is None else int(policy.as_of.timestamp())
        self._shelf = shelf
        self._captures: dict[tuple[str, int, str, int], bool] = {}
        self._docs: dict[int, bool] = {}

    def lets(self, captures: Iterable[Capture]) -> list[Capture]:
        """Those that are not blocked."""
        return [capture for capture in captures if not self.is_blocked(capture)]

    def is_blocked(self, capture: Capture) -> bool:
        key = (capture.url, capture.time, *capture.record[:2])
        if (verdict := self._captures.get(key)) is None:
            verdict = self._captures[key] = self._is_late(capture.time) or self._is_capture(capture)
            _bound(self._captures)
        return verdict

    def _is_late(self, time: int) -> bool:
        return self.until is not None and time > self.until

    def _is_capture(self, capture: Capture) -> bool:
        if self.list.is_url(capture.url):
            return True
        if not self.list.reads:
            return False
        return (capture.doc >= 0 and self._is_read(capture.doc)) or self._is_source(capture)

    def _is_read(self, doc: int) -> bool:
        title, text = self._shelf.text(doc)
        return self.list.is_text(f"{title}\n{text}")

    def _is_source(self, capture: Capture) -> bool:
        try:
            html = self._shelf.html(capture)
        except PayloadError:  # what cannot be read tells nothing
            return False
        return html is not None and self.list.is_document(html)

    def is_page(self, doc: int, url: Callable[[], str], since: int) -> bool:
        """Whether a page that can be found is blocked."""
        if (verdict := self._docs.get(doc)) is None:
            late = self._is_late(since)
            verdict = late or self.list.is_url(url()) or (self.list.reads and self._is_read(doc))
            self._docs[doc] = verdict
            _bound(self._docs)
        return verdict


def _bound(kept: dict[Any, bool]) -> None:
    if len(kept) > KEPT:
        kept.clear()


class GuardedFinder:
    """Ranks only what is not blocked. The world reads on until it has enough."""

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
        ranked, complete = self._finder.top(plan, limit)
        since = self._finder.columns.since
        return [entry for entry in ranked if not self._is_blocked(entry[1], plan, since)], complete

    def copies(self, doc: int) -> Sequence[int]:
        copies = self._finder.copies(doc)
        if not copies:
            return ()
        plan, since = self._finder.plan(Parsed()), self._finder.columns.since
        return [one for one in copies if not self._is_blocked(one, plan, since)]

    def _is_blocked(self, doc: int, plan: Any, since: Sequence[int]) -> bool:
        return self._judge.is_page(doc, lambda: self._finder.hit(doc, 0.0, plan).url, since[doc])

    def frequency(self, words: str) -> int:
        """0 too for words that only blocked pages have."""
        count = self._finder.frequency(words)
        return count if count and self.holds(Parsed(words=words, phrases=(words,))) else 0

    def holds(self, parsed: Parsed) -> bool:
        """Whether a page that is not blocked fits a query."""
        plan, limit = self.plan(parsed), 16
        while limit <= DEEP:
            found, complete = self.top(plan, limit)
            if found or complete:
                return bool(found)
            limit *= 4
        return False


class GuardedShelf:
    """Holds only what is not blocked."""

    def __init__(self, shelf: Shelf, finder: GuardedFinder, judge: Judge) -> None:
        self._shelf = shelf
        self._finder = finder
        self._judge = judge
        # What is asked of a capture, a page or a text in hand, which nobody has of what is blocked.
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
        for key, captures in self._shelf.listing(first, last):
            if let := self._judge.lets(captures):
                yield key, let

    def knows_host(self, host: str) -> bool:
        """A host of which all is blocked has no name."""
        if self._judge.list.is_host(host) or not self._shelf.knows_host(host):
            return False
        key = urls.surt(f"http://{host}/")
        listed = self.listing(key, key[:-2] + "*")
        return any(urls.host(capture.url) == host for capture in chain.from_iterable(of for _, of in listed))

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Titles that a page has which is not blocked."""
        titles = self._shelf.suggest(prefix, 4 * limit)
        kept = (title for title in titles if self._finder.holds(Parsed(titles=(title.replace("*", " "),))))
        return [title for title, _ in zip(kept, range(limit), strict=False)]

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Whole records of which none is blocked. One byte tells whether a file goes on, and not how."""
        if length == 1:
            return [bytes(len(piece)) for piece in self._shelf.bytes_of(archive, offset, 1)]
        try:
            for record in records(self._shelf.bytes_of(archive, offset, length)):
                self._pass(record)
        except (Unreadable, NotCaptured):
            raise _closed(archive) from None
        return self._shelf.bytes_of(archive, offset, length)

    def _pass(self, record: dict[str, str]) -> None:
        """Raises NotCaptured on a record of what is blocked, and of what nobody can tell."""
        if not (url := record.get("warc-target-uri", "").strip("<>")):
            return
        captures = self._shelf.exact(url) or self._shelf.exact(urls.exact(url))
        known = captures and len(self._judge.lets(captures)) == len(captures)
        if self._judge.list.is_url(urls.exact(url)) or not known:
            raise NotCaptured(url)


def _closed(archive: Archive) -> NotCaptured:
    return NotCaptured(
        f"this part of {archive.name} is not there", action="ask for whole records, as the index has them"
    )
