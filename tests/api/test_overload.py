"""More is asked at once than can be answered: what waits too long is refused, in the words of whom was asked."""

import http.client
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.api.conftest import add_source
from tests.api.test_served import PATIENCE, Running, serving
from webemu.api.proxy.accepting import MAX_ACCEPTS_PER_TURN

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
