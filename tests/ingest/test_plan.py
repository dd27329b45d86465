"""`webemu plan`: the model finds the prices of known figures, samples tell the content of sources, and the command says
what it cannot know.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from benchmarks.plan import fit_model
from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.cli import app
from webemu.emulator.errors import EmulatorError, SourceError
from webemu.index.catalog import Catalog
from webemu.ingest.planning.content import (
    COMMON_CRAWL_FILE,
    SAMPLE_BYTES,
    SAMPLES,
    content_of_records,
    estimate_content,
    read_content,
    scale,
)
from webemu.ingest.planning.model import FIGURES, Content, Measurement, load_model, read_measurements
from webemu.ingest.sources import expand_sources

PAGES = 1600
"""Pages of the crawl below: as many as make it larger than what is sampled, a quarter of the usual bytes."""


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["plan", *arguments, "-q"])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four WARC files of 5 MB each, whose pages do not compress."""
    folder, random = tmp_path_factory.mktemp("plan"), Random(1)
    for number in range(4):
        words = [[random.randbytes(5).hex() for _ in range(1200 + 900 * number)] for _ in range(PAGES // 4)]
        specs = [
            CaptureSpec(f"https://a{number}.example/{n}", html(f"Page {n}", " ".join(text)))
            for n, text in enumerate(words)
        ]
        write(folder / f"{number}.warc.gz", specs)
    return folder


def content(pages: float, **changed: float) -> Content:
    per_page = {"captures": 1.1, "links": 20.0, "html_bytes": 30_000.0, "text_bytes": 5_000.0, "archive_bytes": 6_000.0}
    values = {name: changed.get(name, value) * pages for name, value in per_page.items()}
    return Content(pages=pages, **values)  # type: ignore[typeddict-item]


def measurement(pages: float, noise: float, **changed: float) -> Measurement:
    known_content = content(pages, **changed)
    costs = (0.001 * pages + 5e-8 * known_content["html_bytes"] + 2e-8 * known_content["text_bytes"]) * (1 + noise)
    figures = dict.fromkeys(FIGURES, 1.0) | {
        "ingest_core_seconds": costs,
        "search_core_seconds": 3e-4 + 1e-12 * known_content["text_bytes"],
    }
    return Measurement(name=str(pages), held_out=False, figures=figures, **known_content)


def test_the_model_finds_known_prices_from_noisy_figures() -> None:
    noisy = [
        measurement(5_000, 0.02, html_bytes=15_000),
        measurement(20_000, -0.02, text_bytes=9_000),
        measurement(40_000, 0.01, html_bytes=90_000),
        measurement(80_000, -0.01, text_bytes=2_000, links=50),
    ]
    model = fit_model(noisy)
    expected = measurement(1_000_000, 0, html_bytes=60_000)
    prediction = model.predict(expected)
    assert prediction["ingest_core_seconds"] == pytest.approx(expected["figures"]["ingest_core_seconds"], rel=0.05)
    assert prediction["search_core_seconds"] == pytest.approx(expected["figures"]["search_core_seconds"], rel=1e-6)
    assert all(price >= 0 for prices in model.prices.values() for price in prices.values())


def test_stored_measurements_have_every_figure_and_predict_the_held_out_ones() -> None:
    measurements, model = read_measurements(), load_model()
    assert all(set(FIGURES) <= set(row["figures"]) for row in measurements)
    fitted = fit_model([row for row in measurements if not row["held_out"]])
    assert {name: pytest.approx(prices) for name, prices in model.prices.items()} == fitted.prices
    # Of smaller ones half the cost is that of starting processes.
    held_out = [row for row in measurements if row["held_out"] and row["pages"] > 4000]
    assert len(held_out) >= 4
    for row in held_out:
        prediction = model.predict(row)
        for name in ("ingest_core_seconds", "build_core_seconds"):
            assert prediction[name] == pytest.approx(row["figures"][name], rel=0.15), (row["name"], name)
        disk = [name for name in FIGURES if name.startswith("disk_")]
        measured_bytes = sum(row["figures"][name] for name in disk)
        assert sum(prediction[name] for name in disk) == pytest.approx(measured_bytes, rel=0.15), row["name"]


def test_samples_tell_the_content_of_large_sources(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webemu.ingest.planning.content.SAMPLE_BYTES", SAMPLE_BYTES // 4)
    sources = expand_sources([str(crawl)]).sources
    total_bytes = sum(source.path.stat().st_size for source in sources)
    assert total_bytes > 2 * SAMPLES * SAMPLE_BYTES // 4
    steps: list[tuple[int, int]] = []
    estimate, sampled_count = estimate_content(sources, 2, lambda done, total: steps.append((done, total)))
    ingest(tmp_path / "c", *(source.path for source in sources), snapshot=False)
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        actual = read_content(catalog)
    assert actual["pages"] == PAGES
    assert sampled_count < PAGES
    for name in ("pages", "captures", "html_bytes", "text_bytes", "archive_bytes"):
        assert estimate[name] == pytest.approx(actual[name], rel=0.1), name  # type: ignore[literal-required]
    assert steps[-1] == (SAMPLES, SAMPLES)


def test_small_sources_are_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", [CaptureSpec("https://a.example/", html("A", "word " * 90))])
    estimate, sampled_count = estimate_content(expand_sources([str(path)]).sources, 1, lambda done, total: None)
    assert (estimate["pages"], sampled_count, estimate["archive_bytes"]) == (1.0, 1, path.stat().st_size)


def test_what_cannot_be_sampled_is_told(tmp_path: Path) -> None:
    noise = tmp_path / "noise.jsonl.gz"
    row = json.dumps({"id": "1", "text": "x"})
    noise.write_bytes(gzip.compress(row.encode()) + Random(2).randbytes(2 * SAMPLES * SAMPLE_BYTES))
    with pytest.raises(SourceError, match="none of the sources can be sampled"):
        estimate_content(expand_sources([str(noise)]).sources, 1, lambda done, total: None)


def test_files_of_a_list_that_are_not_here_count_as_those_of_common_crawl(tmp_path: Path) -> None:
    lines = [f"crawl-data/CC-MAIN-2026-12/segments/1.{n}/warc/CC-MAIN-{n}.warc.gz" for n in range(100)]
    (tmp_path / "warc.paths.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    code, output, errors = run(
        str(tmp_path / "warc.paths.gz"), "--base-url", "https://data.example/", "--core-hour", "0.05", "--cores", "32"
    )
    assert (code, errors) == (0, "")
    assert "100 files, 100.00 GB; 100 files not here, taken as Common Crawl's" in output
    assert "pages     1.97M with text, 187.0 KB of payload, 15.0 KB of text and 82 links each" in output
    assert "on 1 machine of 32 cores" in output
    assert "for the core-hours of ingest" in output


def test_a_collection_is_a_pattern_for_another_number_of_pages(crawl: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "root" / "mine", crawl / "0.warc.gz", snapshot=False)
    arguments = ("--like", "mine", "--root", str(tmp_path / "root"), "--pages", "10M", "--json")
    figures = json.loads(run(*arguments)[1])
    assert figures["content"]["pages"] == pytest.approx(1e7)
    double = json.loads(run(*arguments, "--pages", "20M")[1])
    assert double["forecast"]["ingest_core_hours"] == pytest.approx(
        2 * figures["forecast"]["ingest_core_hours"], rel=1e-3
    )
    assert double["forecast"]["searches_per_core_second"] < figures["forecast"]["searches_per_core_second"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pages", "many"), "--pages must be a number of pages, got 'many'"),
        (("--pages", "-3"), "--pages must be a number of pages"),
        (("x.warc.gz", "--like", "mine"), "sources and --like exclude each other"),
        (("none.warc.gz",), "none.warc.gz"),
        (("--like", "none"), "there is no collection 'none'"),
    ],
)
def test_mistakes_are_told(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["plan", *arguments])
    assert done.exit_code != 0
    assert isinstance(done.exception, EmulatorError)
    assert message in done.exception.message
    assert done.exception.action


def test_records_of_common_crawl_have_its_pages() -> None:
    file_content = content_of_records(19_700, COMMON_CRAWL_FILE["archive_bytes"])
    assert file_content == pytest.approx(scale(COMMON_CRAWL_FILE, 1))
