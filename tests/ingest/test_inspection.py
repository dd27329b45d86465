"""`webemu doctor FILE` accounts for every record of an archive: what ingest makes of it, and why."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.errors import EmulatorError
from webemu.index.catalog import Catalog
from webemu.ingest.inspection import EXPLANATIONS, explain_reason, inspect_file

README = Path(__file__).parents[2] / "ingest" / "README.md"
PAGES = [
    CaptureSpec("https://one.example/", html("One", "The harbour of Velmora was dredged in spring.")),
    CaptureSpec("https://one.example/old", status="301 Moved", headers=(("Location", "https://one.example/"),)),
    CaptureSpec("https://one.example/empty", b""),
]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A WARC of three captures, a record without a URL, and one that the end of the file cuts."""
    path = write(tmp_path / "a.warc.gz", PAGES)
    nameless = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
    cut = (
        b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: https://one.example/cut\r\nContent-Length: 900\r\n\r\nhel"
    )
    path.write_bytes(path.read_bytes() + gzip.compress(nameless) + gzip.compress(cut))
    return path


def test_every_record_is_accounted_for(archive: Path) -> None:
    reports = [report for report in inspect_file(str(archive)) if report.type not in ("warcinfo", "request")]
    accounts = [(report.url, report.outcome, report.reasons) for report in reports]
    assert accounts[:2] == [("https://one.example/", "page", ()), ("https://one.example/old", "capture", ())]
    assert reports[0].detail.startswith("200 text/html, ")
    assert " words" in reports[0].detail
    assert reports[1].detail.endswith("redirects to https://one.example/")
    assert ("", "dropped", ("no-target-uri",)) in accounts
    assert accounts[-1][2] == ("truncated-record",)
    assert "no WARC-Target-URI" in next(report for report in reports if report.outcome == "dropped").explain()


def test_the_account_is_that_of_ingest(archive: Path, tmp_path: Path) -> None:
    reports = list(inspect_file(str(archive)))
    ingest(tmp_path / "c", archive)
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        drops = dict(catalog.db.execute("SELECT reason, records FROM drop_reasons").fetchall())
        rows = catalog.db.execute("SELECT url, warc_record_offset FROM captures").fetchall()
        pages = catalog.db.execute("SELECT count(*) FROM pages").fetchone()
    reasons = [reason for report in reports for reason in report.reasons]
    assert {reason: reasons.count(reason) for reason in reasons} == drops
    assert {(report.url, report.offset) for report in reports if report.outcome in ("page", "capture")} == set(rows)
    assert pages == (len([report for report in reports if report.outcome == "page"]),)


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.jsonl.zst"])
def test_a_dump_is_inspected_whose_copy_is_larger_than_the_packed_file(name: str, tmp_path: Path) -> None:
    rows = [{"url": f"https://rows.example/{number}", "text": f"Row {number}. " * 30} for number in range(400)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else zstandard.compress(lines))
    reports = list(inspect_file(str(tmp_path / name)))
    assert [report.url for report in reports if report.outcome == "page"] == [row["url"] for row in rows]


def test_a_file_that_is_no_archive_is_one_loss(tmp_path: Path) -> None:
    path = tmp_path / "letter.warc.gz"
    path.write_bytes(b"Dear reader, this is no archive.")
    assert [(report.outcome, report.reasons) for report in inspect_file(str(path))] == [
        ("dropped", ("unreadable-source",))
    ]
    with pytest.raises(EmulatorError, match="does not exist"):
        list(inspect_file(str(tmp_path / "missing.warc")))


def test_every_reason_is_explained() -> None:
    text = README.read_text().partition("Nothing is lost silently")[2].partition("Memory is bounded")[0]
    listed = {word for part in re.findall(r"`([^`]+)`", text) for word in part.split() if "-" in word}
    reasons = {word for word in listed if not word.endswith(("-", "*"))}
    kinds = {f"{flaw}-{kind}" for flaw in ("damaged", "truncated") for kind in ("gzip", "lz4", "zstd", "zip")}
    assert reasons | kinds == set(EXPLANATIONS)
    assert explain_reason("record-type-continuation") == "records of the type continuation are not served"


def test_the_command_prints_losses_and_sums(archive: Path) -> None:
    command = [sys.executable, "-m", "webemu.emulator.cli", "doctor", str(archive)]
    text = subprocess.run([*command, "--losses"], capture_output=True, text=True, check=True).stdout
    assert "no-target-uri: it has no WARC-Target-URI" in text
    assert "page 2, capture 2, dropped 2" in text.splitlines()
    assert "https://one.example/old" not in text
    lines = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {json.loads(line)["outcome"] for line in lines} >= {"page", "capture", "dropped"}
