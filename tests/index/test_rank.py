"""The second stage of ranking, the texts of links, the ways of searching, and what is told of them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, ingest, write
from webemu.emulator.errors import BadRequest
from webemu.emulator.policy import policy_from_json
from webemu.emulator.query import parse_query
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.analysis import extract_terms
from webemu.index.catalog import Catalog
from webemu.index.evaluation.held_out import is_held_out
from webemu.index.manifest import read_manifest
from webemu.index.open import open_snapshot, open_world
from webemu.index.rank import FLAT_BM25, LENGTHS, RERANK_DEPTH, Weights, document_prior, rerank_factors
from webemu.index.record_reader import MAX_PASSAGES, Features
from webemu.index.records import analyze_text, encode_record, hash_term, match_features

FILLER = "Nothing of note happened there for a long time, and nobody wrote anything down about the place. " * 4


def page(title: str, text: str, *links: tuple[str, str]) -> bytes:
    anchors = "".join(f'<p>See also <a href="{url}">{anchor_text}</a>.</p>' for url, anchor_text in links)
    return f"<!doctype html><title>{title}</title><main><h1>{title}</h1><p>{text}</p>{anchors}</main>".encode()


def test_shares_of_titles_are_between_nothing_and_all() -> None:
    def title(text: str, *query: tuple[str, float]) -> float:
        record = memoryview(encode_record("http://x.org/", text, 1, analyze_text("text")))
        return match_features([record], [((hash_term(term),), rareness) for term, rareness in query], ())[0][0]

    query = (("river", 3.0), ("port", 1.0))
    assert title("", *query) == title("river") == title("bridge", *query) == 0
    assert title("River Port", *query) == 1
    assert 0 < title("port", *query) < title("river", *query) < 1
    assert title("River Port near Aldmere", *query) < 1


def test_a_factor_is_bounded_by_its_weights() -> None:
    weights = Weights(named=2, together=1, ordered=0.5, host=0.25, address=0.125, quality=0.125, long=0.5)
    nothing, everything = (0.0, 0.0, 0.0, 0), (1.0, 1.0, 1.0, MAX_PASSAGES)
    priors = [document_prior(weights, one, one, one) for one in (0, 1)]
    assert rerank_factors(weights, [nothing, everything], priors) == [1, 5.5]
    assert rerank_factors(weights, [nothing, everything]) == [1, 5]
    assert rerank_factors(FLAT_BM25, [everything], [document_prior(FLAT_BM25, 1, 1, 1)]) == [1]
    assert [LENGTHS[passages] for passages in (0, 1, 8, MAX_PASSAGES)] == [0, 0, 0.5, 1]


def test_a_record_tells_what_of_a_query_it_has() -> None:
    text = f"The harbour of Velmora was built in 1987. {FILLER} The lighthouse keeper lived alone."
    record = memoryview(encode_record("http://x.org/", "The harbour", 19_000, analyze_text(text)))

    def agreed(query: str) -> Features:
        words = query.lower().split()
        pairs = [(f"{one} {other}".encode(),) for one, other in pairwise(words)]
        return match_features([record], [((hash_term(term),), 1.0) for term in extract_terms(query)], pairs)[0]

    assert agreed("harbour") == (pytest.approx(0.7071, abs=1e-3), 1.0, 0.0, 2)
    assert agreed("harbour of velmora")[2] == 1.0
    assert agreed("velmora of harbour")[2] == 0.0
    assert agreed("harbour lighthouse")[1] == 0.75  # in neighbouring passages
    assert agreed("zebra") == (0.0, 0.0, 0.0, 2)


def test_neighbouring_passages_are_evidence_too() -> None:
    filler = "The council met in the town hall and talked about the roads of the county. "
    near, far = (
        f"{filler * 3} It was in Velmora. {filler * gap} The lighthouse was built. {filler * 6}" for gap in (2, 9)
    )
    terms = [((hash_term(term),), 1.0) for term in extract_terms("velmora lighthouse")]
    records = [memoryview(encode_record("http://x.org/", "", 1, analyze_text(text))) for text in (near, far)]
    assert [features[1] for features in match_features(records, terms, ())] == [0.75, 0.5]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that only links call what it is asked for, and pages that say the words of a query in other orders."""
    target = "http://hidden.example/p7"
    records = [CaptureSpec(target, page("P7", f"A page about something else. {FILLER}"))]
    sources = [f"http://s{n}.example/" for n in range(30)]
    records += [
        CaptureSpec(url, page(f"Site {n}", f"Notes. {FILLER}", (target, "crooked spire")))
        for n, url in enumerate(sources)
    ]
    records += [
        CaptureSpec("http://order.example/a", page("A", f"red tram line north station {FILLER}")),
        CaptureSpec("http://order.example/b", page("B", f"north line station tram red {FILLER}")),
        CaptureSpec("http://order.example/c", page("Tram line", f"A line with a tram. {FILLER}")),
    ]
    folder = tmp_path_factory.mktemp("rank")
    ingest(folder / "c", write(folder / "crawl.warc.gz", records))
    return folder / "c"


@pytest.fixture(scope="module")
def world(crawl: Path) -> World:
    return open_snapshot(crawl, build_snapshot(crawl))


def urls(world: World, text: str, engine: str = "", size: int = 10) -> list[str]:
    return [hit.url for hit in world.search(Query(text, size=size, engine=engine)).hits]


def test_a_page_is_found_by_what_links_call_it(world: World, crawl: Path) -> None:
    assert "http://hidden.example/p7" in urls(world, "crooked spire", size=50)
    deaf = open_snapshot(crawl, build_snapshot(crawl, weights=Weights(anchors=0)))
    assert "http://hidden.example/p7" not in urls(deaf, "crooked spire", size=50)


def test_held_out_links_are_not_heard(crawl: Path) -> None:
    manifest = read_manifest(crawl / "snapshots" / build_snapshot(crawl, hold_out=True))
    assert manifest.id != build_snapshot(crawl)
    with Catalog(crawl, read_only=True) as catalog:
        linking = [url for (url,) in catalog.db.execute("SELECT url FROM pages WHERE url LIKE 'http://s%'").fetchall()]
    assert 0 < sum(map(is_held_out, linking)) < len(linking)


def test_the_order_of_words_counts(world: World) -> None:
    assert urls(world, "red tram line north station")[0] == "http://order.example/a"
    assert urls(world, "north line station tram red")[0] == "http://order.example/b"


def test_each_engine_ranks_in_its_own_way(world: World) -> None:
    assert set(world.engines) == {"full", "plain", "weak"}
    assert urls(world, "tram line", "full") == urls(world, "tram line")
    assert urls(world, "tram line", "weak") == ["http://order.example/c"]
    assert set(urls(world, "tram line", "plain")) == set(urls(world, "tram line"))
    assert world.with_engine("weak").search(Query("spire")).hits == ()
    with pytest.raises(BadRequest, match="no engine 'hybrid'"):
        urls(world, "tram", "hybrid")


def test_what_ranked_a_result_is_told(world: World) -> None:
    results = world.search(Query("tram line", explain=True))
    assert len(results.explanations) == len(results.hits) > 2
    for hit, explanation in zip(results.hits, results.explanations, strict=True):
        assert explanation["bm25"] * explanation["factor"] == pytest.approx(hit.score, rel=1e-2)
        assert all(0 <= explanation[name] <= 1 for name in ("title", "passage", "order", "host", "address", "quality"))
    assert world.search(Query("tram line")).explanations == ()
    plain = world.search(Query("tram line", engine="plain", explain=True))
    assert {explanation["factor"] for explanation in plain.explanations} == {1.0}


def test_pages_of_results_fit_together_where_the_best_are_ordered_anew(world: World) -> None:
    single_page_urls = [hit.url for hit in world.search(Query("nothing of note happened", size=33)).hits]
    assert len(single_page_urls) > RERANK_DEPTH
    parts = [urls_of for page in range(1, 12) for urls_of in
             [hit.url for hit in world.search(Query("nothing of note happened", page=page, size=3)).hits]]  # fmt: skip
    assert parts == single_page_urls


def test_weights_are_part_of_what_a_snapshot_is(crawl: Path) -> None:
    first, second = build_snapshot(crawl), build_snapshot(crawl, weights=Weights(named=0.5))
    assert first != second
    manifest = read_manifest(crawl / "snapshots" / second)
    assert Weights.from_manifest(json.loads(json.dumps(manifest.weights))) == Weights(named=0.5)
    assert manifest.shards == read_manifest(crawl / "snapshots" / first).shards  # nothing is indexed anew


def test_a_policy_names_an_engine() -> None:
    assert policy_from_json({"engine": "weak"}).engine == "weak"
    with pytest.raises(BadRequest):
        policy_from_json({"engine": ["weak"]})


@pytest.mark.parametrize("text", ["", "site:order.example", "tram OR spire", '"tram line" -spire'])
def test_every_query_is_ranked(world: World, text: str) -> None:
    finder = world.ranker
    ranking, _ = finder.plan(parse_query(text)).top(50)
    assert [score for score, _ in ranking] == sorted((score for score, _ in ranking), reverse=True)


def test_newer_pages_are_preferred_where_that_is_asked(tmp_path: Path) -> None:
    def report(year: int) -> bytes:
        dated = f'<meta property="article:published_time" content="{year}-03-01"><title>Harbour report</title>'
        return f"<!doctype html>{dated}<p>The harbour of Velmora was dredged, depth {year - 1990}.".encode()

    years = (2019, 2024, 2021)
    records = [CaptureSpec(f"http://s{place}.example/", report(year)) for place, year in enumerate(years)]
    records += [CaptureSpec(f"http://t{n}.example/", page("Else", FILLER)) for n in range(20)]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    world = open_world(tmp_path / "c")

    def years_of_hits(text: str, engine: str = "") -> list[str]:
        urls = [hit.url for hit in world.search(Query(text, engine=engine)).hits]
        return [url[8] for url in urls if url.startswith("http://s")]

    assert years_of_hits("harbour velmora dredged") == ["0", "1", "2"]
    assert years_of_hits("latest harbour velmora dredged") == ["1", "2", "0"]
    assert years_of_hits("Latest harbour velmora dredged", "plain") == ["0", "1", "2"]
    assert years_of_hits("harbour velmora dredged 2021") == ["2", "0", "1"]
    assert (
        years_of_hits("harbour velmora dredged 2021.5")
        == years_of_hits("harbour velmora dredged 1821")
        == ["0", "1", "2"]
    )
    explanation = world.search(Query("latest harbour", explain=True)).explanations[0]
    assert 0.5 < explanation["fresh"] <= 1


def test_a_word_of_several_readings_is_one_word() -> None:
    record = memoryview(
        encode_record("http://x.org/", "Nations generations", 1, analyze_text("Nations and generations."))
    )
    nation, both = (hash_term("nation"),), (hash_term("generat"), hash_term("gener"))
    assert match_features([record], [(nation, 2.0), (both, 1.0)], ())[0][:2] == (1.0, 1.0)


def test_pairs_begin_with_a_word_and_are_found_in_any_case_of_any_script(tmp_path: Path) -> None:
    record = memoryview(
        encode_record("http://x.org/", "t", 1, analyze_text("Start nowhere art. Москва Река была тут."))
    )
    word = [((hash_term("nowher"),), 1.0)]
    assert match_features([record], word, [(b"art nowhere",)])[0][2] == 0
    assert match_features([record], word, [(b"start nowh",)])[0][2] == 1
    records = [
        CaptureSpec(f"http://s{n}.example/", page("Реки", text))
        for n, text in enumerate((f"Река стоит, а {FILLER} Москва тоже.", f"Москва Река стоит, а тоже. {FILLER}"))
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    world = open_world(tmp_path / "c")
    results = world.search(Query("москва река", explain=True))
    assert [
        (hit.url, explanation["order"]) for hit, explanation in zip(results.hits, results.explanations, strict=True)
    ] == [
        ("http://s1.example/", 1.0),
        ("http://s0.example/", 0.0),
    ]


@pytest.mark.parametrize("query", ["std::list", "C# language", "learn .NET"])
def test_words_with_signs_are_told_apart(query: str, tmp_path: Path) -> None:
    texts = ("A std list. C language, learn net today.", "A std::list. C# language, learn .NET today.")
    records = [CaptureSpec(f"http://s{n}.example/", page("Notes", text)) for n, text in enumerate(texts)]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    assert urls(open_world(tmp_path / "c"), query)[0] == "http://s1.example/"


def test_what_was_not_ordered_anew_has_a_factor_of_one(tmp_path: Path) -> None:
    records = [
        CaptureSpec(f"http://s{n}.example/", page(f"Harbour {n}", f"The harbour no. {n}. " + "x " * n))
        for n in range(30)
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    results = open_world(tmp_path / "c").search(Query("harbour", size=30, explain=True))
    factors = [explanation["factor"] for explanation in results.explanations]
    assert [factor > 1 for factor in factors] == [True] * RERANK_DEPTH + [False] * (30 - RERANK_DEPTH)
    for hit, explanation in zip(results.hits, results.explanations, strict=True):
        assert explanation["bm25"] * explanation["factor"] == pytest.approx(hit.score, rel=1e-2)
