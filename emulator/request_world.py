"""The world of one session request: it charges the budget, collects what happened, and injects the session's faults.

It is a `World`, so the code that answers need not know about sessions. Within one request, the same search or page is
charged once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from webemu.emulator import urls
from webemu.emulator.cached_world import Shared
from webemu.emulator.errors import NotCaptured, Refused
from webemu.emulator.keyed_random import Draws
from webemu.emulator.ledger import Kind
from webemu.emulator.noise import another, is_noisy, noisy
from webemu.emulator.policy import Policy
from webemu.emulator.query import parse
from webemu.emulator.types import Archive, Capture, Hit, PageRequest, Payload, Query, Results, View
from webemu.emulator.world import DEEPEST, World

MOST_SHOWN = 100
"""Maximum number of results of one search that are recorded."""
CAPTCHA = "captcha"
"""Reason of the error that imitates a CAPTCHA page."""
Spend = Callable[[Kind], None]
"""Uses one unit of a budget. Raises ServiceRefusal if none is left."""


class Searched(NamedTuple):
    """A search and the results that it showed."""

    query: str
    first: int
    """Rank of the first result."""
    shown: tuple[str, ...]
    """URLs of the results, in order."""


@dataclass(slots=True)
class Seen:
    """The events of one request: searches, opened URLs and injected faults."""

    searches: list[Searched] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    weather: set[str] = field(default_factory=set)


class Visit(World):
    """A world as one request of a session sees it."""

    def __init__(self, world: Shared, policy: Policy, session: Draws, asked: Draws, spend: Spend) -> None:
        """Wrap a cached world. `session` gives random values that hold for the whole session, `asked` those of this
        request.
        """
        super().__init__(world.snapshot, world.finder, world.shelf, {}, world.engines)
        self._world = world
        self._policy = policy
        self._session, self._asked = session, asked
        self._spend = spend
        self._counted: set[tuple[str, str]] = set()
        self.seen = Seen()
        self.waits = True
        """True if slow work may be done. Set to False on the event loop: slow work then raises BlockingIOError, and
        the request can be repeated in a thread.
        """

    @property
    def base(self) -> World:
        return self._world.base

    def figures(self) -> dict[str, object]:
        """Return counts of the snapshot: documents, captures, hosts and so on."""
        return self._world.figures()

    def search(self, query: Query) -> Results:
        # A client may look further back than its policy, but not past its cutoff.
        """Return one page of results, perturbed as the weather says; charge and record the search.

        Raises: ServiceRefusal if the budget is used up; BlockingIOError if it is slow and `may_block` is false;
        BadRequest if the engine is unknown.
        """
        if (until := self._policy.as_of) and (query.as_of is None or query.as_of > until):
            query = replace(query, as_of=until)
        is_worse = is_noisy(self._policy.weather)
        if not self.waits and not self._world.finds_at_once(query, not is_worse):
            raise self._world.pending(query)
        if heard := self._world.base.heard:
            heard(query.text)
        # The parsed words are the budget key, so that spellings of one query are charged once in a request.
        is_new = self._count("searches", " ".join(parse(query.text).words.split()).casefold() or query.text)
        results = self._noisy(query) if is_worse else self._world.search(query)
        if is_new:
            shown = tuple(hit.url for hit in results.hits[:MOST_SHOWN])
            self.seen.searches.append(Searched(query.text, (query.page - 1) * query.size + 1, shown))
        return results

    def _noisy(self, query: Query) -> Results:
        """Return a page of results out of the perturbed ranking, which is perturbed from its top so that pages stay
        consistent.
        """
        first, last = (query.page - 1) * query.size, min(query.page * query.size, DEEPEST)
        if first >= last:
            return self._world.search(query)
        results = self._world.search(replace(query, page=1, size=last))
        asked = self._asked.of(query.text)
        hits, done = noisy(
            results.hits, self._policy.weather, self._session, asked, lambda: self._wrong(query, results.hits, asked)
        )
        self.seen.weather |= done
        told = dict(zip((hit.doc for hit in results.hits), results.explained, strict=False))
        shown = tuple(hits[first:last])
        explained = tuple(told.get(hit.doc, {}) for hit in shown) if query.explain else ()
        return Results(query, shown, results.more, results.snapshot, explained)

    def _wrong(self, query: Query, hits: tuple[Hit, ...], asked: Draws) -> Iterator[Hit]:
        """Yield the results of a slightly different query, which replace right ones."""
        text = another(query.text, [hit.title for hit in hits], asked)
        yield from self._world.search(replace(query, text=text, page=1, size=50)).hits

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        """Return (title, content) of a capture. Raises BlockingIOError if it has to be rendered and `may_block` is
        false.
        """
        if not self.waits and not self._world.shows_at_once(capture, view):
            raise BlockingIOError
        return self._world.view(capture, view)

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        return super().payload(request, wait and self.waits)

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return a range of a WARC file; more than a byte is charged as a fetch. Raises ServiceRefusal or
        PayloadError.
        """
        if length > 1:
            self._count("fetches", f"{archive.name} {offset}")
        return super().bytes_of(archive, offset, length)

    def _visit(self, request: PageRequest) -> tuple[Capture, tuple[str, ...]]:
        if (until := self._policy.as_of) and (request.at is None or request.at > until):
            request = replace(request, at=until)
        try:
            capture, redirects = super()._visit(request)
        except NotCaptured:
            self._count("fetches", urls.guess(request.url))
            raise
        if self._count("fetches", capture.url):
            self.seen.opened.append(capture.url)
        self._strike(capture)
        return capture, redirects

    def _strike(self, capture: Capture) -> None:
        """Raise the error of a page fault, if one is drawn for this page or host: a dead link or a CAPTCHA."""
        weather, host = self._policy.weather, urls.host(capture.url)
        if self._session.hits(weather.dead_links, "dead", capture.url):
            self.seen.weather.add("dead-link")
            raise NotCaptured(f"{capture.url} was not captured", action=f"search with site:{host} for pages that were")
        if self._session.hits(weather.captchas, "captcha", host):
            self.seen.weather.add(CAPTCHA)
            raise Refused(f"{host} wants to know whether you are a robot", reason=CAPTCHA, status=403)

    def _count(self, kind: Kind, what: str) -> bool:
        """Charge a budget; return False if this request was already charged for the same thing.

        Raises ServiceRefusal if the budget is used up.
        """
        if (kind, what) in self._counted:
            return False
        self._spend(kind)
        self._counted.add((kind, what))
        return True
