"""Searches by meaning over the server: their vectors are made together, and the event loop waits for none."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.emulator.world import World

np = pytest.importorskip("numpy")
pytest.importorskip("usearch", reason="the extra dense is not installed")

from webemu.index.dense import build  # noqa: E402
from webemu.index.dense.earlier_vectors import EmbeddingSpec  # noqa: E402
from webemu.index.dense.encoder import QueryEncoder  # noqa: E402
from webemu.index.dense.ranker import HybridRanker  # noqa: E402
from webemu.index.dense.store import VectorStore  # noqa: E402
from webemu.index.engine import RankEngine  # noqa: E402
from webemu.index.manifest import current_id, read_manifest  # noqa: E402
from webemu.index.open import open_snapshot  # noqa: E402

QUERIES = [f"street {number}" for number in range(24)]


class Model:
    """The sum of a random direction per word, after a while; remembers how many texts were given at once."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.batches: list[int] = []

    def __call__(self, texts: Sequence[str]) -> Any:
        self.batches.append(len(texts))
        time.sleep(self.seconds)
        rows = [sum(np.random.default_rng(crc32(word.encode())).normal(size=32) for word in t.split()) for t in texts]
        return np.array([row / np.linalg.norm(row) for row in rows])


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a snapshot with vectors."""
    root = tmp_path_factory.mktemp("meaning")
    captures = [
        CaptureSpec(f"http://one{number}.org/", html(f"Page {number}", f"of street {number}")) for number in range(40)
    ]
    ingest(root / "c", write(root / "a.warc.gz", captures))
    wish = EmbeddingSpec(model="words", digest="1", passages=1, precision="f32")
    base = build.read_base_manifest(root / "c", current_id(root / "c") or "")
    return root / "c" / "snapshots" / build.embed_snapshot(root / "c", base, wish, lambda: (Model(0), Model(0)))


@pytest.fixture
def model() -> Model:
    return Model(0.05)


@pytest.fixture
def app(snapshot: Path, model: Model, tmp_path: Path) -> App:
    words = open_snapshot(snapshot.parent.parent, snapshot.name)
    engine = words.ranker
    assert isinstance(engine, RankEngine)
    dense = read_manifest(snapshot).dense
    assert dense is not None
    store = VectorStore(snapshot / "dense", dense.dimensions, dense.scale, list(engine.doc_values.order))
    finders = {"full": engine, "hybrid": HybridRanker(engine, store, QueryEncoder(model), "hybrid")}
    return create_app(
        Config(root=tmp_path), world=World(snapshot.name, engine, words.page_store, words.figures(), finders)
    )


def ask_all(app: App, asks: Sequence[dict[str, Any]]) -> list[httpx.Response]:
    async def send() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://webemu") as client:
            return await asyncio.gather(*(client.request(**ask) for ask in asks))

    return asyncio.run(send())


def tops(answers: Sequence[httpx.Response]) -> list[str]:
    return [answer.json()["results"][0]["url"] for answer in answers]


SESSION = [{"method": "POST", "url": "/v1/sessions", "json": {"engine": "hybrid"}}]
EXPECTED_URLS = [f"http://one{number}.org/" for number in range(24)]


def test_requests_at_once_are_encoded_together(app: App, model: Model) -> None:
    params = [{"q": query, "engine": "hybrid"} for query in QUERIES]
    answers = ask_all(app, [{"method": "GET", "url": "/v1/search", "params": one} for one in params])
    assert tops(answers) == EXPECTED_URLS
    assert sum(model.batches) == 24
    assert len(model.batches) <= 4


def test_members_of_a_batch_are_encoded_together(app: App, model: Model) -> None:
    (answer,) = ask_all(
        app, [{"method": "POST", "url": "/v1/search", "json": {"queries": QUERIES, "engine": "hybrid"}}]
    )
    assert [one["results"][0]["url"] for one in answer.json()["answers"]] == EXPECTED_URLS
    assert len(model.batches) <= 4


def test_sessions_are_encoded_together_too(app: App, model: Model) -> None:
    (opened,) = ask_all(app, SESSION)
    headers = {"X-Webemu-Session": opened.json()["session"]}
    asks = [{"method": "GET", "url": "/v1/search", "params": {"q": query}, "headers": headers} for query in QUERIES]
    assert tops(ask_all(app, asks)) == EXPECTED_URLS
    assert len(model.batches) <= 4
    body = {"queries": [f"{query} again" for query in QUERIES]}
    (answer,) = ask_all(app, [{"method": "POST", "url": "/v1/search", "json": body, "headers": headers}])
    assert answer.status_code == 200
    assert sum(model.batches) == 48
    assert len(model.batches) <= 8


def test_a_session_asks_for_an_engine_in_a_request(app: App, model: Model) -> None:
    (opened,) = ask_all(app, [{"method": "POST", "url": "/v1/sessions", "json": {}}])
    ask = {"method": "GET", "url": "/v1/search", "headers": {"X-Webemu-Session": opened.json()["session"]}}
    good, bad = ask_all(app, [ask | {"params": {"q": "street 3", "engine": name}} for name in ("hybrid", "none")])
    assert tops([good]) == ["http://one3.org/"]
    assert bad.status_code == 400
    assert model.batches == [1]


def test_a_model_that_fails_is_said_to_each(app: App, model: Model) -> None:
    model.seconds = -1
    params = {"q": "street 3", "engine": "hybrid"}
    first, second = ask_all(app, [{"method": "GET", "url": "/v1/search", "params": params}] * 2)
    assert (first.status_code, second.status_code) == (500, 500)
    model.seconds = 0
    assert tops(ask_all(app, [{"method": "GET", "url": "/v1/search", "params": params}])) == ["http://one3.org/"]
