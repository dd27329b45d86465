"""HAR files: what browsers saved is ingested, searched and served as it came."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crawls import ingest
from webemu.emulator.types import PageRequest, Query
from webemu.index.catalog import Catalog
from webemu.index.open import open_world
from webemu.ingest.har import iter_records
from webemu.ingest.inspection import inspect_file
from webemu.ingest.records import Skip

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def entry(url: str, text: str | None = "", *, method: str = "GET", status: int = 200, **content: Any) -> dict[str, Any]:
    """Return an entry; `content` are further members of the response's content."""
    members = {"size": len(text or "x"), "mimeType": "text/html", **content} | ({} if text is None else {"text": text})
    headers = [
        {"name": "Content-Type", "value": f"{members['mimeType']}; charset=iso-8859-1"},
        {"name": "content-encoding", "value": "br"},
        {"name": ":status", "value": "200"},
        {"name": "X-Note", "value": "one\r\nX-Evil: two"},
    ]
    response = {"status": status, "statusText": "OK", "headers": headers, "content": members}
    request = {"method": method, "url": url}
    return {"startedDateTime": "2024-11-30T13:00:00.123+01:00", "request": request, "response": response}


ENTRIES: list[Any] = [
    entry("https://one.example/", "<!doctype html><title>Café</title><main><p>The harbour café of Velmora — €5."),
    entry("https://one.example/pixel.png", base64.b64encode(PIXEL).decode(), encoding="base64", mimeType="image/png"),
    entry("https://one.example/old", "", status=301),
    entry("https://one.example/empty", None, size=0),
    entry("https://one.example/api", "{}", method="POST"),
    entry("https://one.example/api", "", method="OPTIONS"),
    entry("data:text/plain,x", "x"),
    entry("https://one.example/blocked", None, status=0),
    entry("https://one.example/cached", None, status=304),
    entry("https://one.example/big.mp4", None, size=999),
    entry("https://one.example/odd", "###", encoding="base64"),
    {**entry("https://one.example/when", "x"), "startedDateTime": "yesterday"},
    None,
]
REASONS = [
    *("other-method", "no-target-uri", "no-response", "not-modified", "no-body", "no-body", "bad-date"),
    "no-target-uri",
]


@pytest.fixture
def har(tmp_path: Path) -> Path:
    path = tmp_path / "session.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": ENTRIES}}))
    return path


def test_every_entry_is_a_record_or_counted() -> None:
    items = list(iter_records(ENTRIES))
    assert [item.reason for item in items if isinstance(item, Skip)] == REASONS
    records = [item for item in items if isinstance(item, bytes)]
    assert len(records) == 7
    head = records[0].partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert head == [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/html; charset=utf-8",
        b"X-Crawler-content-encoding: br",
        b"X-Note: one X-Evil: two",
    ]
    assert b"WARC-Date: 2024-11-30T12:00:00Z" in records[0]


def test_what_a_browser_saved_is_found_and_served(har: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "c", har)
    world = open_world(tmp_path / "c")
    assert [hit.url for hit in world.search(Query("harbour café")).hits] == ["https://one.example/"]
    assert "café of Velmora — €5" in world.fetch(PageRequest("https://one.example/")).content
    capture, payload = world.payload(PageRequest("https://one.example/pixel.png"))
    assert (capture.status, payload.body) == (200, PIXEL)
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        drops = dict(catalog.db.execute("SELECT reason, records FROM drop_reasons").fetchall())
    assert {reason: REASONS.count(reason) for reason in REASONS}.items() <= drops.items()


@pytest.mark.parametrize("damage", ["cut", "other shape"])
def test_a_damaged_file_is_one_loss(har: Path, damage: str) -> None:
    text = har.read_text()
    har.write_text(text[:-3] if damage == "cut" else text.replace('"entries": [', '"entries": 1, "others": ['))
    assert [report.reasons for report in inspect_file(str(har))] == [("damaged-har",)]
