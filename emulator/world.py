"""The emulated web as one object: it answers searches and page requests from one snapshot.

`World` decides which capture answers a URL and which redirects are followed. `webemu.emulator.ranking` decides which results
of a ranking are shown. Storage and ranking are behind the two ports of `webemu.emulator.ports`, and no wire format is known
here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from webemu.emulator import ranking, urls
from webemu.emulator.article import Article
from webemu.emulator.errors import BadRequest, NotCaptured, NoView
from webemu.emulator.highlight import Span, spans
from webemu.emulator.passage import passage
from webemu.emulator.ports import Finder, Shelf
from webemu.emulator.query import Parsed, parse
from webemu.emulator.related import related
from webemu.emulator.relevance import relevance
from webemu.emulator.spelling import correct
from webemu.emulator.types import Archive, Capture, Hit, Match, Page, PageRequest, Payload, Query, Results, View

DEEPEST = 1000
"""Rank of the last result that is served."""
NEWS_DEPTH = 200
"""Minimum number of results that a search for published pages examines."""
MAX_HOPS = 20
"""Longest chain of redirects that is followed."""
LISTED = 10
"""Maximum number of duplicate URLs listed for one hit."""


Passages = list[tuple[Hit, str]]
"""Hits, each with its passage."""
MANY = 128
"""Smallest batch of queries that is shared with sibling processes."""


class World:
    """One snapshot of the web. Read-only and thread-safe.

    world = World(snapshot, ranker, page_store, figures)
    world.search(Query("lighthouse keeper")).hits
    world.fetch(PageRequest("https://example.org/")).content
    """

    share: Callable[[World, Sequence[Query]], list[Passages]] | None = None
    """Runs a large batch of queries together with sibling processes that serve the same snapshot; None to run it
    alone.
    """

    heard: Callable[[str], None] | None = None
    """Called with the text of each search; None for nothing."""

    def __init__(
        self,
        snapshot: str,
        finder: Finder,
        shelf: Shelf,
        figures: dict[str, object],
        engines: Mapping[str, Finder] | None = None,
    ) -> None:
        """Combine a ranker and a page store. `figures` are counts of the snapshot, `engines` are further rankers by
        name.
        """
        self.snapshot = snapshot
        self.engines = engines or {}
        self._finder = finder
        self._shelf = shelf
        self._figures = figures

    @property
    def base(self) -> World:
        """The session-independent world that this one is made of; its results may be cached for all sessions."""
        return self

    @property
    def finder(self) -> Finder:
        """The default ranker."""
        return self._finder

    @property
    def shelf(self) -> Shelf:
        """The page store."""
        return self._shelf

    @property
    def is_far(self) -> bool:
        """True if the backend is remote or slow: do not call it from the event loop."""
        return self._finder.is_long

    def figures(self) -> dict[str, object]:
        """Return counts of the snapshot: documents, captures, hosts and so on."""
        return dict(self._figures)

    def search(self, query: Query) -> Results:
        """Return one page of results. Never raises on query syntax. Raises BadRequest if the engine is unknown."""
        if self.heard:
            self.heard(query.text)
        return self._searched(query)

    def _searched(self, query: Query) -> Results:
        """Return one page of results without reporting the search."""
        parsed = parse(query.text)
        # Results are cut out of the ranking from its top, so that pages of results never overlap.
        first = (query.page - 1) * query.size
        last = min(first + query.size, DEEPEST)
        if first >= last:
            return Results(query, (), False, self.snapshot)
        finder = self._searching(query)
        plan = finder.plan(parsed)
        reach = max(last, NEWS_DEPTH) if query.published else last
        shown, more = ranking.shown(finder, plan, parsed, query.as_of, reach)
        if query.published:
            shown = [entry for entry in shown if finder.hit(entry[1], entry[0], plan).is_published]
            more = len(shown) > last
        hits = tuple([finder.hit(doc, score, plan) for score, doc in shown[first:last]])
        told = [finder.explain(doc, score, plan) for score, doc in shown[first:last]] if query.explain else ()
        return Results(query, hits, more and last < DEEPEST, self.snapshot, tuple(told))

    def others(self, results: Results) -> list[list[str]]:
        """Return, for each hit, the URLs of visible duplicates that were left out in favour of it (at most
        `MAX_DUPLICATES_LISTED`).
        """
        moment = None if results.query.as_of is None else int(results.query.as_of.timestamp())
        return [self._others(hit.doc, moment) for hit in results.hits]

    def _others(self, doc: int, moment: int | None) -> list[str]:
        """Return the URLs of a page's duplicates that are visible at a moment (seconds; None is now)."""
        if not (copies := self._finder.copies(doc)):
            return []
        since, until, plan = self._finder.columns.since, self._finder.columns.until, self._finder.plan(Parsed())
        shown = (one for one in copies if one != doc and ranking.is_visible(since[one], until[one], moment))
        return [self._finder.hit(one, 0.0, plan).url for one in islice(shown, LISTED)]

    def is_long(self, query: Query) -> bool:
        """True if this query's search must not run on the event loop. Raises BadRequest if the engine is unknown."""
        return self._searching(query).is_long

    def ready(self, query: Query) -> Future[Any] | None:
        """Start the async work that a search needs; return None if it needs none. Raises BadRequest if the engine is
        unknown.
        """
        return self._searching(query).ready(parse(query.text))

    def begin(self, queries: Iterable[Query]) -> None:
        """Start the async work of many searches, so that it is done in one batch. Unknown engines are skipped."""
        for query in queries:
            finder = self.engines.get(query.engine) if query.engine else self._finder
            if finder is not None and finder.is_long:
                finder.ready(parse(query.text))

    def _searching(self, query: Query) -> Finder:
        """Return the ranker of a query. Raises BadRequest if the engine is unknown."""
        return self._engine(query.engine) if query.engine else self._finder

    def through(self, engine: str) -> World:
        """Return the same world with another default ranker. Raises BadRequest if the engine is unknown."""
        return World(self.snapshot, self._engine(engine), self._shelf, self.figures(), self.engines)

    def _engine(self, name: str) -> Finder:
        """Return a ranker by name. Raises BadRequest if there is none."""
        if name not in self.engines:
            raise BadRequest(
                f"this snapshot has no engine {name[:60]!r}",
                action=f"use one of {', '.join(self.engines)}"
                if self.engines
                else "omit the engine; there is only one",
            )
        return self.engines[name]

    def fetch(self, request: PageRequest) -> Page:
        """Return a page in a readable view.

        Raises: NotCaptured if no capture answers the URL; ViewUnavailable if the capture has no such view;
        PayloadError if its bytes are gone or unsafe.
        """
        capture, redirects = self._visit(request)
        title, content = self.view(capture, request.view)
        return Page(request, capture, redirects, title, content, self.snapshot)

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        """Return (title, content) of a capture in a readable view. Raises ViewUnavailable or PayloadError."""
        title, text = self._shelf.text(capture.doc) if capture.doc >= 0 else ("", "")
        if view == "text" or (view != "html" and not _is_html(capture.mime)):
            if capture.doc < 0 and not _bears_text(capture.mime):
                raise NoView(
                    f"{capture.url} is {capture.mime or 'of unknown type'} and has no text view",
                    action="ask for format=raw",
                )
            return title, text
        html = self._shelf.html(capture)
        if html is None:
            raise NoView(f"{capture.url} is {capture.mime} and not text", action="ask for format=raw")
        if view == "html":
            return title, html
        convert = self._shelf.markdown if view == "markdown" else self._shelf.links
        return title, convert(html, capture.url, text)

    def locate(self, request: PageRequest) -> Capture:
        """Return the capture that answers a request. Raises NotCaptured."""
        return self._visit(request)[0]

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        """Return the capture that answers a request, and its recorded response.

        Raises: NotCaptured; PayloadError; BlockingIOError if `wait` is false and a disk would have to be read.
        """
        capture, _ = self._visit(request)
        return capture, self._shelf.payload(capture, wait)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles of pages that complete a prefix, best first."""
        return self._shelf.suggest(prefix, limit)

    def correct(self, text: str) -> str | None:
        """Return the query with misspelled words corrected; None if there is nothing to correct."""
        return correct(text, self._finder.frequency, self._shelf.nearest)

    def related(self, text: str, hits: Sequence[Hit], limit: int) -> list[str]:
        """Return related queries, made from the titles of a query's hits."""
        pages = max(1, int(str(self.figures().get("documents", 0))))
        titles = [hit.title for hit in hits]
        return related(text, titles, limit, self._finder.terms, lambda word: self._finder.frequency(word) / pages)

    def occurrences(self, text: str, words: str) -> list[Span]:
        """Return (start, end) of each query word in a text, compared as the search compares words."""
        return spans(text, words, partial(self._finder.terms, like=text))

    def holds(self, url: str) -> bool:
        """True if there is a capture of exactly this URL."""
        return bool(self._shelf.exact(urls.guess(url)))

    def captures(self, url: str) -> list[Capture]:
        """Return all captures of a URL, oldest first: its own, else those of the strictest key that has any."""
        url = urls.guess(url)
        for level in (self._shelf.exact, self._shelf.canonical, self._shelf.surt, self._shelf.loose):
            if captures := level(url):
                return sorted(captures, key=lambda capture: (capture.time, capture.url))
        return []

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield (SURT key, its captures, oldest first) for keys from `first` to before `last`, in byte order."""
        return self._shelf.listing(first, last)

    def host_listing(self, host: str) -> Iterator[Capture]:
        """Yield every capture of one host, by SURT key and time."""
        # The key ends in ")/": all keys of the host begin with what is before that, and "*" sorts just after ")".
        key = urls.surt(f"http://{host}/")
        for _, captures in self._shelf.listing(key, key[:-2] + "*"):
            yield from (capture for capture in captures if urls.host(capture.url) == host)

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the crawl."""
        return self._shelf.archives()

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return the bytes of a range of a WARC file, in pieces. Raises PayloadError."""
        return self._shelf.bytes_of(archive, offset, length)

    def text_of(self, found: Capture | Hit) -> tuple[str, str]:
        """Return (title, text) of a capture or a hit; both empty if it has no text."""
        return self._shelf.text(found.doc) if found.doc >= 0 else ("", "")

    def passages(self, queries: Sequence[Query]) -> list[Passages]:
        """Return hits with their passages for each of many queries; large batches may be shared with sibling
        processes.
        """
        if self.share and len(queries) >= MANY:
            return self.share(self, queries)
        self.begin(queries)
        return [self.passages_of(query) for query in queries]

    def passages_of(self, query: Query) -> Passages:
        """Return the hits of one query with their passages."""
        return [(hit, self.passage(hit)) for hit in self.search(query).hits]

    def passage(self, hit: Hit) -> str:
        """Return about a hundred words of a hit's page around its snippet; a shorter page is returned whole."""
        return passage(self._shelf.text(hit.doc)[1], hit.snippet)

    def relevance(self, text: str, texts: Sequence[str]) -> list[float]:
        """Return a relevance score for each of the given texts, which need not be pages of the snapshot."""
        terms, documents = partial(self._finder.terms, like=text), int(str(self.figures().get("documents", 0)))
        frequencies = {term: self._finder.frequency(word) for word in text.split() for term in terms(word)}
        return relevance(frequencies, [terms(one) for one in texts], documents)

    def html_of(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it is not text. Raises PayloadError."""
        return self._shelf.html(capture)

    def markdown_of(self, html: str, url: str, text: str = "", *, pictures: bool = False, whole: bool = False) -> str:
        """Return the content of a document as markdown.

        It has the content of its text view, or all of the document if `whole`; `pictures` keeps images.
        """
        return self._shelf.markdown(html, url, text, pictures=pictures, whole=whole)

    def narrowed(self, html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None:
        """Return the document reduced by CSS selectors: elements to keep, elements to drop. None if nothing is left."""
        return self._shelf.narrowed(html, wanted, unwanted)

    def targets(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (words, absolute URL) of each link of a document."""
        return self._shelf.targets(html, url)

    def pictures(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (alternative text, absolute URL) of each image of a document."""
        return self._shelf.pictures(html, url)

    def article(self, page: Page) -> Article | None:
        """Return a page (in its `html` view) as a MediaWiki article; None if it is not one."""
        return self._shelf.wiki(page.content, page.capture.url)

    def replayed(self, html: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return the document with its URLs rewritten: `link` maps an absolute URL and its kind (`im_`, `cs_`, …) to a
        new URL.
        """
        return self._shelf.replayed(html, url, link)

    def replayed_css(self, css: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return a style sheet with its URLs rewritten likewise."""
        return self._shelf.replayed_css(css, url, link)

    def decoded(self, payload: Payload) -> bytes:
        """Return the body without its content coding. Raises PayloadError."""
        return self._shelf.decoded(payload)

    def knows_host(self, host: str) -> bool:
        """True if anything of the host was captured."""
        return self._shelf.knows_host(host)

    def missing(self, host: str, at: datetime | None = None) -> tuple[Capture, Payload] | None:
        """Return the host's captured 404 page nearest to a moment; None if no 404 of the host was captured."""
        captures = [capture for capture in self._shelf.missing(host) if capture.status == 404]
        if not captures:
            return None
        capture = _nearest(captures, None if at is None else at.timestamp())
        return capture, self._shelf.payload(capture)

    def find(self, request: PageRequest, pattern: str, limit: int) -> tuple[Page, int, tuple[Match, ...]]:
        """Return the page, the number of occurrences of a plain text in it, and the first `limit` of them.

        Case is ignored; an empty pattern never occurs. Raises what `fetch` raises.
        """
        page = self.fetch(request)
        places = (
            [found.start() for found in re.finditer(re.escape(pattern), page.content, re.IGNORECASE)] if pattern else []
        )
        return page, len(places), tuple(_matches(page.content, places[:limit], len(pattern)))

    def _visit(self, request: PageRequest) -> tuple[Capture, tuple[str, ...]]:
        """Return the capture that answers a request, and the URLs that redirected on the way. Raises NotCaptured."""
        url = request.url
        # Most requests name a URL exactly as it was captured, and captured URLs are normalised: try that first.
        if not (captures := self._shelf.exact(url)):
            url = urls.guess(url)
            captures = self._shelf.exact(url)
        seen: list[str] = []
        while True:
            capture = self._locate(url, captures, request.at, seen)
            if not (request.follow and 300 <= capture.status < 400 and capture.redirect):
                return capture, tuple(seen)
            seen.append(url)
            url = urls.exact(capture.redirect)
            captures = self._shelf.exact(url)
            if url in seen or len(seen) > MAX_HOPS:
                where = f"that come back to {url}" if url in seen else f"of more than {MAX_HOPS} steps"
                raise NotCaptured(
                    f"{seen[0]} was captured as redirects {where}",
                    reason="redirect-loop",
                    action="ask with follow=0 to see the redirect itself",
                )

    def _locate(self, url: str, captures: list[Capture], at: datetime | None, seen: Sequence[str]) -> Capture:
        """Return the capture of one URL: one of its own, else one with the same canonical, SURT or loose key.

        `seen` are the URLs that redirected to it. Raises NotCaptured.
        """
        moment = None if at is None else at.timestamp()
        if captures:
            # Prefer captures that do not redirect to themselves, such as pages behind a cookie wall.
            others = [capture for capture in captures if capture.redirect != url]
            return _nearest(others or captures, moment)
        is_page = url.startswith(("http://", "https://"))
        for level in (self._shelf.canonical, self._shelf.surt, self._shelf.loose) if is_page else ():
            if captures := [capture for capture in level(url) if self._leads_on(capture)]:
                return _nearest(captures, moment)
        host = urls.host(url)
        if seen:
            raise NotCaptured(
                f"{seen[0]} was captured as a redirect to {url}, which was not captured",
                reason="redirect-not-captured",
                action="ask with follow=0 to see the redirect itself",
            )
        if self._shelf.knows_host(host):
            raise NotCaptured(f"{url} was not captured", action=f"search with site:{host} for pages that were")
        raise NotCaptured(
            f"nothing of the host {host or url!r} was captured",
            reason="host-not-captured",
            action="search for another source",
        )

    def _leads_on(self, capture: Capture) -> bool:
        """True if following a capture ends at a page that was captured exactly.

        Loose keys merge http with https and www with bare hosts, so a redirect between the two would answer itself for
        ever.
        """
        for _ in range(MAX_HOPS):
            if not (300 <= capture.status < 400 and capture.redirect):
                return True
            targets = self._shelf.exact(urls.exact(capture.redirect))
            if not targets:
                return False
            capture = _nearest(targets, None)
        return False


def _nearest(captures: list[Capture], moment: float | None) -> Capture:
    """Return the capture nearest in time, the earlier on a tie; without a time the latest successful one, else the
    latest.
    """
    if moment is None:
        good = [capture for capture in captures if 0 < capture.status < 400]
        return max(good or captures, key=lambda c: (c.time, c.kind == "response", c.url))
    return min(captures, key=lambda c: (abs(c.time - moment), c.time, c.kind != "response", c.url))


def _is_html(mime: str) -> bool:
    return mime in ("text/html", "application/xhtml+xml")


def _bears_text(mime: str) -> bool:
    return mime.startswith("text/") or mime.endswith(("xml", "json")) or mime == "application/pdf"


def _matches(text: str, places: list[int], width: int, around: int = 120) -> Iterator[Match]:
    """Yield a match for each offset, with `around` characters of context on both sides."""
    for start in places:
        context = text[max(0, start - around) : start + width + around]
        yield Match(start, text.count("\n", 0, start), " ".join(context.split()))
