"""`benchmarks.scale`: what it measures of a small web, files that leave the page cache, and fits that are known."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.scale import KeptFigures, measure_size
from benchmarks.scale_model import build_report, fit_power_law
from benchmarks.scale_queries import count_resident_bytes, drop_from_cache


def test_a_power_is_found_again() -> None:
    pages = [1e4, 1e5, 1e6]
    factor, exponent = fit_power_law(pages, [3 * one**0.5 for one in pages])
    assert (factor, exponent) == pytest.approx((3, 0.5))


@pytest.mark.skipif(sys.platform != "linux", reason="mincore as Linux has it")
def test_what_is_in_the_page_cache_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    assert count_resident_bytes(file) == 1 << 20
    drop_from_cache(file)
    assert count_resident_bytes(file) in (0, 1 << 20), "a file system of memory keeps it"


def test_a_measurement_goes_on_after_the_last_finished_step(tmp_path: Path) -> None:
    record = KeptFigures(tmp_path, "9 pages")
    assert record.measure("ingest", lambda: 5) == 5
    with pytest.raises(KeyboardInterrupt):
        record.measure("build", _interrupt)
    record = KeptFigures(tmp_path, "9 pages")
    assert record.measure("ingest", _interrupt) == 5
    assert record.measure("build", lambda: 6) == 6
    assert KeptFigures(tmp_path, "9 pages").resumed == ["build"], "a third run knows it too"
    with pytest.raises(ValueError, match="has figures of 9 pages, not of 10 pages"):
        KeptFigures(tmp_path, "10 pages")


def _interrupt() -> int:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_small_web_is_measured_from_generation_to_cold_reads(tmp_path: Path) -> None:
    web, dump = tmp_path / "web", tmp_path / "dump"
    web.mkdir()
    dump.mkdir()
    figures = measure_size(400, web, 2)
    assert measure_size(5000, dump, 2, texts=web / "c", ingest_only=True) is None
    finished_steps = json.loads((dump / "figures.json").read_text())
    larger_figures = measure_size(5000, dump, 2, texts=web / "c")
    assert figures
    assert larger_figures
    assert larger_figures["generate"] == finished_steps["generate"]
    assert larger_figures["ingest"] == finished_steps["ingest documents-0000?.jsonl"], "it was ingested again"
    assert larger_figures["resumed"] == []
    assert figures["pages"] > 300
    assert larger_figures["pages"] == 5000
    assert all(figures[step]["core_s"] > 0 and figures[step]["rss"] > 1e7 for step in ("generate", "ingest", "build"))
    assert [name for name, size in figures["disk"].items() if not size] == ["copies of dumps"]
    assert all(larger_figures["disk"].values())
    assert len({one["bytes"] for one in figures["cold"]}) == 1
    assert all(one["search"]["asked"] == 40 and one["own"] > 1e7 for one in figures["cold"])
    assert all(
        larger_figures["warm"][kind]["core_us"] > 0 for kind in ("search", "engine", "suggest", "batch", "fetch")
    )
    table = build_report([figures, larger_figures])
    assert "| search, warm, core-us |" in table
    assert "| exponent | misses by |" in table.splitlines()[0]
