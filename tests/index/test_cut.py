"""A cut snapshot answers to the byte as a collection that never had the later captures."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from tests.in_process import in_process
from webemu.emulator.errors import BadRequest, NotCaptured
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.cut import cut_snapshot
from webemu.index.manifest import current_id
from webemu.index.open import open_snapshot

CUTOFF = datetime(2024, 6, 1, tzinfo=UTC)
EARLY = "https://open.example/early"
TEXT = "Boats and nets of the harbour town, in enough words to be a page of its own."
QUERIES = ("boats", "harbour town", "quibbledock", "+quibbledock boats", "boats -quibbledock", "chandlery", "recast")


@dataclass(frozen=True)
class LateCapture(CaptureSpec):
    """A capture made more than a year after the others, in May 2025."""

    @property
    def date(self) -> str:
        return f"2025-05-{self.day:02d}T12:00:00Z"


def link(words: str) -> str:
    return html("News", TEXT, f'<a href="{EARLY}">{words}</a>')


EARLY_RECORDS = [
    CaptureSpec(EARLY, html("Early", TEXT)),
    CaptureSpec("https://old.example/links", link("harbour chandlery")),
    CaptureSpec("https://boats.example/", html("Boats", "Boats, boats and a harbour for boats, with a town behind.")),
]
LATE_RECORDS = [
    LateCapture(EARLY, html("Early recast", TEXT, "It was recast by the quibbledock.")),
    LateCapture("https://late.example/news", link("champion quibbledock")),
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cut")
    ingest(folder / "c", write(folder / "mixed.warc.gz", [*EARLY_RECORDS, *LATE_RECORDS]))
    return folder / "c"


@pytest.fixture(scope="module")
def cut(crawl: Path) -> World:
    with in_process():
        return open_snapshot(crawl, cut_snapshot(crawl, CUTOFF))


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A collection that was ingested before the later captures were made."""
    folder = tmp_path_factory.mktemp("early")
    ingest(folder / "c", write(folder / "mixed.warc.gz", EARLY_RECORDS))
    return open_snapshot(folder / "c", build_snapshot(folder / "c"))


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("as_of", [None, CUTOFF])
def test_it_ranks_as_if_nothing_later_was_captured(cut: World, early: World, text: str, as_of: datetime | None) -> None:
    query = Query(text, as_of=as_of, explain=True)
    cut_results, early_results = cut.search(query), early.search(query)
    assert cut_results.hits == early_results.hits
    assert cut_results.explanations == early_results.explanations


def test_captures_and_counts_are_those_of_the_time(cut: World, early: World) -> None:
    assert [capture.time for capture in cut.captures(EARLY)] == [capture.time for capture in early.captures(EARLY)]
    assert cut.figures() | {"snapshot": ""} == early.figures() | {"snapshot": ""}
    assert cut.suggest("early", 5) == ["Early"]
    assert cut.archives()[0].last_time == early.archives()[0].last_time
    assert b"Boats" in cut.payload(PageRequest(EARLY))[1].body
    with pytest.raises(NotCaptured):
        cut.locate(PageRequest("https://late.example/news"))


def test_what_is_served_stays_and_nothing_is_left_behind(crawl: Path, cut: World) -> None:
    assert current_id(crawl) == build_snapshot(crawl) != cut.snapshot
    assert not list(crawl.glob(".cut.*"))


def test_a_time_after_all_captures_is_refused(crawl: Path) -> None:
    with pytest.raises(BadRequest, match="no capture later than"):
        cut_snapshot(crawl, datetime(2030, 1, 1, tzinfo=UTC))


def test_a_time_before_all_captures_is_refused(crawl: Path) -> None:
    with in_process(), pytest.raises(BadRequest, match="no capture"):
        cut_snapshot(crawl, datetime(2020, 1, 1, tzinfo=UTC))
