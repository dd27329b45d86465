"""Known items: each asks for a page that the crawl holds, says what it was made of, and repeats."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.cli import app
from webemu.emulator.query import parse_query
from webemu.index.evaluation.held_out import held_out_sql, is_held_out
from webemu.index.evaluation.known_items import choose_half, is_descriptive, pick_quote, pick_title_words
from webemu.index.open import open_world

TOWNS = "Aldmere Brisk Corvain Dunmore Eskdale Farrow Galloway Hexham Ilford Jarrow Kelso Lanark".split()
TEXT = "Nobody knows when the first stone of {0} was laid beside the river. Its harbour opened again in the spring."


def test_one_page_in_five_is_held_out() -> None:
    urls = [f"https://site{n % 7}.example/page/{n}?ü" for n in range(2000)]
    flags = [is_held_out(url) for url in urls]
    assert flags == [is_held_out(url) for url in urls]
    assert 330 < sum(flags) < 470
    in_sql = duckdb.sql(f"SELECT {held_out_sql('u')} FROM (SELECT unnest(?) AS u)", params=[urls]).fetchall()
    assert [row for (row,) in in_sql] == flags


def pages() -> list[CaptureSpec]:
    """Two towns a site; every page links to the next town: in words of its own, in those of all, and by signposts."""
    records = []
    for n, town in enumerate(TOWNS):
        after = (n + 1) % len(TOWNS)
        target = f"http://site{after // 2}.com/{TOWNS[after]}"
        for copy in range(4):
            links = f'<a href="{target}">walk number {n} {copy} along old walls</a> <a href="{target}">Next page</a>'
            links += f' <a href="{target}">the road to {TOWNS[after]}</a>'
            body = html(f"{town} harbour guide {copy}", TEXT.format(f"{town} {copy}"), links)
            records.append(CaptureSpec(f"http://site{n // 2}.com/{town}" + (f"/{copy}" if copy else ""), body))
    return [
        *records,
        CaptureSpec("http://copy.com/", records[0].body),
        CaptureSpec("http://copy.com/x", html("Index", "Too short.")),
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    ingest(folder / "c", write(folder / "a.warc.gz", pages()))
    return folder


def build_items(root: Path, out: Path, *more: str) -> tuple[list[dict[str, str]], dict[str, list[str]]]:
    """Rows and right pages of the command."""
    done = CliRunner().invoke(app, ["known-items", "--root", str(root), "--collection", "c", "--out", str(out), *more])
    assert done.exit_code == 0, done.output
    relevant: dict[str, list[str]] = {}
    for line in (out / "qrels.tsv").read_text().splitlines()[1:]:
        query, url, _ = line.split("\t")
        relevant.setdefault(query, []).append(url)
    return [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()], relevant


def test_items_are_of_four_kinds_and_say_where_they_are_from(root: Path, tmp_path: Path) -> None:
    rows, relevant = build_items(root, tmp_path, "--count", "80")
    assert {row["_id"] for row in rows} == set(relevant)
    bodies = {record.url: str(record.body) for record in pages()}
    for row in rows:
        right = relevant[row["_id"]]
        assert row["half"] == choose_half(row["site"])
        assert any(urlsplit(url).hostname == row["site"] for url in right)
        for url in right:
            if row["kind"] in ("anchor", "called"):
                assert is_held_out(row["source"])
                assert f">{row['text']}</a>" in bodies[row["source"]]
                assert f'"{url}"' in bodies[row["source"]] or bodies[url] in bodies.values()
            elif row["kind"] == "quote":
                assert row["text"] in re.sub("<[^>]*>", "", bodies[url])
                assert 6 <= len(row["text"].split()) <= 12
            else:
                title = bodies[url].partition("</title>")[0].partition("<title>")[2]
                assert set(row["text"].split()) <= set(title.split())
    assert [sum(row["kind"] == kind for row in rows) for kind in ("title", "quote")] == [20, 20]
    anchors = {row["text"] for row in rows if row["kind"] == "anchor"}
    assert anchors
    assert all(text.startswith("walk number") for text in anchors)
    called = {row["text"] for row in rows if row["kind"] == "called"}
    assert called
    assert all(text.startswith("the road to") for text in called)
    copied = [right for right in relevant.values() if "http://copy.com/" in right]
    assert all(f"http://site0.com/{TOWNS[0]}" in right for right in copied)


def test_items_repeat_and_go_by_the_seed(root: Path, tmp_path: Path) -> None:
    files = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        build_items(root, tmp_path / name, "--count", "40", "--seed", seed)
        files[name] = (tmp_path / name / "queries.jsonl").read_bytes() + (tmp_path / name / "qrels.tsv").read_bytes()
    assert files["a"] == files["b"] != files["c"]


def test_items_are_measured(root: Path, tmp_path: Path) -> None:
    build_items(root, tmp_path, "--count", "40")
    options = ["--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.tsv")]
    done = CliRunner().invoke(app, ["eval-search", "--root", str(root), "--collection", "c", *options])
    assert done.exit_code == 0, done.output
    assert {"all", "title", "quote", "title fit", "quote report"} <= {
        line[:18].strip() for line in done.output.splitlines()
    }


@pytest.mark.parametrize(
    ("anchor", "telling"),
    [
        ("the road to Aldmere", True),
        ("東京の天気", True),
        ("Next page", False),
        ("Previous: the road to Aldmere", False),
        ("Back to the top", False),
        ("Aldmere", False),
        ("see http://a.org/ there", False),
        ("", False),
    ],
)
def test_signposts_are_no_queries(anchor: str, telling: bool) -> None:
    assert is_descriptive(anchor) is telling


@pytest.mark.parametrize("dice", range(0, 5000, 97))
def test_a_quote_is_a_part_of_one_sentence(dice: int) -> None:
    text = (
        "Short one. "
        + " ".join(f"word{'x' * (n % 5)}" for n in range(30))
        + ". if (x[i] == 0) { y[j] = 1; z[k] += 2; }"
    )
    quote = pick_quote(text, dice)
    assert quote in text
    assert 6 <= len(quote.split()) <= 12
    assert "Short" not in quote
    assert "{" not in quote
    chinese = pick_quote("短。" + "江湖再見晴耕雨讀天下太平" * 3 + "。", dice)
    assert 6 <= len(chinese) <= 12


def test_what_has_no_sentence_gives_no_quote(root: Path) -> None:
    assert [pick_quote(text, 5) for text in ("", "Too short.", "1 2 3 4 5 6 7 8 9 10")] == ["", "", ""]
    world = open_world(root / "c")
    assert pick_title_words("Harbour | zzz", world, 3) == "Harbour"
    assert pick_title_words("Harbour guide of Aldmere 7", world, 1) == "Harbour guide Aldmere"
    assert not parse_query(pick_title_words('site:x "a', world, 3)).has_filters


def test_words_that_a_link_by_another_spelling_says_are_heard(tmp_path: Path) -> None:
    """The index follows redirects and other spellings; what it was told by them is no secret of held-out links."""
    linkers = [f"http://l{n}.org/" for n in range(60)]
    withheld, free = (next(url for url in linkers if is_held_out(url) is which) for which in (True, False))
    anchor_text = "secret Velmora handbook"
    records = [
        CaptureSpec("https://target.net/guide", html("Guide", TEXT.format("x"))),
        CaptureSpec(withheld, html("A", TEXT.format("y"), f'<a href="https://target.net/guide">{anchor_text}</a>')),
        CaptureSpec(free, html("B", TEXT.format("z"), f'<a href="http://www.target.net/guide">{anchor_text}</a>')),
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    rows, _ = build_items(tmp_path, tmp_path / "out", "--count", "8")
    assert [row["kind"] for row in rows if row["text"] == anchor_text] == ["called"]
