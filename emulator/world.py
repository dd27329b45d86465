"""The emulated web as one object: it answers searches and page requests from one snapshot.

`World` is the facade: `webemu.emulator.resolver` decides which capture answers a URL, `webemu.emulator.ranking` which
results of a ranking are shown. Storage and ranking are behind the two ports of `webemu.emulator.ports`, and no wire
format is known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Self

from webemu.emulator import cancellation, corrected_search, inline_work, ranking, urls
from webemu.emulator.article import Article
from webemu.emulator.errors import BadRequest, NotCaptured, ViewUnavailable
from webemu.emulator.exchange_keys import ExchangeKeys
from webemu.emulator.exchanges import RecordedExchange, find_exchange
from webemu.emulator.highlight import Span, match_spans
from webemu.emulator.ledger import BudgetKind
from webemu.emulator.matches import build_matches
from webemu.emulator.media_types import is_html, is_textual
from webemu.emulator.passage import HitPassages, extract_passage, with_passage
from webemu.emulator.ports import PageStore, Ranker
from webemu.emulator.query import ParsedQuery, parse_query
from webemu.emulator.related import related_queries
from webemu.emulator.relevance import score_texts
from webemu.emulator.resolver import Resolution, Resolver, nearest_in_time
from webemu.emulator.snippet_style import LONG_CHARACTERS
from webemu.emulator.spelling import Speller
from webemu.emulator.types import Archive, Capture, Hit, Match, Page, PageRequest, Payload, Query, Results, View
from webemu.emulator.world_hooks import NO_HOOKS, WorldHooks

MAX_RANK = 1000
"""Rank of the last result that is served."""
MIN_NEWS_DEPTH = 200
"""Minimum number of results that a search for published pages examines."""
MAX_DUPLICATES_LISTED = 10
"""Maximum number of duplicate URLs listed for one hit."""
MIN_SHARED_QUERIES = 128
"""Smallest batch of queries that is shared with sibling processes."""


class World:
    """One snapshot of the web. Read-only and thread-safe.

    world = World(snapshot, ranker, page_store, figures)
    world.search(Query("lighthouse keeper")).hits
    world.fetch(PageRequest("https://example.org/")).content
    """

    def __init__(
        self,
        snapshot: str,
        ranker: Ranker,
        page_store: PageStore,
        figures: dict[str, object],
        engines: Mapping[str, Ranker] | None = None,
        hooks: WorldHooks = NO_HOOKS,
    ) -> None:
        """Combine a ranker and a page store.

        - figures: counts of the snapshot
        - engines: further rankers by name
        - hooks: functions of the server that are called
        """
        self.snapshot = snapshot
        self.engines = engines or {}
        self._ranker = ranker
        self._page_store = page_store
        self._resolver = Resolver(page_store)
        self._figures = figures
        self._speller = Speller(lru_cache(maxsize=1 << 16)(ranker.knows), ranker.frequency, page_store.nearest)
        self.hooks = hooks

    def with_hooks(self, hooks: WorldHooks) -> Self:
        """Return the same world with other hooks."""
        world = copy(self)
        world.hooks = hooks
        return world

    @property
    def shared_base(self) -> World:
        """The session-independent world that this one is made of; its results may be cached for all sessions."""
        return self

    @property
    def ranker(self) -> Ranker:
        """The default ranker."""
        return self._ranker

    @property
    def page_store(self) -> PageStore:
        """The page store."""
        return self._page_store

    @property
    def is_remote(self) -> bool:
        """True if the backend is remote or slow: do not call it from the event loop."""
        return self._ranker.is_slow

    def figures(self) -> dict[str, object]:
        """Return counts of the snapshot: documents, captures, hosts and so on."""
        return dict(self._figures)

    def search(self, query: Query) -> Results:
        """Return one page of results. Never raises on query syntax. Raises BadRequest if the engine is unknown."""
        if on_query := self.hooks.on_query:
            on_query(query.text)
        results = self._run_search(query)
        self._report_if_vain(results)
        return results

    def _report_if_vain(self, results: Results) -> None:
        """Report a search whose first page is empty."""
        if not results.hits and results.query.page == 1 and (on_vain := self.hooks.on_vain):
            on_vain("search", results.query.text)

    def parse(self, query: Query) -> ParsedQuery:
        """Return the parsed query, with similar words for those that no page has; as typed if the query is strict."""
        parsed = parse_query(query.text, query.is_strict)
        if query.snippet == "long" or query.as_of is not None:
            characters = LONG_CHARACTERS if query.snippet == "long" else 0
            parsed = replace(parsed, snippet_characters=characters, is_dated=query.as_of is not None)
        return corrected_search.correct_unknown_words(parsed, query, self._speller)

    def _run_search(self, query: Query) -> Results:
        """Return one page of results without reporting the search."""
        # Results are cut out of the ranking from its top, so that pages of results never overlap.
        first = (query.page - 1) * query.size
        last = min(first + query.size, MAX_RANK)
        if first >= last:
            return Results(query, (), False, self.snapshot)
        depth = max(last, MIN_NEWS_DEPTH) if query.published else last
        ranker, parsed, text = self._ranker_for(query), self.parse(query), self._page_store.text
        selection, corrections = corrected_search.select(ranker, parsed, query, depth, self._speller, text)
        plan, entries, more = selection.plan, selection.entries, selection.more
        if query.published:
            entries = [entry for entry in entries if plan.render_hit(entry[1], entry[0]).is_published]
            more = len(entries) > last
        hits = tuple([plan.render_hit(doc, score) for score, doc in entries[first:last]])
        if query.snippet == "passage":
            hits = tuple([with_passage(hit, self.passage_of(hit)) for hit in hits])
        explanations = tuple([plan.explain(doc, score) for score, doc in entries[first:last]] if query.explain else ())
        relaxed = selection.relaxed_until(depth if query.published else last)
        return Results(query, hits, more and last < MAX_RANK, self.snapshot, explanations, relaxed, corrections)

    def duplicate_urls(self, results: Results) -> list[list[str]]:
        """Return, for each hit, the URLs of visible duplicates that were left out in favour of it (at most
        `MAX_DUPLICATES_LISTED`).
        """
        moment = None if results.query.as_of is None else int(results.query.as_of.timestamp())
        return [self._duplicate_urls_of(hit.doc, moment) for hit in results.hits]

    def _duplicate_urls_of(self, doc: int, moment: int | None) -> list[str]:
        """Return the URLs of a page's duplicates that are visible at a moment (seconds; None is now)."""
        if not (duplicates := self._ranker.duplicates(doc)):
            return []
        since, until = self._ranker.doc_values.since, self._ranker.doc_values.until
        plan = self._ranker.plan(ParsedQuery())
        visible = (one for one in duplicates if one != doc and ranking.is_visible(since[one], until[one], moment))
        return [plan.render_hit(one, 0.0).url for one in islice(visible, MAX_DUPLICATES_LISTED)]

    def is_slow(self, query: Query) -> bool:
        """True if this query's search must not run on the event loop. Raises BadRequest if the engine is unknown."""
        return self._ranker_for(query).is_slow

    def start_async(self, query: Query) -> Future[Any] | None:
        """Start the async work of a search; return None if it has none. Raises BadRequest if the engine is unknown."""
        return self._ranker_for(query).start_async(self.parse(query))

    def prefetch(self, queries: Iterable[Query]) -> None:
        """Start the async work of many searches, so that it is done in one batch. Unknown engines are skipped."""
        for query in queries:
            ranker = self.engines.get(query.engine) if query.engine else self._ranker
            if ranker is not None and ranker.is_slow:
                ranker.start_async(self.parse(query))

    def _ranker_for(self, query: Query) -> Ranker:
        """Return the ranker of a query. Raises BadRequest if the engine is unknown."""
        return self._ranker_named(query.engine) if query.engine else self._ranker

    def with_engine(self, engine: str) -> World:
        """Return the same world with another default ranker. Raises BadRequest if the engine is unknown."""
        return World(self.snapshot, self._ranker_named(engine), self._page_store, self.figures(), self.engines)

    def _ranker_named(self, name: str) -> Ranker:
        """Return a ranker by name. Raises BadRequest if there is none."""
        if name not in self.engines:
            raise BadRequest(
                f"this snapshot has no engine {name[:60]!r}",
                action=f"use one of {', '.join(self.engines)}"
                if self.engines
                else "omit the engine; there is only one",
            )
        return self.engines[name]

    def fetch(self, request: PageRequest, wait: bool = True) -> Page:
        """Return a page in a readable view.

        Raises: NotCaptured if no capture answers the URL; ViewUnavailable if the capture has no such view;
        PayloadError if its bytes are gone or unsafe; BlockingIOError if `wait` is false and it has to be rendered.
        """
        resolution = self._resolve(request)
        title, content = self.view(resolution.capture, request.view, wait)
        return Page(request, resolution.capture, resolution.redirects, title, content, self.snapshot)

    def view(self, capture: Capture, view: View, wait: bool = True) -> tuple[str, str]:
        """Return (title, content) of a capture in a readable view.

        Raises: ViewUnavailable; PayloadError; BlockingIOError if `wait` is false and it has to be rendered.
        """
        is_rendered = view not in ("text", "html") and is_html(capture.mime)
        if is_rendered and (titled_content := self._page_store.find_view(capture, view)) is not None:
            return titled_content
        title, text = self._page_store.text(capture.doc) if capture.doc >= 0 else ("", "")
        if not is_rendered and view != "html":
            if capture.doc < 0 and not is_textual(capture.mime):
                raise ViewUnavailable(
                    f"{capture.url} is {capture.mime or 'of unknown type'} and has no text view",
                    action="ask for format=raw",
                )
            return title, text
        if not wait:
            raise BlockingIOError
        html = self._page_store.html(capture)
        if html is None:
            raise ViewUnavailable(f"{capture.url} is {capture.mime} and not text", action="ask for format=raw")
        return title, self._page_store.render_view(html, capture, view, title, text) if is_rendered else html

    def locate(self, request: PageRequest) -> Capture:
        """Return the capture that answers a request. Raises NotCaptured."""
        return self._resolve(request).capture

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        """Return the capture that answers a request, and its recorded response.

        Raises: NotCaptured; PayloadError; BlockingIOError if `wait` is false and a disk would have to be read.
        """
        capture = self._resolve(request).capture
        return capture, self._page_store.payload(capture, wait)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles of pages that complete a prefix, best first."""
        return self._page_store.suggest(prefix, limit)

    def correct(self, text: str) -> str | None:
        """Return the query with misspelled words corrected; None if there is nothing to correct."""
        return self._speller.correct(text)

    def related_queries(self, text: str, hits: Sequence[Hit], limit: int) -> list[str]:
        """Return related queries, made from the titles of a query's hits."""
        pages = max(1, int(str(self.figures().get("documents", 0))))
        titles = [hit.title for hit in hits]
        return related_queries(
            text, titles, limit, self._ranker.terms, lambda word: self._ranker.frequency(word) / pages
        )

    def occurrences(self, text: str, words: str) -> list[Span]:
        """Return (start, end) of each query word in a text, compared as the search compares words."""
        return match_spans(text, words, partial(self._ranker.terms, like=text))

    def has_url(self, url: str) -> bool:
        """True if there is a capture of exactly this URL."""
        return bool(self._page_store.exact(urls.parse_user_url(url)))

    @property
    def has_exchanges(self) -> bool:
        """True if there are recorded exchanges."""
        return self._page_store.has_exchanges

    def find_exchange(self, keys: ExchangeKeys, kind: BudgetKind, wait: bool = True) -> RecordedExchange | None:
        """Return the recorded exchange that answers a request: the latest, outside a session.

        `kind` is the budget of a session that it is charged to. Raises as `webemu.emulator.exchanges.find_exchange`.
        """
        return find_exchange(self._page_store, keys, lambda _key, count: count - 1, wait)

    def captures(self, url: str) -> list[Capture]:
        """Return all captures of a URL, oldest first: its own, else those of the strictest key that has any."""
        return self._resolver.captures(url)

    def host_listing(self, host: str) -> Iterator[Capture]:
        """Yield every capture of one host, by SURT key and time."""
        return self._resolver.host_listing(host)

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield (SURT key, its captures, oldest first) for keys from `first` to before `last`, in byte order."""
        return self._page_store.listing(first, last)

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the crawl."""
        return self._page_store.archives()

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return the bytes of a range of a WARC file, in pieces. Raises PayloadError."""
        return self._page_store.bytes_of(archive, offset, length)

    def text_of(self, page: Capture | Hit) -> tuple[str, str]:
        """Return (title, text) of a capture or a hit; both empty if it has no text."""
        return self._page_store.text(page.doc) if page.doc >= 0 else ("", "")

    def batch_search_passages(self, queries: Sequence[Query]) -> list[HitPassages]:
        """Return hits with their passages for each query; sibling processes may share in a large batch.

        Raises: BlockingIOError on an event loop if there are too many.
        """
        inline_work.require_short(queries)
        run_batch = self.hooks.run_batch
        if run_batch is not None and len(queries) >= MIN_SHARED_QUERIES:
            return run_batch(self, queries)
        self.prefetch(queries)
        return [self.search_passages(query) for query in cancellation.until_cancelled(queries)]

    def search_passages(self, query: Query) -> HitPassages:
        """Return the hits of one query with their passages."""
        return [(hit, self.passage_of(hit)) for hit in self.search(query).hits]

    def passage_of(self, hit: Hit) -> str:
        """Return about a hundred words of a hit's page around its snippet; a shorter page is returned whole."""
        return extract_passage(self._page_store.text(hit.doc)[1], hit.snippet)

    def score_texts(self, text: str, texts: Sequence[str]) -> list[float]:
        """Return a relevance score for each of the given texts, which need not be pages of the snapshot."""
        terms, documents = partial(self._ranker.terms, like=text), int(str(self.figures().get("documents", 0)))
        frequencies = {term: self._ranker.frequency(word) for word in text.split() for term in terms(word)}
        return score_texts(frequencies, [terms(one) for one in texts], documents)

    def html_of(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it is not text. Raises PayloadError."""
        return self._page_store.html(capture)

    def markdown_of(
        self, html: str, url: str, text: str = "", *, pictures: bool = False, full_document: bool = False
    ) -> str:
        """Return the content of a document as markdown.

        It has the content of its text view, or all of the document if `full_document`; `pictures` keeps images.
        """
        return self._page_store.markdown(html, url, text, pictures=pictures, full_document=full_document)

    def select_elements(self, html: str, include: Sequence[str], exclude: Sequence[str]) -> str | None:
        """Return the document reduced by CSS selectors: elements to keep, elements to drop. None if nothing is left."""
        return self._page_store.select_elements(html, include, exclude)

    def link_targets(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (words, absolute URL) of each link of a document."""
        return self._page_store.link_targets(html, url)

    def images(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (alternative text, absolute URL) of each image of a document."""
        return self._page_store.images(html, url)

    def article(self, page: Page) -> Article | None:
        """Return a page (in its `html` view) as a MediaWiki article; None if it is not one."""
        return self._page_store.wiki(page.content, page.capture.url)

    def rewrite_links(self, html: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return the document with its URLs rewritten: `link` maps an absolute URL and its kind (`im_`, `cs_`, …) to a
        new URL.
        """
        return self._page_store.rewrite_links(html, url, link)

    def rewrite_css_links(self, css: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return a style sheet with its URLs rewritten likewise."""
        return self._page_store.rewrite_css_links(css, url, link)

    def decode_body(self, payload: Payload) -> bytes:
        """Return the body without its content coding. Raises PayloadError."""
        return self._page_store.decode_body(payload)

    def knows_host(self, host: str) -> bool:
        """True if anything of the host was captured."""
        return self._page_store.knows_host(host)

    def error_page_of(self, host: str, at_time: datetime | None = None) -> tuple[Capture, Payload] | None:
        """Return the host's captured 404 page nearest to a moment; None if no 404 of the host was captured."""
        captures = [capture for capture in self._page_store.error_page_of(host) if capture.status == 404]
        if not captures:
            return None
        capture = nearest_in_time(captures, None if at_time is None else at_time.timestamp())
        return capture, self._page_store.payload(capture)

    def find(self, request: PageRequest, pattern: str, limit: int) -> tuple[Page, int, tuple[Match, ...]]:
        """Return the page, the number of occurrences of a plain text in it, and the first `limit` of them.

        Case is ignored; an empty pattern never occurs. Raises what `fetch` raises.
        """
        page = self.fetch(request)
        offsets = (
            [match.start() for match in re.finditer(re.escape(pattern), page.content, re.IGNORECASE)] if pattern else []
        )
        return page, len(offsets), tuple(build_matches(page.content, offsets[:limit], len(pattern)))

    def _resolve(self, request: PageRequest) -> Resolution:
        """Return the capture that answers a request, and the URLs that redirected on the way. Raises NotCaptured."""
        try:
            return self._resolver.resolve(request)
        except NotCaptured:
            if on_vain := self.hooks.on_vain:
                on_vain("url", request.url)
            raise
