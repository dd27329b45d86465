"""The world of one session request: it has its weather, charges the budget, and collects what happened.

It is a `World`, so the code that answers need not know about sessions. Within one request, the same search or page is
charged once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from webemu.emulator import inline_work, urls
from webemu.emulator.cached_world import CachedWorld
from webemu.emulator.errors import NotCaptured, ServiceRefusal
from webemu.emulator.exchange_keys import ExchangeKeys
from webemu.emulator.exchanges import RecordedExchange, find_exchange
from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.ledger import BudgetKind
from webemu.emulator.noise import has_ranking_noise, perturb_results, vary_query
from webemu.emulator.policy import Policy
from webemu.emulator.query import parse_query
from webemu.emulator.request_budget import RequestBudget
from webemu.emulator.resolver import Resolution
from webemu.emulator.types import Archive, Capture, Hit, PageRequest, Payload, Query, Results, View
from webemu.emulator.weather import draw_weather, fault_error
from webemu.emulator.world import MAX_RANK, World

MAX_LOGGED_RESULTS = 100
"""Maximum number of results of one search that are recorded."""
CAPTCHA = "captcha"
"""Reason of the error that imitates a CAPTCHA page."""


class SearchEvent(NamedTuple):
    """A search and the results that it showed."""

    query: str
    first_rank: int
    """Rank of the first result."""
    result_urls: tuple[str, ...]
    """URLs of the results, in order."""


@dataclass(slots=True)
class RequestEvents:
    """The events of one request: searches, opened URLs, URLs that are not captured, and injected faults."""

    searches: list[SearchEvent] = field(default_factory=list)
    opened_urls: list[str] = field(default_factory=list)
    missed_urls: list[str] = field(default_factory=list)
    faults: set[str] = field(default_factory=set)


class RequestWorld(World):
    """A world as one request of a session sees it."""

    def __init__(
        self,
        world: CachedWorld,
        policy: Policy,
        session_random: KeyedRandom,
        request_random: KeyedRandom,
        budget: RequestBudget,
        count_repeat: Callable[[str], int],
    ) -> None:
        """Wrap a cached world. `session_random` gives values that hold for the whole session, `request_random` those of
        this request. `count_repeat` counts a key of exchanges in the session, and returns how often it was counted
        before.
        """
        super().__init__(world.snapshot, world.ranker, world.page_store, {}, world.engines)
        self._cached_world = world
        self._policy = policy
        self._session_random, self._request_random = session_random, request_random
        self.budget = budget
        self._count_repeat = lru_cache(count_repeat)  # once in a request, however often its answer is tried
        self.weather = draw_weather(policy.weather, request_random)
        """Fault and delay of the request."""
        self._charged: set[tuple[str, str]] = set()
        self.events = RequestEvents()
        self.may_block = True
        """True if slow work may be done. Set to False on the event loop: slow work then raises BlockingIOError, and
        the request can be repeated in a thread.
        """

    def admit(self, may_block: bool) -> None:
        """Let the request in, or raise the ServiceRefusal that it is answered with: an injected error, or a spent
        budget of bytes.
        """
        self.may_block = may_block
        if self.weather.fault and (error := fault_error(self.weather.fault, self._request_random)):
            raise error
        self.budget.check_bytes()

    @property
    def shared_base(self) -> World:
        return self._cached_world.shared_base

    def figures(self) -> dict[str, object]:
        """Return counts of the snapshot: documents, captures, hosts and so on."""
        return self._cached_world.figures()

    def search(self, query: Query) -> Results:
        """Return one page of results, perturbed as the weather says; charge and record the search.

        Raises:
            ServiceRefusal: the budget is used up.
            BlockingIOError: the search is slow and `may_block` is False, or it takes too long for an event loop.
            BadRequest: the engine is unknown.
        """
        inline_work.require_short((query,))
        # A client may look further back than its policy, but not past its cutoff.
        if (until := self._policy.as_of) and (query.as_of is None or query.as_of > until):
            query = replace(query, as_of=until)
        if self._policy.strict and not query.is_strict:
            query = replace(query, is_strict=True)
        if self._policy.snippet and query.snippet != self._policy.snippet:
            query = replace(query, snippet=self._policy.snippet)
        has_noise = has_ranking_noise(self._policy.weather)
        if not self.may_block and not self._cached_world.can_search_inline(query, not has_noise):
            raise self._cached_world.not_ready_error(query)
        if on_query := self._cached_world.shared_base.hooks.on_query:
            on_query(query.text)
        # The parsed words are the budget key, so that spellings of one query are charged once in a request.
        is_new = self._charge("searches", " ".join(parse_query(query.text).words.split()).casefold() or query.text)
        results = self._search_with_noise(query) if has_noise else self._cached_world.search_anyhow(query)
        if is_new:
            result_urls = tuple(hit.url for hit in results.hits[:MAX_LOGGED_RESULTS])
            self.events.searches.append(SearchEvent(query.text, (query.page - 1) * query.size + 1, result_urls))
        return results

    def _search_with_noise(self, query: Query) -> Results:
        """Return a page of results out of the perturbed ranking, which is perturbed from its top so that pages stay
        consistent.
        """
        start, end = (query.page - 1) * query.size, min(query.page * query.size, MAX_RANK)
        if start >= end:
            return self._cached_world.search_anyhow(query)
        results = self._cached_world.search_anyhow(replace(query, page=1, size=end))
        query_random = self._request_random.derive(query.text)
        hits, faults = perturb_results(
            results.hits,
            self._policy.weather,
            self._session_random,
            query_random,
            lambda: self._alternative_hits(query, results.hits, query_random),
        )
        self.events.faults |= faults
        explanations_by_doc = dict(zip((hit.doc for hit in results.hits), results.explanations, strict=False))
        visible = tuple(hits[start:end])
        explained = tuple(explanations_by_doc.get(hit.doc, {}) for hit in visible) if query.explain else ()
        return replace(results, query=query, hits=visible, explanations=explained)

    def _alternative_hits(self, query: Query, hits: tuple[Hit, ...], query_random: KeyedRandom) -> Iterator[Hit]:
        """Yield the results of a slightly different query, which replace right ones."""
        text = vary_query(query.text, [hit.title for hit in hits], query_random)
        yield from self._cached_world.search_anyhow(replace(query, text=text, page=1, size=50)).hits

    def find_exchange(self, keys: ExchangeKeys, kind: BudgetKind, wait: bool = True) -> RecordedExchange | None:
        """Return the recorded exchange that answers a request, in the order of the recording; the last one then stays.

        Raises: ServiceRefusal if the budget is used up; PayloadError; BlockingIOError if `wait` or `may_block` is false
        and a disk would have to be read.
        """

        def choose(key: str, count: int) -> int:
            self._charge(kind, keys.exact)
            return min(self._count_repeat(key), count - 1)

        exchange = find_exchange(self.page_store, keys, choose, wait and self.may_block)
        if exchange and kind == "fetches":
            self.events.opened_urls.append(exchange.capture.url)
        return exchange

    def view(self, capture: Capture, view: View, wait: bool = True) -> tuple[str, str]:
        """Return (title, content) of a capture. Raises BlockingIOError if it has to be rendered, and `wait` or
        `may_block` is false.
        """
        return self._cached_world.view(capture, view, wait and self.may_block)

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        return super().payload(request, wait and self.may_block)

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return a range of a WARC file; more than a byte is charged as a fetch. Raises ServiceRefusal or
        PayloadError.
        """
        if length > 1:
            self._charge("fetches", f"{archive.name} {offset}")
        return super().bytes_of(archive, offset, length)

    def _resolve(self, request: PageRequest) -> Resolution:
        if (until := self._policy.as_of) and (request.at_time is None or request.at_time > until):
            request = replace(request, at_time=until)
        try:
            resolution = super()._resolve(request)
        except NotCaptured:
            url = urls.parse_user_url(request.url)
            if self._charge("fetches", url):
                self.events.missed_urls.append(url)
            if on_vain := self._cached_world.shared_base.hooks.on_vain:
                on_vain("url", request.url)
            raise
        capture = resolution.capture
        if self._charge("fetches", capture.url):
            self.events.opened_urls.append(capture.url)
        self._inject_page_faults(capture)
        return resolution

    def _inject_page_faults(self, capture: Capture) -> None:
        """Raise the error of a page fault, if one is drawn for this page or host: a dead link or a CAPTCHA."""
        weather, host = self._policy.weather, urls.host_of(capture.url)
        if self._session_random.bernoulli(weather.dead_links, "dead", capture.url):
            self.events.faults.add("dead-link")
            raise NotCaptured(f"{capture.url} was not captured", action=f"search with site:{host} for pages that were")
        if self._session_random.bernoulli(weather.captchas, "captcha", host):
            self.events.faults.add(CAPTCHA)
            raise ServiceRefusal(f"{host} wants to know whether you are a robot", reason=CAPTCHA, status=403)

    def _charge(self, kind: BudgetKind, key: str) -> bool:
        """Charge a budget; return False if this request was already charged for the same thing.

        Raises ServiceRefusal if the budget is used up.
        """
        if (kind, key) in self._charged:
            return False
        self.budget.charge(kind)
        self._charged.add((kind, key))
        return True
