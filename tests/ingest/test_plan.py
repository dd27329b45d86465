"""`webemu plan`: the model finds the prices of known figures, samples tell the content of sources, and the command says
what it cannot know.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from benchmarks.plan import fit_model
from tests.crawls import CaptureSpec, html, ingest, write
from tests.in_process import run_jobs_here
from tests.ingest import flawed
from tests.ingest.containers import lz4
from webemu.emulator.cli import app
from webemu.emulator.errors import EmulatorError, SourceError
from webemu.index.catalog import Catalog
from webemu.ingest.formats import FORMATS
from webemu.ingest.planning.content import (
    COMMON_CRAWL_FILE,
    content_of_records,
    estimate_content,
    read_content,
    scale,
)
from webemu.ingest.planning.model import FIGURES, Content, Measurement, load_model, read_measurements
from webemu.ingest.planning.postings import PageText, estimate_postings_share
from webemu.ingest.planning.samples import _CUTTERS, SAMPLE_BYTES, SAMPLES
from webemu.ingest.sources import expand_archives, expand_sources

PAGES = 400
"""Pages of the crawl below: as many as make it larger than what is sampled, a sixteenth of the usual bytes."""


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["plan", *arguments, "-q"])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four WARC files, whose pages do not compress."""
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
    per_page = {"html_pages": 1.0, "text_pages": 0.0, "captures": 1.1, "links": 20.0, "html_bytes": 30_000.0}
    per_page |= {"text_bytes": 5_000.0, "postings": 0.5, "archive_bytes": 6_000.0, "copy_bytes": 0.0}
    values = {name: changed.get(name, value) * pages for name, value in per_page.items()}
    return Content(pages=pages, **values)  # type: ignore[typeddict-item]


def measurement(pages: float, noise: float, **changed: float) -> Measurement:
    known_content = content(pages, **changed)
    costs = (0.001 * pages + 5e-8 * known_content["html_bytes"] + 2e-8 * known_content["text_bytes"]) * (1 + noise)
    figures = dict.fromkeys(FIGURES, 1.0) | {
        "ingest_core_seconds": costs,
        "search_core_seconds": 3e-4 + 1e-8 * known_content["postings"],
    }
    return Measurement(name=str(pages), held_out=False, figures=figures, **known_content)


def test_the_model_finds_known_prices_from_noisy_figures() -> None:
    noisy = [
        measurement(5_000, 0.02, html_bytes=15_000),
        measurement(20_000, -0.02, text_bytes=9_000),
        measurement(40_000, 0.01, html_bytes=90_000),
        measurement(80_000, -0.01, text_bytes=2_000, links=50, postings=0.3),
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
    disk = [name for name in FIGURES if name.startswith("disk_")]
    for row in held_out:
        prediction = model.predict(row)
        for names in (["ingest_core_seconds"], ["build_core_seconds"], disk):
            measured = sum(row["figures"][name] for name in names)
            assert sum(prediction[name] for name in names) == pytest.approx(measured, rel=0.15), (row["name"], names)


@pytest.mark.slow
def test_samples_tell_the_content_of_large_sources(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webemu.ingest.planning.samples.SAMPLE_BYTES", SAMPLE_BYTES // 16)
    sources = expand_sources([str(crawl)]).sources
    total_bytes = sum(source.path.stat().st_size for source in sources)
    assert total_bytes > 2 * SAMPLES * SAMPLE_BYTES // 16
    steps: list[tuple[int, int]] = []
    estimate = estimate_content(sources, 2, lambda done, total: steps.append((done, total)))
    ingest(tmp_path / "c", *(source.path for source in sources), snapshot=False)
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        actual = read_content(catalog)
    assert actual["pages"] == PAGES
    assert estimate.sampled_pages < PAGES
    for name in ("pages", "html_pages", "captures", "html_bytes", "text_bytes", "archive_bytes"):
        assert estimate.content[name] == pytest.approx(actual[name], rel=0.1), name  # type: ignore[literal-required]
    assert steps[-1] == (SAMPLES, SAMPLES)


def test_small_sources_are_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", [CaptureSpec("https://a.example/", html("A", "word " * 90))])
    content, sampled_pages, _, _ = estimate_content(expand_sources([str(path)]).sources, 1, lambda done, total: None)
    assert (content["pages"], sampled_pages, content["archive_bytes"]) == (1.0, 1, path.stat().st_size)


ROWS = 900
"""Pages of each container below, whose bytes are many times those of its samples."""


def _texts() -> list[str]:
    random = Random(3)
    return [
        " ".join(["the river of"] + [random.randbytes(3).hex() for _ in range(40 + row % 60)]) for row in range(ROWS)
    ]


def _records() -> list[bytes]:
    return [
        flawed.response(f"https://a.example/{number}", html(f"Page {number}", text).encode())
        for number, text in enumerate(_texts())
    ]


def _arc_records() -> list[bytes]:
    heading = b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n"
    parts = [b"filedesc://file.arc 0.0.0.0 20080430204825 text/plain %d\n" % len(heading) + heading + b"\n"]
    for number, text in enumerate(_texts()):
        block = flawed.HTTP + html(f"Page {number}", text).encode()
        line = b"http://a.example/%d 1.2.3.4 20080430204825 text/html %d\n" % (number, len(block))
        parts.append(line + block + b"\n")
    return parts


def _lines() -> list[bytes]:
    rows = [{"url": f"https://a.example/{n}", "title": f"Page {n}", "text": text} for n, text in enumerate(_texts())]
    return [json.dumps(row).encode() + b"\n" for row in rows]


def _calls() -> list[bytes]:
    rows = [{"url": f"https://a.example/{n}", "response": text, "time": 1732968000} for n, text in enumerate(_texts())]
    return [json.dumps(row).encode() + b"\n" for row in rows]


def _parquet() -> bytes:
    rows = [json.loads(line) | {"vector": [float(number)] * 90} for number, line in enumerate(_lines())]
    target = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), target, row_group_size=ROWS // 3)
    return target.getvalue()


CONTAINERS: dict[str, Callable[[], bytes]] = {
    "a.warc": lambda: b"".join(_records()),
    "a.warc.gz": lambda: flawed.packed(*_records()),
    "one-member.warc.gz": lambda: gzip.compress(b"".join(_records())),
    "a.warc.zst": lambda: b"".join(map(zstandard.compress, _records())),
    "one-frame.warc.zst": lambda: zstandard.compress(b"".join(_records())),
    "a.warc.lz4": lambda: b"".join(map(lz4, _records())),
    "a.arc": lambda: b"".join(_arc_records()),
    "a.arc.gz": lambda: flawed.packed(*_arc_records()),
    "a.jsonl": lambda: b"".join(_lines()),
    "a.jsonl.gz": lambda: gzip.compress(b"".join(_lines())),
    "a.jsonl.zst": lambda: zstandard.compress(b"".join(_lines())),
    "a.parquet": _parquet,
    "calls.jsonl": lambda: b"".join(_calls()),
    "calls.jsonl.gz": lambda: gzip.compress(b"".join(_calls())),
    "calls.jsonl.zst": lambda: zstandard.compress(b"".join(_calls())),
}
"""A function that makes a file with the pages above, by the name of the file."""


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of a few rows, so that small files are large."""
    monkeypatch.setattr("webemu.ingest.planning.samples.SAMPLE_BYTES", 6000)
    monkeypatch.setattr("webemu.ingest.planning.samples.DUMP_SAMPLE_BYTES", 4000)
    monkeypatch.setattr("webemu.ingest.planning.content.run_jobs", run_jobs_here)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("name", CONTAINERS)
def test_samples_of_every_format_tell_its_content(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(CONTAINERS[name]())
    content, sampled_pages, indivisible, unrecognized = estimate_content(
        expand_sources([str(path)]).sources, 1, lambda done, total: None
    )
    assert (indivisible, unrecognized) == ([], [])
    assert 10 < sampled_pages < ROWS / 2
    assert content["pages"] == pytest.approx(ROWS, rel=0.2)
    assert content["text_bytes"] == pytest.approx(sum(map(len, _texts())), rel=0.2)
    # A search for a title reads the postings of "Page" and of a number that one page has. Calls have no titles, and are
    # asked for words of the beginning of a text, such as "the river of".
    assert content["postings"] / content["pages"] == pytest.approx(0.5 if "calls" in name else 1.0, abs=0.1)
    is_dump = ".jsonl" in name or ".parquet" in name
    assert content["text_pages"] == (content["pages"] if is_dump else 0)
    assert (content["copy_bytes"] > 0) == (name not in ("a.warc", "a.warc.gz"))


@pytest.mark.usefixtures("small_samples")
def test_sources_of_several_formats_count_by_their_shares(tmp_path: Path) -> None:
    for name in ("a.warc.gz", "a.jsonl", "one-frame.warc.zst"):
        (tmp_path / name).write_bytes(CONTAINERS[name]())
    paths = [str(tmp_path / name) for name in ("a.warc.gz", "a.jsonl", "one-frame.warc.zst")]
    content = estimate_content(expand_sources(paths).sources, 1, lambda done, total: None).content
    assert content["html_pages"] == pytest.approx(2 * ROWS, rel=0.2)
    assert content["text_pages"] == pytest.approx(ROWS, rel=0.2)
    assert content["archive_bytes"] == sum(Path(path).stat().st_size for path in paths)


def test_postings_are_those_of_the_words_of_titles() -> None:
    pages = [PageText(f"Harbour {number}", "the harbour" if number % 2 else "the river", "en") for number in range(100)]
    assert estimate_postings_share(pages) == pytest.approx(
        1.0, abs=0.02
    )  # "harbour" is in all titles, the number in one
    untitled = [page._replace(title=None) for page in pages]
    assert estimate_postings_share(untitled) == pytest.approx(
        1.5, abs=0.02
    )  # "the" is in all, "harbour" in half of them
    of_one_word = [page._replace(title="Harbour") for page in pages]
    assert estimate_postings_share(of_one_word) > 1  # one word makes no query, so texts do
    unsearchable = [*untitled, *[PageText(None, "", None)] * 100]
    assert estimate_postings_share(unsearchable) == pytest.approx(0.75, abs=0.02)
    assert (estimate_postings_share(pages[:1]), estimate_postings_share([])) == (0, 0)


def test_many_sources_of_a_page_each_have_postings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.ingest.planning.content.run_jobs", run_jobs_here)
    monkeypatch.setattr("webemu.ingest.planning.content.MAX_TEXTS", 20)
    for number in range(60):
        row = {"url": f"https://a.example/{number}", "title": f"Harbour {number}", "text": "the tide " * 30}
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(row))
    sources = expand_sources([str(tmp_path / "*.jsonl")]).sources
    content = estimate_content(sources, 1, lambda done, total: None).content
    assert (content["pages"], content["postings"]) == (60, pytest.approx(60, rel=0.1))


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("damage", [slice(-4, None), slice(0, None, 2)])
def test_a_damaged_parquet_file_counts_as_what_ingest_finds_in_it(damage: slice, tmp_path: Path) -> None:
    data = bytearray(_parquet())
    del data[damage]
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + data[4:])
    (tmp_path / "a.jsonl").write_bytes(CONTAINERS["a.jsonl"]())
    paths = [str(tmp_path / name) for name in ("a.parquet", "a.jsonl")]
    content = estimate_content(expand_sources(paths).sources, 1, lambda done, total: None).content
    assert content["pages"] == pytest.approx(ROWS, rel=0.2)


def test_sources_without_content_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the sources hold no archive"):
        expand_archives([str(tmp_path)])
    for name in ("a.warc.gz", "b.warc"):
        (tmp_path / name).touch()
    sources = expand_archives([str(tmp_path)]).sources
    with pytest.raises(SourceError, match=r"a\.warc\.gz is empty, and so are all other sources that are here"):
        estimate_content(sources, 1, lambda done, total: None)


def test_every_format_is_cut_or_told_to_be_whole() -> None:
    assert {container_format.name for container_format in FORMATS} == {*_CUTTERS, "wacz", "har", "har.gz", "cassette"}


@pytest.mark.usefixtures("small_samples")
def test_what_cannot_be_sampled_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "large.wacz", "w") as archive:
        archive.writestr("datapackage.json", b"{}")
        archive.writestr("archive/a.warc.gz", flawed.packed(*_records()))
    sources = expand_sources([str(tmp_path / "large.wacz")]).sources
    with pytest.raises(SourceError, match=r"no part of large\.wacz can be read by itself"):
        estimate_content(sources, 1, lambda done, total: None)
    (tmp_path / "a.warc.gz").write_bytes(flawed.packed(*_records()))
    size = (tmp_path / "a.warc.gz").stat().st_size
    (tmp_path / "noise.warc.gz").write_bytes(Random(2).randbytes(size))
    output = run(*(str(tmp_path / name) for name in ("a.warc.gz", "large.wacz", "noise.warc.gz")))[1]
    assert "large.wacz not sampled, taken to be like the others; noise.warc.gz of no known format" in output
    figures = json.loads(run(str(tmp_path / "a.warc.gz"), str(tmp_path / "noise.warc.gz"), "--json")[1])
    assert figures["content"]["pages"] == pytest.approx(ROWS, rel=0.3)


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
