"""A snapshot built with `links_until` does not find early pages by the words of later links."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from webemu.emulator.types import Query
from webemu.index.open import open_snapshot

CUTOFF = datetime(2024, 6, 1, tzinfo=UTC)
EARLY, LATE = "https://open.example/early", "https://late.example/news"
TEXT = "Boats and nets of the harbour town, in enough words to be a page of its own."


@dataclass(frozen=True)
class LateCapture(CaptureSpec):
    """A capture made more than a year after the others, in May 2025."""

    @property
    def date(self) -> str:
        return f"2025-05-{self.day:02d}T12:00:00Z"


def link(words: str) -> str:
    return html("News", TEXT, f'<a href="{EARLY}">{words}</a>')


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    records = [
        CaptureSpec(EARLY, html("Early", TEXT)),
        CaptureSpec("https://old.example/links", link("harbour chandlery")),
        LateCapture(LATE, link("champion quibbledock")),
    ]
    ingest(folder / "c", write(folder / "links.warc.gz", records))
    return folder / "c"


def search(crawl: Path, text: str, as_of: datetime | None, **options: object) -> list[str]:
    world = open_snapshot(crawl, build_snapshot(crawl, **options))
    return [hit.url for hit in world.search(Query(text, as_of=as_of)).hits]


@pytest.mark.parametrize("text", ["quibbledock", "+quibbledock boats", '"champion quibbledock"', "quibbledock OR zyx"])
def test_a_word_of_a_later_link_finds_nothing_early(crawl: Path, text: str) -> None:
    hits = search(crawl, text, CUTOFF, links_until=CUTOFF)
    # Without the other condition of a query the early page may be found, but as it is without the later word.
    assert hits == search(crawl, text.replace("quibbledock", "nosuchword"), CUTOFF, links_until=CUTOFF)
    assert EARLY in search(crawl, text, CUTOFF), "the later link is known to a snapshot of all links"


def test_excluding_a_word_of_a_later_link_excludes_nothing_early(crawl: Path) -> None:
    assert EARLY in search(crawl, "boats -quibbledock", CUTOFF, links_until=CUTOFF)
    assert EARLY not in search(crawl, "boats -quibbledock", CUTOFF)


def test_earlier_links_and_later_pages_stay(crawl: Path) -> None:
    assert EARLY in search(crawl, "chandlery", CUTOFF, links_until=CUTOFF)
    assert search(crawl, "quibbledock", None, links_until=CUTOFF) == [LATE]


def test_the_second_of_the_cutoff_counts(crawl: Path) -> None:
    second = datetime(2025, 5, 1, 12, tzinfo=UTC)
    assert EARLY in search(crawl, "quibbledock", second, links_until=second)
    assert build_snapshot(crawl, links_until=second) == build_snapshot(crawl)
