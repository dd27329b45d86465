"""Recorded results of live services beside ours: logs in the services' shapes, measures, table and page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.index.evaluation.serp_comparison import compare_searches, count_domains, rank_biased_overlap
from webemu.index.evaluation.serp_log import RecordedResult, RecordedSearch, read_serp_log
from webemu.index.evaluation.serp_report import format_table, list_missing, render_page

URL = "https://one.org/a"
LINES = {
    "serper": {"searchParameters": {"q": "fog"}, "organic": [{"title": "A", "link": URL, "snippet": "S"}]},
    "serper beside": {"query": "fog", "response": {"organic": [{"link": URL, "snippet": "S"}]}, "latency_ms": 80},
    "serpapi": {"search_parameters": {"q": "fog"}, "organic_results": [{"link": URL, "snippet": "S"}]},
    "tavily": {"query": "fog", "results": [{"url": URL, "content": "S"}], "response_time": 0.08},
    "tavily inside": {"request": {"query": "fog"}, "response": {"results": [{"url": URL, "content": "S"}]}},
    "brave": {"query": {"original": "fog"}, "web": {"results": [{"url": URL, "description": "S"}]}},
    "exa": {"params": {"query": "fog"}, "results": [{"url": URL, "text": "S"}]},
    "bing": {"queryContext": {"originalQuery": "fog"}, "webPages": {"value": [{"url": URL, "snippet": "S"}]}},
    "google": {"queries": {"request": [{"searchTerms": "fog"}]}, "items": [{"link": URL, "snippet": "S"}]},
    "jina": {"q": "fog", "response": {"data": [{"url": URL, "description": "S"}]}},
    "firecrawl": {"q": "fog", "response": {"data": {"web": [{"url": URL, "description": "S"}]}}},
}


@pytest.mark.parametrize("service", LINES)
def test_answers_of_services_are_read_as_they_sent_them(service: str) -> None:
    (search,), dropped = read_serp_log([json.dumps(LINES[service])])
    assert (search.query, search.results, dropped) == ("fog", (RecordedResult(URL, "S"),), {})
    assert search.milliseconds == (80 if service in ("serper beside", "tavily") else None)


def test_lines_that_cannot_be_read_are_counted() -> None:
    lines = ["", "{", "[]", "null", '{"query": "x"}', '{"organic": []}', '{"q": "x", "organic": [1, {"link": ""}]}']
    searches, dropped = read_serp_log(lines)
    assert searches == (RecordedSearch("x", (), None),)
    assert dropped == {"bad-json": 1, "no-query": 3, "no-results-list": 1}


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("", "", 1.0),
        ("a", "", 0.0),
        ("abc", "abc", 1.0),
        ("abc", "xyz", 0.0),
        # By hand, of equation 32: 0.5 x 0.81 + (0.1 / 0.9) x (0 x 0.9 + 1/2 x 0.81)
        ("ab", "bc", 0.45),
    ],
)
def test_rank_biased_overlap_is_that_of_the_paper(first: str, second: str, value: float) -> None:
    assert rank_biased_overlap(first, second) == pytest.approx(value)


def test_the_same_page_under_another_spelling_overlaps() -> None:
    live = tuple(RecordedResult(url, "") for url in (URL, "http://WWW.two.org/b?", "https://three.org/"))
    local = [RecordedResult("http://two.org/b", "snippet"), RecordedResult("https://one.org/c", "")]
    searches = [RecordedSearch("fog", live, 100.0)]
    (comparison,) = compare_searches(searches, lambda query, count: local, lambda url: url == URL, 10)
    assert comparison.overlap == comparison.captured_share == pytest.approx(1 / 3)
    assert comparison.domain_overlap == pytest.approx(2 / 3)
    assert list_missing([comparison]) == ["http://WWW.two.org/b?", "https://three.org/"]
    assert count_domains([local, local]) == {"one.org": 2, "two.org": 2}
    table = format_table([comparison])
    assert table[0] == "1 queries"
    assert any(line.split()[-2:] == ["100.0", f"{comparison.local_milliseconds:.1f}"] for line in table)


def test_the_page_escapes_what_was_recorded() -> None:
    hostile = RecordedResult("https://one.org/<script>", "<img src=x onerror=alert(1)>")
    searches = [RecordedSearch("<b>fog</b>", (hostile,), None)]
    page = render_page(list(compare_searches(searches, lambda query, count: [hostile], lambda url: False, 10)))
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;b&gt;fog&lt;/b&gt;" in page
    assert "class=both" in page
    assert "not in the collection" in page


def test_the_command_compares_a_log_with_a_collection(tmp_path: Path) -> None:
    pages = [CaptureSpec(f"https://s{n}.org/", html("Fog", f"The fog of harbour {n} was thick.")) for n in range(4)]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", pages))
    live = [{"link": url, "snippet": "Fog"} for url in ("https://s0.org/", "https://elsewhere.org/fog")]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"q": "fog", "organic": live}) + "\n{\n")
    files = {name: tmp_path / name for name in ("html", "missing", "per-query")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    command = [sys.executable, "-m", "webemu.emulator.cli", "compare-serp", str(log), "--root", str(tmp_path)]
    run = subprocess.run([*command, "--collection", "c", *options], capture_output=True, text=True, check=True)
    assert "overlap    0.500" in run.stdout
    assert "captured   0.500" in run.stdout
    assert "1 lines" in run.stderr
    assert files["missing"].read_text() == "https://elsewhere.org/fog\n"
    assert json.loads(files["per-query"].read_text())["overlap"] == 0.5
    assert "elsewhere.org" in files["html"].read_text()
    log.write_text("{}\n")
    failed = subprocess.run([*command, "--collection", "c"], capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "no recorded search" in failed.stderr
