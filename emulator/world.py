"""The emulated web as one object: a search or a visit in, an answer by law out.

Which capture answers a URL, which redirects are followed: all of it is here; which hits of a ranking are shown, in
`webemu.emulator.ranking`. Where things rest and how they are ranked is behind two ports; no wire is known here.
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
"""Results further down are not served."""
NEWS_DEPTH = 200
"""Results among which a search for published pages looks at least."""
MAX_HOPS = 20
LISTED = 10


Passages = list[tuple[Hit, str]]
MANY = 128
"""So many queries at once are worth sharing."""


class World:
    """One snapshot, answering. Read-only and thread-safe."""

    share: Callable[[World, Sequence[Query]], list[Passages]] | None = None
    """Answers many queries with the help of others that serve the same snapshot."""

    heard: Callable[[str], None] | None = None
    """Told of each search."""

    def __init__(
        self,
        snapshot: str,
        finder: Finder,
        shelf: Shelf,
        figures: dict[str, object],
        engines: Mapping[str, Finder] | None = None,
    ) -> None:
        """`engines`: other ways of searching, by name."""
        self.snapshot = snapshot
        self.engines = engines or {}
        self._finder = finder
        self._shelf = shelf
        self._figures = figures

    @property
    def base(self) -> World:
        """The world that is there for all who see the same: what is found out of it may be kept."""
        return self

    @property
    def finder(self) -> Finder:
        return self._finder

    @property
    def shelf(self) -> Shelf:
        return self._shelf

    @property
    def is_far(self) -> bool:
        """Whether what it asks is elsewhere: a search or a visit takes longer than an event loop may be held."""
        return self._finder.is_long

    def figures(self) -> dict[str, object]:
        """What the snapshot holds: documents, captures, hosts and so on."""
        return dict(self._figures)

    def search(self, query: Query) -> Results:
        """One page of results. Nothing a query says raises; BadRequest for an engine that is not there."""
        if self.heard:
            self.heard(query.text)
        return self._searched(query)

    def _searched(self, query: Query) -> Results:
        parsed = parse(query.text)
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
        """For each hit the URLs of pages that say the same and are left out for it, at most `LISTED`."""
        moment = None if results.query.as_of is None else int(results.query.as_of.timestamp())
        return [self._others(hit.doc, moment) for hit in results.hits]

    def _others(self, doc: int, moment: int | None) -> list[str]:
        if not (copies := self._finder.copies(doc)):
            return []
        since, until, plan = self._finder.columns.since, self._finder.columns.until, self._finder.plan(Parsed())
        shown = (one for one in copies if one != doc and ranking.is_visible(since[one], until[one], moment))
        return [self._finder.hit(one, 0.0, plan).url for one in islice(shown, LISTED)]

    def is_long(self, query: Query) -> bool:
        """Whether a search takes longer than an event loop may be held. Raises BadRequest."""
        return self._searching(query).is_long

    def ready(self, query: Query) -> Future[Any] | None:
        """What a search waits for, begun; None for nothing. Raises BadRequest."""
        return self._searching(query).ready(parse(query.text))

    def begin(self, queries: Iterable[Query]) -> None:
        """Have what many searches wait for made together."""
        for query in queries:
            finder = self.engines.get(query.engine) if query.engine else self._finder
            if finder is not None and finder.is_long:
                finder.ready(parse(query.text))

    def _searching(self, query: Query) -> Finder:
        return self._engine(query.engine) if query.engine else self._finder

    def through(self, engine: str) -> World:
        """The same web, searched in another of its ways. Raises BadRequest."""
        return World(self.snapshot, self._engine(engine), self._shelf, self.figures(), self.engines)

    def _engine(self, name: str) -> Finder:
        if name not in self.engines:
            raise BadRequest(
                f"this snapshot has no engine {name[:60]!r}",
                action=f"one of {', '.join(self.engines)}" if self.engines else "leave it out",
            )
        return self.engines[name]

    def fetch(self, request: PageRequest) -> Page:
        """A page in a readable view. Raises NotCaptured, NoView or PayloadError."""
        capture, redirects = self._visit(request)
        title, content = self.view(capture, request.view)
        return Page(request, capture, redirects, title, content, self.snapshot)

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        """(title, content) of a capture in a readable view. Raises NoView or PayloadError."""
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
        """The capture that answers a visit. Raises NotCaptured."""
        return self._visit(request)[0]

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        """The recorded answer itself. Raises BlockingIOError where it would have to wait for a disk and must not."""
        capture, _ = self._visit(request)
        return capture, self._shelf.payload(capture, wait)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Titles of pages that complete what was begun, the best first."""
        return self._shelf.suggest(prefix, limit)

    def correct(self, text: str) -> str | None:
        """The query with words that occur on no page made ones that do; None where there is nothing to correct."""
        return correct(text, self._finder.frequency, self._shelf.nearest)

    def related(self, text: str, hits: Sequence[Hit], limit: int) -> list[str]:
        """Queries beside this one, made of the titles of its results."""
        pages = max(1, int(str(self.figures().get("documents", 0))))
        titles = [hit.title for hit in hits]
        return related(text, titles, limit, self._finder.terms, lambda word: self._finder.frequency(word) / pages)

    def occurrences(self, text: str, words: str) -> list[Span]:
        """(start, end) of the words in a text, as the search compares words."""
        return spans(text, words, partial(self._finder.terms, like=text))

    def holds(self, url: str) -> bool:
        """Whether this very URL was captured."""
        return bool(self._shelf.exact(urls.guess(url)))

    def captures(self, url: str) -> list[Capture]:
        """Every capture of a URL in the order of time: its own, else those of the strictest key that has any."""
        url = urls.guess(url)
        for level in (self._shelf.exact, self._shelf.canonical, self._shelf.surt, self._shelf.loose):
            if captures := level(url):
                return sorted(captures, key=lambda capture: (capture.time, capture.url))
        return []

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """(SURT key, its captures in the order of time) for keys from `first` to before `last`, in order of bytes."""
        return self._shelf.listing(first, last)

    def host_listing(self, host: str) -> Iterator[Capture]:
        """Every capture of one host, by SURT key and time."""
        key = urls.surt(f"http://{host}/")
        for _, captures in self._shelf.listing(key, key[:-2] + "*"):
            yield from (capture for capture in captures if urls.host(capture.url) == host)

    def archives(self) -> Sequence[Archive]:
        """The WARC files of the crawl."""
        return self._shelf.archives()

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """A part of a WARC file as it rests. Raises PayloadError."""
        return self._shelf.bytes_of(archive, offset, length)

    def text_of(self, found: Capture | Hit) -> tuple[str, str]:
        """(title, text) of a capture or a result; both empty for what has no text."""
        return self._shelf.text(found.doc) if found.doc >= 0 else ("", "")

    def passages(self, queries: Sequence[Query]) -> list[Passages]:
        """Results with their passages, for each of many queries."""
        if self.share and len(queries) >= MANY:
            return self.share(self, queries)
        self.begin(queries)
        return [self.passages_of(query) for query in queries]

    def passages_of(self, query: Query) -> Passages:
        """Results with their passages."""
        return [(hit, self.passage(hit)) for hit in self.search(query).hits]

    def passage(self, hit: Hit) -> str:
        """About a hundred words of a result's page around its snippet; a page of few more is given whole."""
        return passage(self._shelf.text(hit.doc)[1], hit.snippet)

    def relevance(self, text: str, texts: Sequence[str]) -> list[float]:
        """How well each of some texts, from wherever, answers a query."""
        terms, documents = partial(self._finder.terms, like=text), int(str(self.figures().get("documents", 0)))
        frequencies = {term: self._finder.frequency(word) for word in text.split() for term in terms(word)}
        return relevance(frequencies, [terms(one) for one in texts], documents)

    def html_of(self, capture: Capture) -> str | None:
        """The decoded document of a capture; None for what is not text. Raises PayloadError."""
        return self._shelf.html(capture)

    def markdown_of(self, html: str, url: str, text: str = "", *, pictures: bool = False, whole: bool = False) -> str:
        """Return the content of a document as markdown, as its text view has it; with `whole` all of the document."""
        return self._shelf.markdown(html, url, text, pictures=pictures, whole=whole)

    def narrowed(self, html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None:
        """A document with what CSS selectors pick, and without what others do; None where nothing is picked."""
        return self._shelf.narrowed(html, wanted, unwanted)

    def targets(self, html: str, url: str) -> list[tuple[str, str]]:
        """(words, absolute URL) of a document's links."""
        return self._shelf.targets(html, url)

    def pictures(self, html: str, url: str) -> list[tuple[str, str]]:
        """(alternative text, absolute URL) of a document's pictures."""
        return self._shelf.pictures(html, url)

    def article(self, page: Page) -> Article | None:
        """A page in its `html` view as the wiki article that it is; None if it is none of MediaWiki."""
        return self._shelf.wiki(page.content, page.capture.url)

    def replayed(self, html: str, url: str, link: Callable[[str, str], str]) -> str:
        """A document whose links lead where `link` puts them, given an absolute URL and the kind (`im_`, `cs_`, …)."""
        return self._shelf.replayed(html, url, link)

    def replayed_css(self, css: str, url: str, link: Callable[[str, str], str]) -> str:
        """A style sheet likewise."""
        return self._shelf.replayed_css(css, url, link)

    def decoded(self, payload: Payload) -> bytes:
        """The body without its content coding. Raises PayloadError."""
        return self._shelf.decoded(payload)

    def knows_host(self, host: str) -> bool:
        """Whether anything of the host was captured."""
        return self._shelf.knows_host(host)

    def missing(self, host: str, at: datetime | None = None) -> tuple[Capture, Payload] | None:
        """How the host says that a page is not there, as it once said it of another; None if that was never seen."""
        captures = [capture for capture in self._shelf.missing(host) if capture.status == 404]
        if not captures:
            return None
        capture = _nearest(captures, None if at is None else at.timestamp())
        return capture, self._shelf.payload(capture)

    def find(self, request: PageRequest, pattern: str, limit: int) -> tuple[Page, int, tuple[Match, ...]]:
        """Where a plain text occurs in the text view: the page, how often, and the first `limit` places."""
        page = self.fetch(request)
        places = (
            [found.start() for found in re.finditer(re.escape(pattern), page.content, re.IGNORECASE)] if pattern else []
        )
        return page, len(places), tuple(_matches(page.content, places[:limit], len(pattern)))

    def _visit(self, request: PageRequest) -> tuple[Capture, tuple[str, ...]]:
        url = request.url
        # Most are asked for as they are recorded, and what is recorded is normal.
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
        """The capture that answers a URL: one of its own, else one of the same canonical, SURT or loose key."""
        moment = None if at is None else at.timestamp()
        if captures:
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
        """Whether a capture found by a loose key ends anywhere: a redirect must lead to an exact capture that is none.

        Loose keys merge http and https, www and bare hosts: a redirect between the two would answer itself for ever.
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
    """The capture nearest in time, the earlier on a tie; without a time the latest successful one, else the latest."""
    if moment is None:
        good = [capture for capture in captures if 0 < capture.status < 400]
        return max(good or captures, key=lambda c: (c.time, c.kind == "response", c.url))
    return min(captures, key=lambda c: (abs(c.time - moment), c.time, c.kind != "response", c.url))


def _is_html(mime: str) -> bool:
    return mime in ("text/html", "application/xhtml+xml")


def _bears_text(mime: str) -> bool:
    return mime.startswith("text/") or mime.endswith(("xml", "json")) or mime == "application/pdf"


def _matches(text: str, places: list[int], width: int, around: int = 120) -> Iterator[Match]:
    for start in places:
        context = text[max(0, start - around) : start + width + around]
        yield Match(start, text.count("\n", 0, start), " ".join(context.split()))
