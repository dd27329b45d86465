"""`benchmarks.scale`: what it measures of a small web, files that leave the page cache, and fits that are known."""

import sys
from pathlib import Path

import pytest

from benchmarks.scale import measure_size
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


@pytest.mark.slow
def test_a_small_web_is_measured_from_generation_to_cold_reads(tmp_path: Path) -> None:
    figures = measure_size(400, tmp_path, 2)
    assert figures["pages"] > 300
    assert all(figures[step]["core_s"] > 0 and figures[step]["rss"] > 1e7 for step in ("generate", "ingest", "build"))
    assert all(figures["disk"].values())
    assert len({one["bytes"] for one in figures["cold"]}) == 1
    assert all(one["search"]["asked"] == 40 and one["own"] > 1e7 for one in figures["cold"])
    table = build_report([figures, {**figures, "pages": 10 * figures["pages"]}])
    assert "| search, warm, core-us |" in table
    assert "exponent" in table.splitlines()[0]
