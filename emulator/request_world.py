"""One request of a session to its world: what it uses is taken off the budget and written down, its weather strikes.

A world for those who answer; they need not know of sessions. Within one request the same search or page counts once.
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
"""Results of one search that are written down."""
CAPTCHA = "captcha"
Spend = Callable[[Kind], None]
"""Uses one of the budget. Raises Refused."""


class Searched(NamedTuple):
    """A search and the results it showed."""

    query: str
    first: int
    """Rank of the first of them."""
    shown: tuple[str, ...]


@dataclass(slots=True)
class Seen:
    """What happened in a request."""

    searches: list[Searched] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    weather: set[str] = field(default_factory=set)


class Visit(World):
    """A world as one request sees it."""

    def __init__(self, world: Shared, policy: Policy, session: Draws, asked: Draws, spend: Spend) -> None:
        """`session` draws what stays the same in the whole session, `asked` what is of this request."""
        super().__init__(world.snapshot, world.finder, world.shelf, {}, world.engines)
        self._world = world
        self._policy = policy
        self._session, self._asked = session, asked
        self._spend = spend
        self._counted: set[tuple[str, str]] = set()
        self.seen = Seen()
        self.waits = True
        """False in the event loop: what takes long raises BlockingIOError, and may be asked again in a thread."""

    @property
    def base(self) -> World:
        return self._world.base

    def figures(self) -> dict[str, object]:
        return self._world.figures()

    def search(self, query: Query) -> Results:
        if (until := self._policy.as_of) and (query.as_of is None or query.as_of > until):
            query = replace(query, as_of=until)
        is_worse = is_noisy(self._policy.weather)
        if not self.waits and not self._world.finds_at_once(query, not is_worse):
            raise self._world.pending(query)
        if heard := self._world.base.heard:
            heard(query.text)
        is_new = self._count("searches", " ".join(parse(query.text).words.split()).casefold() or query.text)
        results = self._noisy(query) if is_worse else self._world.search(query)
        if is_new:
            shown = tuple(hit.url for hit in results.hits[:MOST_SHOWN])
            self.seen.searches.append(Searched(query.text, (query.page - 1) * query.size + 1, shown))
        return results

    def _noisy(self, query: Query) -> Results:
        """The ranking from its top is made worse, and a page taken out of that."""
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
        text = another(query.text, [hit.title for hit in hits], asked)
        yield from self._world.search(replace(query, text=text, page=1, size=50)).hits

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        if not self.waits and not self._world.shows_at_once(capture, view):
            raise BlockingIOError
        return self._world.view(capture, view)

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        return super().payload(request, wait and self.waits)

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
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
        weather, host = self._policy.weather, urls.host(capture.url)
        if self._session.hits(weather.dead_links, "dead", capture.url):
            self.seen.weather.add("dead-link")
            raise NotCaptured(f"{capture.url} was not captured", action=f"search with site:{host} for pages that were")
        if self._session.hits(weather.captchas, "captcha", host):
            self.seen.weather.add(CAPTCHA)
            raise Refused(f"{host} wants to know whether you are a robot", reason=CAPTCHA, status=403)

    def _count(self, kind: Kind, what: str) -> bool:
        """Whether that is the first time in this request. Raises Refused where no budget is left for it."""
        if (kind, what) in self._counted:
            return False
        self._spend(kind)
        self._counted.add((kind, what))
        return True
