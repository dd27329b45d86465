"""Measuring: queries and judgments are read, rankings scored as trec_eval does, settings compared in pairs."""

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.cli import app
from webemu.emulator.errors import BadRequest
from webemu.index.evaluation import beir
from webemu.index.evaluation.judged import JudgedQuery, id_resolver, read_judgments, read_queries, read_tasks
from webemu.index.evaluation.ranker import RankerConfig, open_ranker
from webemu.index.evaluation.score import compare_scores, group_queries, mean_figures, parse_measures, score_queries
from webemu.index.evaluation.statistics import Figure, compare_paired, mean_with_interval
from webemu.index.manifest import current_id

SHARED = Path(os.environ.get("WEBEMU_SHARED", "/nowhere"))


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "content",
    [
        '{"_id": "1", "text": "a b"}\n\n{"_id": 2, "text": "ü"}\n',
        "1\ta b\n2\tü\n",
        '\ufeff{"id": "1", "text": "a b"}\n2\tü',
    ],
)
def test_queries_are_read_in_any_form(tmp_path: Path, content: str) -> None:
    assert read_queries(text(tmp_path / "q", content)) == (JudgedQuery("1", "a b"), JudgedQuery("2", "ü"))


@pytest.mark.parametrize("content", ["1 a b\n", '{"_id": "1"}\n', "{\n", "1\ta\n1\tb\n", '{"_id": "1", "text": 3}\n'])
def test_a_line_that_is_no_query_is_named(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadRequest, match=r"line \d"):
        read_queries(text(tmp_path / "q", content))


@pytest.mark.parametrize(
    "content",
    [
        "query-id\tcorpus-id\tscore\n1\thttp://a.org\t2\n1\thttp://b.org/x y\t0\n",
        "1 0 http://a.org 2\n1 0 http://b.org/x%20y 0\n",
        "1\thttp://a.org\t2\n1\thttp://b.org/x y\t0",
    ],
)
def test_judgments_have_three_columns_or_four(tmp_path: Path, content: str) -> None:
    judgments = read_judgments(text(tmp_path / "r", content), id_resolver(None))
    assert judgments == {"1": {"http://a.org/": 2, "http://b.org/x%20y": 0}}
    with pytest.raises(BadRequest, match="line 2"):
        read_judgments(text(tmp_path / "r", "1\ta\t1\n1\ta\tyes\n"), id_resolver(None))


def test_ids_become_urls(tmp_path: Path) -> None:
    assert id_resolver("https://wiki.invalid/{id}")("a b/7") == "https://wiki.invalid/a%20b%2F7"
    resolve_id = id_resolver(str(text(tmp_path / "map", "7\thttp://a.org\n")))
    assert (resolve_id("7"), resolve_id("8")) == ("http://a.org/", "8")


def test_tasks_are_queries_for_their_evidence(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "question": "who?",
            "recipe": "walk",
            "evidence": [{"url": "http://a.org"}, {"url": "http://b.org"}],
        },
        {"id": "2", "question": "what?", "evidence": []},
    ]
    queries, judgments = read_tasks(text(tmp_path / "t", "".join(json.dumps(row) + "\n" for row in rows)))
    assert queries == (JudgedQuery("1", "who?", "evidence 2"),)
    assert judgments == {"1": {"http://a.org/": 1, "http://b.org/": 1}}


RANKINGS = {"one": ["a", "b", "c"], "two": ["x", "y", "b"], "three": []}
QUERIES = [
    JudgedQuery("1", "one", "k", "fit"),
    JudgedQuery("2", "two", "k", "report"),
    JudgedQuery("3", "three", "l"),
    JudgedQuery("4", ""),
]
JUDGMENTS = {"1": {"a": 1}, "2": {"b": 1, "c": 1}, "3": {"a": 1}, "5": {"a": 1}}


def test_rankings_are_scored_and_grouped() -> None:
    scored = score_queries(QUERIES, JUDGMENTS, lambda text: RANKINGS[text], parse_measures("RR@10, AP,R@2"))
    assert [list(one.values.items()) for one in scored] == [
        [("RR@10", 1.0), ("AP", 1.0), ("R@2", 1.0)],
        [("RR@10", pytest.approx(1 / 3)), ("AP", pytest.approx(1 / 6)), ("R@2", 0.0)],
        [("RR@10", 0.0), ("AP", 0.0), ("R@2", 0.0)],
    ]
    assert group_queries(scored) == {
        ("", ""): [0, 1, 2], ("", "fit"): [0], ("", "report"): [1],
        ("k", ""): [0, 1], ("k", "fit"): [0], ("k", "report"): [1], ("l", ""): [2],
    }  # fmt: skip
    assert mean_figures(scored, [0, 1])["RR@10"].mean == pytest.approx(2 / 3)
    assert compare_scores(scored, scored, [0, 1, 2])["AP"].p == 1.0


def test_a_measure_that_is_unknown_is_named() -> None:
    for names in ("nDCG@10,Foo", "", "nDCG@"):
        with pytest.raises(BadRequest, match="measures"):
            parse_measures(names)


def test_figures_repeat_and_the_test_sees_what_is_there() -> None:
    values = [n % 7 / 6 for n in range(200)]
    assert mean_with_interval(values, "x") == mean_with_interval(values, "x") != mean_with_interval(values, "y")
    interval = mean_with_interval(values, "x")
    assert interval.low < interval.mean < interval.high < interval.low + 0.1
    better = compare_paired(values, [min(1.0, value + 0.05) for value in values], "x")
    assert (better.p < 0.001, better.gain.low > 0) == (True, True)
    noise = compare_paired(values, values[1:] + values[:1], "x")
    assert (noise.p > 0.2, noise.gain.low < 0 < noise.gain.high) == (True, True)
    reported = mean_with_interval([0.1, 0.4, 0.35, 0.8, 1.0, 0.0, 0.2], "AP")  # figures on file compare with new ones
    assert reported == Figure(0.40714285714285714, 0.1642857142857143, 0.6642857142857143)
    # Three gains of one size: of eight changes of sign two are as far from zero.
    assert compare_paired([0.0] * 3, [0.1] * 3, "x").p == pytest.approx(2 / 8, abs=0.02)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in BEIR's form."""
    folder = tmp_path_factory.mktemp("beir")
    documents = [
        ("A/1", "Harbour", "The harbour of Aldmere."),
        ("a-1", "", "A <b> castle & its harbour."),
        ("3", "x", "Ox."),
    ]
    rows = [{"_id": name, "title": title, "text": body} for name, title, body in documents]
    text(folder / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text(folder / "queries.jsonl", '{"_id": "q", "text": "harbour of Aldmere"}\n{"_id": "r", "text": "castle <b>"}\n')
    (folder / "qrels").mkdir()
    text(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq\tA/1\t1\nr\ta-1\t1\n")
    return folder


@pytest.mark.slow
def test_a_public_collection_is_measured_by_one_command(public: Path, tmp_path: Path) -> None:
    out = ["--run-file", str(tmp_path / "run"), "--per-query", str(tmp_path / "lines")]
    done = CliRunner().invoke(app, ["eval-search", "--beir", str(public), "--measures", "RR@10", *out])
    assert done.exit_code == 0, done.output
    assert re.search(r"^all +2   1\.0000 \[1\.000 1\.000\]", done.output, re.MULTILINE)
    first = (tmp_path / "run").read_text().splitlines()[0]
    assert re.fullmatch(r"q Q0 http://da-1\.com/A%2F1 1 2 [0-9a-f]{16}", first)
    assert json.loads((tmp_path / "lines").read_text().splitlines()[1])["RR@10"] == 1.0


def test_a_corpus_that_is_none_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval-search", "--beir", str(tmp_path)])
    assert "qrels" in str(done.exception)
    for name, content in (("corpus.jsonl", '{"_id": "1"}\n'), ("queries.jsonl", "q\ta\n"), ("qrels.tsv", "q\t1\t1\n")):
        text(tmp_path / name, content)
    done = CliRunner().invoke(app, ["eval-search", "--beir", str(tmp_path)])
    assert "corpus.jsonl" in str(done.exception)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with two snapshots: the later one also holds copies, other sites, and a page that was changed."""
    folder = tmp_path_factory.mktemp("settings")
    records = [
        CaptureSpec(f"http://a.com/{n}", html(f"Harbour {n}", f"The harbour of town number {n}.")) for n in range(5)
    ]
    ingest(folder / "c", write(folder / "1.warc.gz", records))
    (folder / "first").write_text(current_id(folder / "c") or "")
    copies = [CaptureSpec(f"http://b{n}.com/", records[n].body) for n in range(5)]
    changed = CaptureSpec("http://a.com/0", html("Castle", "A castle, and no more of it."), day=9)
    ingest(folder / "c", write(folder / "2.warc.gz", [*copies, changed]))
    text(folder / "queries", "q\tharbour number 3\nr\tharbour 0\n")
    text(folder / "qrels", "q\thttp://a.com/3\t1\nr\thttp://a.com/0\t1\n")
    return folder


def test_a_ranking_is_of_the_pages_that_are_there_now(root: Path) -> None:
    collection, first = root / "c", (root / "first").read_text()
    before = open_ranker(RankerConfig(collection, first))("harbour")
    after = open_ranker(RankerConfig(collection, current_id(collection) or ""))("harbour")
    assert sorted(before) == [f"http://a.com/{n}" for n in range(5)]
    assert set(after) == {*before, *(f"http://b{n}.com/" for n in range(5))} - {"http://a.com/0"}
    visible = open_ranker(RankerConfig(collection, current_id(collection) or "", as_shown=True))("harbour")
    assert (len(after), len(visible)) == (9, 5)
    assert open_ranker(RankerConfig(collection, first, depth=2))("harbour number 3")[0] == "http://a.com/3"


def test_two_snapshots_are_compared(root: Path) -> None:
    command = ["eval-search", "--root", str(root), "--collection", "c", "--measures", "RR@10"]
    options = ["--queries", str(root / "queries"), "--qrels", str(root / "qrels")]
    first = (root / "first").read_text()
    done = CliRunner().invoke(
        app, [*command, *options, "--snapshot", first[:6], "--against", current_id(root / "c") or ""]
    )
    assert done.exit_code == 0, done.output
    assert re.search(
        r"^all +RR@10 +1\.0000  0\.5000   0\.50   -0\.5000 \[-1\.0000 \+0\.0000\]  1\.0000$", done.output, re.M
    )
    assert CliRunner().invoke(app, [*command, *options]).output == CliRunner().invoke(app, [*command, *options]).output


@pytest.mark.parametrize("missing", [[], ["--queries", "nowhere", "--qrels", "nowhere"], ["--tasks", "nowhere"]])
def test_what_is_missing_is_said(root: Path, missing: list[str]) -> None:
    done = CliRunner().invoke(app, ["eval-search", "--root", str(root), "--collection", "c", *missing])
    assert isinstance(done.exception, BadRequest)


def test_queries_without_a_judgment_are_no_measurement(root: Path, tmp_path: Path) -> None:
    options = ["--queries", str(root / "queries"), "--qrels", str(text(tmp_path / "none", "z\thttp://a.com/\t1\n"))]
    done = CliRunner().invoke(app, ["eval-search", "--root", str(root), "--collection", "c", *options])
    assert "no query has a judgment" in str(done.exception)


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "data/ir/cranfield").exists(), reason="WEBEMU_SHARED does not name the collections")
def test_flat_ranking_is_at_the_published_level(tmp_path: Path) -> None:
    folder = SHARED / "data/ir/cranfield"
    collection = beir.ingest_corpus(folder, tmp_path)
    search = open_ranker(RankerConfig(collection, current_id(collection) or "", 1000))
    scored = score_queries(*beir.read_judged(folder), search, parse_measures("AP"))
    assert mean_figures(scored, range(len(scored)))["AP"].mean >= 0.295
