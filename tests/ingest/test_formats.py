"""The laws of container formats: what holds for every value of `FORMATS`, however many there will be."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from tests.ingest.containers import CONTAINERS, account, bodies
from webemu.ingest.formats import FORMATS, TITLES, detection
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.dumps import JSONL, PARQUET
from webemu.ingest.formats.format import CopyTarget, Format
from webemu.ingest.readers import read_records
from webemu.ingest.records import Record, Skip
from webemu.ingest.repack import make_seekable
from webemu.ingest.sources import ARCHIVE_NAME, DUMP_NAME

HERE = Path(__file__).parents[2]
DOCS = HERE / "docs/dumps.md"
READER_REASONS = set(re.findall(r"^    ([a-z-]+)  ", (HERE / "ingest/records.py").read_text(), re.MULTILINE))
ROW_REASONS = {"bad-json", "no-text"}
SAMPLES = [(one, name) for name, container in CONTAINERS.items() for one in FORMATS if one.name == container.kind]
"""Every format with each of its samples."""


def write_sample(name: str, folder: Path) -> Path:
    """A sample under a name that tells nothing."""
    path = folder / "sample"
    path.write_bytes(CONTAINERS[name].data)
    return path


def accepting(path: Path, formats: tuple[Format, ...], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the formats that accept a file by its bytes, each asked alone."""
    names = []
    for candidate in formats:
        monkeypatch.setattr(detection, "FORMATS", (candidate,))
        names += [candidate.name] if detect_format(path) is candidate else []
    return names


def test_every_format_has_a_sample_and_a_name_of_its_own() -> None:
    assert {one.name for one, _ in SAMPLES} == {one.name for one in FORMATS}
    assert len({one.name for one in FORMATS}) == len(FORMATS)
    assert len(SAMPLES) == len(CONTAINERS)
    assert all(title.isascii() and title for title in TITLES)


@pytest.mark.parametrize(("file_format", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_a_sample_is_accepted_by_its_format_alone(
    file_format: Format, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sample(name, tmp_path)
    assert detect_format(path) is file_format
    assert accepting(path, FORMATS, monkeypatch) == [file_format.name]


def test_a_format_that_accepts_too_much_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = replace(JSONL, name="greedy", begins=lambda probe: True)
    assert accepting(write_sample("parquet", tmp_path), (PARQUET, greedy), monkeypatch) == ["parquet", "greedy"]


@pytest.mark.parametrize("file_format", FORMATS, ids=lambda file_format: file_format.name)
def test_names_are_taken_for_sources(file_format: Format) -> None:
    expected, other = (DUMP_NAME, ARCHIVE_NAME) if file_format.is_dump else (ARCHIVE_NAME, DUMP_NAME)
    assert file_format.suffixes
    for suffix in file_format.suffixes:
        assert suffix.startswith(".")
        assert suffix.islower()
        assert suffix.endswith(file_format.packing.suffix)
        assert expected.search(f"crawl{suffix}")
        assert expected.search(f"CRAWL{suffix.upper()}")
        assert not other.search(f"crawl{suffix}")


@pytest.mark.parametrize(("file_format", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_all_records_are_read(file_format: Format, name: str, tmp_path: Path) -> None:
    path = write_sample(name, tmp_path)
    seekable = make_seekable(path, file_format, tmp_path / "copy.warc.gz")
    assert seekable.skips == []
    assert (seekable.path == path) is file_format.is_seekable
    assert len(urls(seekable.path)) == len(bodies())


@pytest.mark.parametrize(("file_format", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_copies_are_the_same_bytes_and_leave_nothing(file_format: Format, name: str, tmp_path: Path) -> None:
    path, scratch = write_sample(name, tmp_path), tmp_path / "scratch"
    scratch.mkdir()
    copies = [tmp_path / "a", tmp_path / "b"]
    for copy in copies:
        with copy.open("wb") as file:
            assert file_format.copy_records(path, CopyTarget(file, scratch, detect_format)) == []
    assert copies[0].read_bytes() == copies[1].read_bytes()
    assert urls(copies[0]) == urls(make_seekable(path, file_format, tmp_path / "c").path)


def urls(path: Path) -> list[str | None]:
    """URLs of the pages of a readable file."""
    items = list(read_records(path))
    assert not [one for one in items if isinstance(one, Skip)]
    return [
        one.get("WARC-Target-URI")
        for one in items
        if isinstance(one, Record) and one.type not in ("warcinfo", "request")
    ]


@pytest.mark.parametrize(("file_format", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_damage_is_counted_under_a_documented_reason(file_format: Format, name: str, tmp_path: Path) -> None:
    container = CONTAINERS[name]
    rng = random.Random(name)
    for number, way in product(range(4), ("cut", "zeros", "noise")):
        data = bytearray(container.data)
        at = rng.randrange(64, len(data))
        data[at:] = b"" if way == "cut" else {"zeros": bytes(200), "noise": rng.randbytes(200)}[way] + data[at + 200 :]
        skips = account(bytes(data), tmp_path, f"{number}{file_format.suffixes[0]}").skips
        assert {skip.reason for skip in skips} <= {
            *file_format.drop_reasons,
            *READER_REASONS,
            *ROW_REASONS,
            "unreadable-source",
        }


def test_the_readme_of_the_room_lists_every_reason() -> None:
    readme = (HERE / "ingest/README.md").read_text()
    for stem, ending in (reason.split("-", 1) for one in FORMATS for reason in one.drop_reasons):
        assert f"{stem}-{ending}" in readme or (f"{stem}-" in readme and re.search(rf"\b{ending}\b", readme))


def row(file_format: Format) -> str:
    names = ", ".join(f"`{suffix}`" for suffix in file_format.suffixes)
    way = "where they are" if file_format.is_seekable else "from a copy"
    reasons = ", ".join(f"`{reason}`" for reason in file_format.drop_reasons)
    return f"| `{file_format.name}` | {file_format.title} | {names} | {way} | {reasons} |\n"


def test_the_table_of_formats_is_that_of_the_values(request: pytest.FixtureRequest) -> None:
    header = "| format | files | names | its records are read | damage is counted under |\n|---|---|---|---|---|\n"
    before, _, after = DOCS.read_text(encoding="utf-8").partition(header)
    text = before + header + "".join(map(row, sorted(FORMATS, key=lambda file_format: file_format.name)))
    text += re.sub(r"\A(?:\|.*\n)*", "", after)
    if request.config.getoption("--update-golden"):
        DOCS.write_text(text, encoding="utf-8")
    assert DOCS.read_text(encoding="utf-8") == text
