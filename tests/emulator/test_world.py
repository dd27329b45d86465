"""The law of the world over small hand-made ports: which capture answers, which hits are shown.

The ports are plain objects passed in through the seam that `webemu.emulator.ports` declares; tests/index tests the
same rules over real files.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from webemu.emulator import ranking, urls
from webemu.emulator.errors import NotCaptured, ViewUnavailable
from webemu.emulator.ports import ScoredDoc
from webemu.emulator.ranking import FOREVER
from webemu.emulator.types import Archive, Capture, Hit, PageRequest, Payload, Query, View
from webemu.emulator.world import World


def capture(url: str, *, status: int = 200, time: int = 1000, redirect: str = "", mime: str = "text/html") -> Capture:
    return Capture(url, time, status, mime, "utf-8", "", redirect, "", "response", "f", 0, 1, -1)


class Shelf:
    def __init__(self, *captures: Capture) -> None:
        self.levels: dict[str, dict[str, list[Capture]]] = {name: defaultdict(list) for name in ("e", "c", "s", "l")}
        for captured in captures:
            self.levels["e"][captured.url].append(captured)
            self.levels["c"][urls.canonical_key(captured.url)].append(captured)
            self.levels["s"][urls.surt_key(captured.url)].append(captured)
            self.levels["l"][urls.loose_key(captured.url)].append(captured)
        self.hosts = {urls.host_of(captured.url) for captured in captures}

    def exact(self, url: str) -> list[Capture]:
        return self.levels["e"].get(url, [])

    def canonical(self, url: str) -> list[Capture]:
        return self.levels["c"].get(urls.canonical_key(url), [])

    def surt(self, url: str) -> list[Capture]:
        return self.levels["s"].get(urls.surt_key(url), [])

    def by_loose_key(self, url: str) -> list[Capture]:
        return self.levels["l"].get(urls.loose_key(url), [])

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        keys = sorted(key for key in self.levels["s"] if first <= key < last)
        return iter([(key, self.levels["s"][key]) for key in keys])

    def archives(self) -> list[Archive]:
        return []

    def bytes_of(self, archive: Archive, offset: int, length: int) -> list[bytes]:
        return []

    def knows_host(self, host: str) -> bool:
        return host in self.hosts

    def error_page_of(self, host: str) -> list[Capture]:
        return []

    def decode_body(self, payload: Payload) -> bytes:
        return payload.body

    def text(self, doc: int) -> tuple[str, str]:
        return "", ""

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        return Payload(capture.status, "", (), capture.url.encode(), "")

    def html(self, capture: Capture) -> str | None:
        return "<p>x"

    def markdown(self, html: str, url: str) -> str:
        return html

    def find_view(self, capture: Capture, view: View) -> None:
        return None

    def render_view(self, html: str, capture: Capture, view: View, title: str, text: str) -> str:
        return html

    def wiki(self, html: str, url: str) -> None:
        return None

    def suggest(self, prefix: str, limit: int) -> list[str]:
        return []

    def nearest(self, word: str) -> list[str]:
        return []


@dataclass
class Numbers:
    since: list[int]
    until: list[int]
    day: list[int]
    domain: list[int]
    cluster: list[int]

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        return ((self.until[doc], self.cluster[doc], self.domain[doc]) for doc in docs)

    def drop_duplicates(self, ranked: list[ScoredDoc]) -> list[tuple[ScoredDoc, int]]:
        return ranking.drop_duplicates(ranked, self.rows([doc for _, doc in ranked]))


@dataclass
class Finder:
    """Documents ranked by number; each is (domain, cluster, since, until, day)."""

    documents: list[tuple[int, int, int, int, int]]
    doc_values: Numbers = field(init=False)

    def __post_init__(self) -> None:
        domain, cluster, since, until, day = (list(column) for column in zip(*self.documents, strict=True))
        self.doc_values = Numbers(since, until, day, domain, cluster)

    def plan(self, parsed: Any) -> Any:
        return self

    def top(self, limit: int) -> tuple[list[tuple[float, int]], bool]:
        ranked = [(1.0 / (number + 1), number) for number in range(len(self.documents))]
        return ranked[:limit], limit >= len(ranked)

    def render_hit(self, doc: int, score: float) -> Hit:
        return Hit(doc, score, b"http://x/%d" % doc, b"t", b"s", "2024-01-01")

    def terms(self, text: str, like: str = "") -> list[str]:
        return text.split()

    def frequency(self, words: str) -> int:
        return 1

    def knows(self, word: str) -> bool:
        return True


def world(*captures: Capture, documents: list[tuple[int, int, int, int, int]] | None = None) -> World:
    return World("snap", Finder(documents or [(0, 0, 0, FOREVER, 0)]), Shelf(*captures), {})


def visit(web: World, url: str, **options: Any) -> str:
    return web.payload(PageRequest(url, "raw", **options))[0].url


def test_an_exact_capture_wins_over_looser_ones() -> None:
    web = world(capture("http://www.a.org/X"), capture("http://a.org/x"), capture("https://a.org/x"))
    assert visit(web, "http://a.org/x") == "http://a.org/x"
    assert visit(web, "http://www.a.org/X") == "http://www.a.org/X"


@pytest.mark.parametrize("near_url", ["https://a.org/x?a=1&b=2", "http://www.a.org/x?b=2&a=1", "a.org/X/?b=2&a=1#top"])
def test_near_spellings_find_the_page(near_url: str) -> None:
    assert visit(world(capture("http://a.org/x?b=2&a=1")), near_url) == "http://a.org/x?b=2&a=1"


def test_a_redirect_between_near_spellings_never_answers_its_own_target() -> None:
    web = world(capture("http://a.org/x", status=301, redirect="https://a.org/x"))
    with pytest.raises(NotCaptured) as raised:
        visit(web, "http://a.org/x")
    assert raised.value.reason == "redirect-not-captured"
    with pytest.raises(NotCaptured):
        visit(web, "https://a.org/x", follow=False)
    assert visit(web, "http://a.org/x", follow=False) == "http://a.org/x"


def test_a_slash_redirect_does_not_loop() -> None:
    web = world(capture("http://a.org/d", status=301, redirect="http://a.org/d/"), capture("http://a.org/d/"))
    assert visit(web, "http://a.org/d") == "http://a.org/d/"
    assert visit(web, "https://www.a.org/d") == "http://a.org/d/"


def test_a_captured_loop_is_named() -> None:
    web = world(
        capture("http://a.org/1", status=302, redirect="http://a.org/2"),
        capture("http://a.org/2", status=302, redirect="http://a.org/1"),
    )
    with pytest.raises(NotCaptured) as raised:
        visit(web, "http://a.org/1")
    assert raised.value.reason == "redirect-loop"


def test_unknown_hosts_and_pages_are_told_apart() -> None:
    web = world(capture("http://a.org/x"))
    with pytest.raises(NotCaptured) as page:
        visit(web, "http://a.org/y")
    with pytest.raises(NotCaptured) as host:
        visit(web, "http://b.org/")
    assert (page.value.reason, host.value.reason) == ("url-not-captured", "host-not-captured")


@pytest.mark.parametrize(
    ("at", "time"), [(None, 2000), (0, 1000), (1400, 1000), (1600, 2000), (2600, 3000), (9999, 3000)]
)
def test_the_capture_nearest_in_time_answers(at: int | None, time: int) -> None:
    web = world(*(capture("http://a.org/", time=t, status=200 if t < 3000 else 503) for t in (1000, 2000, 3000)))
    moment = None if at is None else datetime.fromtimestamp(at, UTC)
    nearest, _ = web.payload(PageRequest("http://a.org/", "raw", at_time=moment))
    assert nearest.time == time


def test_a_picture_has_no_text_view() -> None:
    with pytest.raises(ViewUnavailable):
        world(capture("http://a.org/p.png", mime="image/png")).fetch(PageRequest("http://a.org/p.png"))


def docs(web: World, text: str = "q", **options: Any) -> list[int]:
    return [hit.doc for hit in web.search(Query(text, **options)).hits]


def test_at_most_two_of_a_domain_in_ten() -> None:
    documents = [(number // 6, number, 0, FOREVER, 0) for number in range(60)]
    web = world(documents=documents)
    first, second = docs(web), docs(web, page=2)
    assert first == [0, 1, 6, 7, 12, 13, 18, 19, 24, 25]
    assert not set(first) & set(second)
    for page in (first, second):
        domains = [documents[doc][0] for doc in page]
        assert max(domains.count(domain) for domain in domains) == 2
    assert docs(web, size=20) == first + second


def test_a_ranking_of_one_domain_is_still_shown_whole() -> None:
    web = world(documents=[(7, number, 0, FOREVER, 0) for number in range(15)])
    assert docs(web) == list(range(10))
    assert docs(web, page=2) == [10, 11, 12, 13, 14]
    assert docs(web, page=3) == []


def test_exact_duplicates_are_shown_once() -> None:
    assert docs(world(documents=[(number, number % 3, 0, FOREVER, 0) for number in range(9)])) == [0, 1, 2]


def test_as_of_shows_the_version_of_that_day() -> None:
    web = world(documents=[(0, 0, 100, 200, 0), (1, 1, 200, FOREVER, 0)])
    assert docs(web) == [1]
    assert docs(web, as_of=datetime.fromtimestamp(150, UTC)) == [0]
    assert docs(web, as_of=datetime.fromtimestamp(50, UTC)) == []


def test_dates_filter_deep_into_the_ranking() -> None:
    web = world(documents=[(number, number, 0, FOREVER, 19_000 + number) for number in range(2000)])
    assert docs(web, "q after:2027-06-01")[0] == 1970
    assert docs(web, "q before:2022-01-10") == [0, 1]


def test_more_and_the_end_of_results() -> None:
    web = world(documents=[(number, number, 0, FOREVER, 0) for number in range(11)])
    assert web.search(Query("q")).more
    assert not web.search(Query("q", page=2)).more
    assert web.search(Query("q", page=10_000)).hits == ()
