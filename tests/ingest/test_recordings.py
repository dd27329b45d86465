"""Cassettes and logs of search calls: each exchange is found by the request that a client sends."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.crawls import ingest
from webemu.emulator.exchange_keys import make_keys
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.open import open_world
from webemu.ingest.formats.detection import detect_format

JSON = {b"content-type": b"application/json"}
VCRPY = """interactions:
- request:
    body: '{"q": "tea", "api_key": "S3CRET"}'
    headers:
      Content-Type: [application/json]
      X-API-KEY: [S3CRET]
    method: POST
    uri: https://google.serper.dev/search
  response:
    body: {string: '{"organic": []}'}
    headers:
      Content-Type: [application/json]
      Content-Encoding: [gzip]
    status: {code: 200, message: OK}
- request: {body: null, headers: {}, method: GET, uri: 'https://one.example/picture'}
  response:
    body: {string: !!binary iVBORw==}
    headers: {Content-Type: [image/png]}
    status: {code: 200, message: OK}
- request: {body: null, headers: {}, method: GET, uri: 'https://one.example/none'}
  response: null
version: 1
"""
RUBY = """---
http_interactions:
- request:
    method: get
    uri: https://two.example/page
    body: {encoding: US-ASCII, string: ''}
    headers: {}
  response:
    status: {code: 200, message: OK}
    headers:
      Content-Type:
      - text/html
    body:
      encoding: UTF-8
      string: <title>Two</title><p>The harbour of the second town.
  recorded_at: Tue, 01 Nov 2022 04:58:44 GMT
recorded_with: VCR 6.0
"""
LOG: list[Any] = [
    {"searchParameters": {"q": "tea", "type": "search", "engine": "google"}, "organic": [{"link": "https://a.example"}]},
    {"query": "tea", "response": {"searchParameters": {"q": "tea", "num": 5, "type": "news"}, "news": []}},
    {"request": {"query": "tea", "max_results": 3}, "response": {"query": "tea", "results": []},
     "time": "2024-05-01T10:00:00Z"},
    {"request": {"urls": ["https://a.example/"]}, "response": {"results": [], "failed_results": []}},
    {"query": "green tea", "response": {"code": 200, "status": 20000, "data": [{"url": "https://a.example/"}]}},
    {"response": {"code": 200, "data": {"url": "https://a.example/x", "content": "Leaves"}}},
    {"url": "https://r.jina.ai/https://b.example/", "response": "Title: B"},
    {"url": "https://api.search.brave.com/res/v1/web/search", "params": {"q": "tea"}, "response": {"web": {}},
     "time": 1700000000},
    {"url": "https://other.example/find", "request": {"find": "tea"}, "status": 429,
     "response": {"error": "slow down"}},
    {"query": "tea", "response": {"pages": []}},
    [],
]  # fmt: skip
CALLS = [
    ("POST", "https://google.serper.dev/search", {"q": "tea"}),
    ("POST", "https://google.serper.dev/news", {"q": "tea", "num": 5}),
    ("POST", "https://api.tavily.com/search", {"query": "tea", "max_results": 3, "api_key": "mine"}),
    ("POST", "https://api.tavily.com/extract", {"urls": ["https://a.example/"]}),
    ("GET", "https://s.jina.ai/?q=green+tea", None),
    ("GET", "https://r.jina.ai/https://a.example/x", None),
    ("GET", "https://r.jina.ai/https://b.example/", None),
    ("GET", "https://api.search.brave.com/res/v1/web/search?q=tea", None),
    ("POST", "https://other.example/find", {"find": "tea"}),
]


def answer_to(world: World, method: str, url: str, body: Any = None) -> tuple[int, bytes] | None:
    encoded = b"" if body is None else json.dumps(body).encode()
    keys = make_keys(method, url, JSON if body is not None else {}, encoded)
    exchange = world.find_exchange(keys, "searches")
    return (exchange.capture.status, exchange.payload.body) if exchange else None


def drops_of(collection: Path) -> dict[str, int]:
    with Catalog(collection, read_only=True) as catalog:
        return dict(catalog.db.execute("SELECT reason, records FROM drop_reasons").fetchall())


@pytest.mark.parametrize("name", ["cassette.yaml", "cassette.json"])
def test_a_cassette_of_vcrpy(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(VCRPY)
    if name.endswith("json"):
        body = {"base64_string": "iVBORw=="}
        request, response = (
            {"method": "GET", "uri": "https://one.example/picture"},
            {"status": {"code": 200}, "body": body},
        )
        call = {"request": {"method": "POST", "uri": "https://google.serper.dev/search", "body": '{"q": "tea"}'}}
        answer = {"status": {"code": 200, "message": "OK"}, "body": {"string": '{"organic": []}'}, "headers": {}}
        rows = [{**call, "response": answer}, {"request": request, "response": response}, {"request": request}]
        path.write_text(json.dumps({"version": 1, "interactions": rows}))
    ingest(tmp_path / "c", path)
    world = open_world(tmp_path / "c")
    assert answer_to(world, "POST", "https://google.serper.dev/search", {"q": "tea"}) == (200, b'{"organic": []}')
    assert answer_to(world, "GET", "https://one.example/picture") == (200, b"\x89PNG")
    assert answer_to(world, "POST", "https://google.serper.dev/search", {"q": "other"}) is None
    assert drops_of(tmp_path / "c") == {"no-date": 2, "no-response": 1}
    assert b"S3CRET" not in b"".join(copy.read_bytes() for copy in (tmp_path / "c" / "warc").iterdir())


def test_a_cassette_of_vcr(tmp_path: Path) -> None:
    path = tmp_path / "two.yml"
    path.write_text(RUBY)
    ingest(tmp_path / "c", path)
    world = open_world(tmp_path / "c")
    (capture,) = world.captures("https://two.example/page")
    assert capture.time == 1667278724
    assert answer_to(world, "GET", "https://two.example/page") is not None


def test_a_log_of_calls(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LOG) + "{broken\n")
    ingest(tmp_path / "c", path)
    world = open_world(tmp_path / "c")
    answers = [answer_to(world, *call) for call in CALLS]
    assert [answer and answer[0] for answer in answers] == [200] * 8 + [429]
    assert answers[0] == (200, json.dumps(LOG[0], separators=(",", ":")).encode())
    assert answers[6] == (200, b"Title: B")
    assert drops_of(tmp_path / "c") == {"no-date": 7, "unknown-service": 1, "bad-json": 2}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (VCRPY, "cassette"),
        (RUBY, "cassette"),
        ("# by hand\n" + VCRPY, "cassette"),
        (json.dumps(LOG[0]), "service-log"),
        (json.dumps({"url": "https://a.example/", "text": "a page"}), "jsonl"),
        (json.dumps({"id": 1, "contents": "a page", "response": "x"}), "jsonl"),
        ("openapi: 3.0.0\npaths:\n  interactions:\n", None),
    ],
)
def test_files_are_told_apart(content: str, kind: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content + "\n")
    container_format = detect_format(path)
    assert (container_format and container_format.name) == kind


@pytest.mark.parametrize(
    "content", [VCRPY[:-200].replace("{string", "{string: {", 1), "interactions: 7\n", "interactions:\n- !ruby/x {}\n"]
)
def test_a_damaged_cassette_is_one_loss(content: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    ingest(tmp_path / "c", path)
    assert drops_of(tmp_path / "c") == {"damaged-cassette": 1}
