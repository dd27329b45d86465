"""More is asked at once than can be answered: what waits too long is refused, in the words of whom was asked."""

import asyncio
import http.client
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partialmethod
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import add_source
from tests.api.test_served import PATIENCE, Running, serving
from webemu.api.app import create_app
from webemu.api.proxy.accepting import MAX_ACCEPTS_PER_TURN
from webemu.api.runtime import load_shedding
from webemu.api.runtime.load_shedding import TURN_SECONDS, LoopTurns
from webemu.emulator.cached_world import CachedWorld
from webemu.emulator.config import Config
from webemu.emulator.types import Query, Results
from webemu.emulator.world import World
from webemu.index.open import open_world

AT_ONCE = 500
"""The number of requests at once: work for some seconds, however quick the machine."""
WORDS = ("river", "port", "bridge", "page", "tells", "number")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("overload") / "one"
    add_source(folder, 1, "river port bridge", pages=300)
    with serving(folder, "--cache-mb", "0") as server:
        server.get("/health")
        yield server


def send_post(server: Running, path: str, body: object) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    payload = json.dumps(body)
    connection.request("POST", path, payload, {"Content-Type": "application/json"})
    return connection


def heavy(number: int) -> dict[str, object]:
    """A small request that is answered in the event loop and takes long there."""
    queries = [f"{WORDS[number % 6]} {WORDS[n % 6]} {number} {n}" for n in range(40)]
    return {"queries": queries, "topk": 3}


def test_what_waits_too_long_is_refused_and_marked_and_health_is_answered(server: Running) -> None:
    waiting = [send_post(server, "/retrieve", heavy(number)) for number in range(AT_ONCE)]
    waiting += [send_post(server, "/serper/search", {"q": f"river {number}"}) for number in range(20)]
    assert server.get("/health")[0] == 200
    assert server.get("/metrics")[0] == 200
    statuses: Counter[int] = Counter()
    for connection in waiting:
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        statuses[answer.status] += 1
        if answer.status == 503:
            assert answer.headers["Retry-After"] == "1"
            assert answer.headers["X-Webemu-Failure"] == "infrastructure"
            assert answer.headers["X-Webemu-Reason"] == "overloaded"
            assert {"detail", "message"} & json.loads(body).keys()  # Search-R1's word, or Serper's
    assert statuses.keys() == {200, 503}
    metrics = server.get("/metrics")[2].decode()
    assert 'webemu_requests_total{place="search-r1",status="503"}' in metrics
    assert [server.get("/v1/search?q=river")[0] for _ in range(5)] == [200] * 5


def test_what_waits_on_open_connections_is_refused_too(server: Running) -> None:
    connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE) for _ in range(AT_ONCE)]
    for connection in connections:
        assert server.get("/health", connection)[0] == 200
    for number, connection in enumerate(connections):
        connection.request("POST", "/retrieve", json.dumps(heavy(number)), {"Content-Type": "application/json"})
    assert {connection.getresponse().status for connection in connections} == {200, 503}
    for connection in connections:
        connection.close()


def test_the_native_api_says_so_in_its_own_shape(server: Running) -> None:
    queries = [
        [{"q": f"{WORDS[n % 6]} {WORDS[number % 6]} {number} {n}"} for n in range(40)] for number in range(AT_ONCE)
    ]
    waiting = [send_post(server, "/v1/search", {"queries": members}) for members in queries]
    refusals = []
    for connection in waiting:
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status in (200, 503)
        if answer.status == 503:
            refusals.append(json.loads(body)["error"]["reason"])
    assert set(refusals) == {"overloaded"}


def test_a_quick_question_does_not_wait_for_the_slow_ones_before_it(server: Running) -> None:
    waiting = [send_post(server, "/retrieve", heavy(number)) for number in range(MAX_ACCEPTS_PER_TURN // 2)]
    assert server.get("/v1/search?q=river")[0] == 200
    for connection in waiting:
        assert connection.getresponse().status in (200, 503)
        connection.close()


class Turns:
    """Notes in which iteration of the event loop each piece of work was done, and works for two turns each time."""

    def __init__(self) -> None:
        self.iteration = 0
        self.worked: list[tuple[str, int]] = []

    async def count_iterations(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.iteration += 1

    def work(self, name: str) -> None:
        self.worked.append((name, self.iteration))
        end = time.perf_counter() + 2 * TURN_SECONDS
        while time.perf_counter() < end:
            pass


def test_requests_begin_one_by_one_in_their_order_where_no_time_is_left() -> None:
    turns, noted = LoopTurns(), Turns()

    async def work(name: str) -> None:
        await turns.wait()
        noted.work(name)

    async def run() -> None:
        counting = asyncio.create_task(noted.count_iterations())
        tasks = [asyncio.create_task(work(name)) for name in "abcde"]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        counting.cancel()
        await turns.wait()  # at once: no other request waits

    asyncio.run(run())
    names, iterations = zip(*noted.worked, strict=True)
    assert names == ("a", "b", "d", "e")  # the one that was cancelled takes no turn
    assert len(set(iterations)) == 4


def test_requests_that_find_time_left_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_shedding, "TURN_SECONDS", 60.0)
    turns, started_names = LoopTurns(), []

    async def work(name: str) -> None:
        await turns.wait()
        started_names.append(name)

    async def run() -> list[str]:
        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        await asyncio.sleep(0)
        in_the_first_iteration = [*started_names]
        await asyncio.gather(*tasks)
        return in_the_first_iteration

    assert asyncio.run(run()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "http://127.0.0.1/v1/search"),
        ("GET", "http://127.0.0.1/serper/search"),
        ("POST", "http://127.0.0.1/serper/search"),
        ("POST", "https://google.serper.dev/search"),
    ],
)
def test_all_that_is_answered_on_the_event_loop_takes_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, url: str
) -> None:
    """Bodies come together, after the heads: clients that send many requests at once send them so."""
    add_source(tmp_path / "c", 1, "river port bridge")
    world, noted = open_world(tmp_path / "c"), Turns()
    app = create_app(Config(root=tmp_path, collection="c"), world)

    def search_slowly(world: World, query: Query, search: Callable[[World, Query], Results]) -> Results:
        noted.work(query.text)
        return search(world, query)

    for kind in (World, CachedWorld):
        monkeypatch.setattr(kind, "search", partialmethod(search_slowly, search=kind.search))

    async def run() -> list[httpx.Response]:
        heads_have_come = asyncio.Event()

        async def send_body(query: str) -> AsyncIterator[bytes]:
            await heads_have_come.wait()
            yield json.dumps({"q": query}).encode()

        def ask(client: httpx.AsyncClient, query: str) -> Coroutine[None, None, httpx.Response]:
            if method == "GET":
                return client.get(url, params={"q": query})
            return client.post(url, content=send_body(query), headers={"Content-Type": "application/json"})

        counting = asyncio.create_task(noted.count_iterations())
        transport = httpx.ASGITransport(app=app.serve_web if "serper.dev" in url else app)
        async with httpx.AsyncClient(transport=transport) as client:
            asking = asyncio.gather(*(ask(client, f"river {number}") for number in range(8)))
            for _ in range(200):  # iterations: until all wait for their bodies
                await asyncio.sleep(0)
            heads_have_come.set()
            answers = await asking
        counting.cancel()
        return answers

    assert [answer.status_code for answer in asyncio.run(run())] == [200] * 8
    assert [name for name, _ in noted.worked] == [f"river {number}" for number in range(8)]
    assert len({iteration for _, iteration in noted.worked}) == 8
