"""Snippets of three lengths: by request, by batch, by a session's policy, through the native API and a service."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.agent_client import Client
from webemu.api.app import create_app
from webemu.emulator.config import Config
from webemu.index.open import open_world

FILLER = "Nothing of note happened in the town for many years. "
TEXT = (
    FILLER * 6
    + "The old lighthouse stands on the northern pier. It was built by Dr. Ada Holm in 1204. "
    + "The keeper lived there with five goats. His lamp burned oil until the winter of 1911. "
    + FILLER * 20
)


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    root = tmp_path_factory.mktemp("snippets")
    page = CaptureSpec("http://harbour.example/pier", html("Pier", TEXT))
    ingest(root / "c", write(root / "a.warc.gz", [page]))
    return TestClient(create_app(Config(root=root), world=open_world(root / "c")), base_url="http://127.0.0.1")


def snippet(http: TestClient, path: str = "/v1/search", session: str = "", **params: str) -> str:
    headers = {"X-Webemu-Session": session} if session else {}
    answer = http.get(path, params={"q": "lighthouse keeper", **params}, headers=headers).raise_for_status().json()
    return str(answer["results"][0].get("snippet") or answer["results"][0]["content"])


def test_a_long_snippet_is_of_whole_sentences(http: TestClient) -> None:
    long_snippet = snippet(http)
    assert long_snippet == snippet(http, snippet="long")
    assert long_snippet in TEXT
    assert 260 < len(long_snippet) <= 400
    before, _, after = TEXT.partition(long_snippet)
    assert before == "" or before.endswith((". ", "."))
    assert after == "" or after.startswith(" ")
    assert long_snippet[0].isupper()
    assert long_snippet.endswith(".")
    assert "built by Dr. Ada Holm in 1204" in long_snippet


def test_other_lengths_by_request(http: TestClient) -> None:
    assert len(snippet(http, snippet="short")) <= 260
    assert snippet(http, snippet="short") in snippet(http)
    passage = snippet(http, snippet="passage")
    assert 500 < len(passage) < 800
    assert passage in " ".join(TEXT.split())
    batch = http.post("/v1/search", json={"queries": ["lighthouse", {"q": "lighthouse", "snippet": "short"}]}).json()
    long, short = (answer["results"][0]["snippet"] for answer in batch["answers"])
    assert len(short) <= 260 < len(long)
    wrong = http.get("/v1/search", params={"q": "a", "snippet": "huge"})
    assert wrong.status_code == 400
    assert "short, long, passage" in wrong.text


def test_a_policy_decides_for_all_doors(http: TestClient) -> None:
    lengths = {}
    for style in ("", "short", "long", "passage"):
        session = http.post("/v1/sessions", json={"snippet": style}).json()["session"]
        native = snippet(http, session=session, snippet="short")
        service = snippet(http, "/searxng/search", session, format="json")
        lengths[style] = len(native), len(service)
    assert lengths[""] == lengths["short"]
    assert max(lengths["short"]) <= 260 < min(lengths["long"]) <= 400 < min(lengths["passage"])
    refused = http.post("/v1/sessions", json={"snippet": "huge"})
    assert refused.status_code == 400
    assert "has no snippet style 'huge': use one of short, long, passage" in refused.text


def test_the_client_asks_for_a_length(http: TestClient) -> None:
    with Client(app=http.app) as client:
        assert len(client.search("lighthouse keeper", snippet="short").results[0].snippet) <= 260
        (answer,) = client.search_many(["lighthouse keeper"], snippet="passage")
        assert len(answer.results[0].snippet) > 500
