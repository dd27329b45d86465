"""The comparison with other servers runs with what is installed, and says of the rest why it is left out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write

HERE = Path(__file__).parents[1]


@pytest.mark.slow
def test_others_on_the_same_pages(tmp_path: Path) -> None:
    crawl = [
        CaptureSpec(
            f"https://site{number % 5}.example/{number}", html(f"Harbour and river of town {number}", "Ships call.")
        )
        for number in range(80)
    ]
    ingest(tmp_path / "small", write(tmp_path / "a.warc.gz", crawl))
    where = ["--work", str(tmp_path / "work"), "--json", str(tmp_path / "rows.json"), "--seconds", "0.5"]
    unable = ["--bm25", str(tmp_path / "no-python"), "--pywb", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.peers.run", str(tmp_path / "small"), *where, *unable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert {row["server"] for row in rows} == {"webemu", "fts5"}
    assert len({row["what"] for row in rows}) == 2
    assert all(row["good"] == 1 and row["per_core_s"] > 0 and row["memory_mb"] > 0 for row in rows)
    assert done.stdout.count("times fts5") == 2
    assert "bm25: left out" in done.stderr
    assert "no-python" in done.stderr
    assert "lucene: left out: --lucene is not given" in done.stderr
    assert "pywb: left out" in done.stderr
