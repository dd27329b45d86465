"""Sessions over real sockets: where they are carried, what weather does to them, and that it all repeats."""

import http.client
import json
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from tests.api.carriers import near_misses
from webemu.emulator.session import encode_inline_policy
from webemu.index.exports import format_clickstream, format_conversations, format_lines
from webemu.index.trace_files import read_traces

Grow = Callable[[Path, int, str], str]
PATIENCE = 30.0
HEAVY = {
    "latency": {"kind": "lognormal", "ms": 0.2, "spread": 0.5},
    "timeouts": 0.04, "hold_ms": 1, "errors": 0.06, "rate_limits": 0.06, "retry_after": 7, "resets": 0.04,
    "truncated": 0.06, "dead_links": 0.1, "captchas": 0.1, "dropped": 0.1, "shuffled": 0.3, "replaced": 0.2,
    "variation": 0.3,
}  # fmt: skip


class Server:
    """A running server."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.folder = port, folder

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body); status 0 where the connection ended without an answer, 1 where in the middle."""
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body or None, headers or {})
            response = connection.getresponse()
            try:
                return response.status, dict(response.getheaders()), response.read()
            except http.client.IncompleteRead as cut:
                return 1, dict(response.getheaders()), cut.partial
        except http.client.RemoteDisconnected:
            return 0, {}, b"closed"
        except ConnectionResetError:
            return 0, {}, b"reset"

    def json(self, method: str, path: str, value: Any = None, **headers: str) -> tuple[int, Any]:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        status, _, body = self.ask(method, path, b"" if value is None else json.dumps(value).encode(), named)
        return status, json.loads(body) if body else None

    def open(self, **policy: Any) -> str:
        status, reply = self.json("POST", "/v1/sessions", policy)
        assert status == 201, reply
        return str(reply["session"])

    def account(self, session: str) -> Any:
        return self.json("GET", f"/v1/sessions/{session}")[1]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    where = ["--root", str(folder.parent), "--collection", folder.name, "--port", "0", *arguments]
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", *where]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield Server(int(line.partition("http://127.0.0.1:")[2].partition(" ")[0]), folder)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, grow: Grow) -> Path:
    folder = tmp_path_factory.mktemp("sessions") / "one"
    grow(folder, 1, "river port harbour")
    grow(folder, 2, "river bridge ferry")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(folder) as running:
        yield running


SEARCH = "/v1/search?q=river+port&size=5"


def test_a_session_is_carried_in_every_place(server: Server) -> None:
    session = server.open(task="carried", marks=True)
    basic = b64encode(f"{session}:any".encode()).decode()
    places: list[tuple[str, dict[str, str]]] = [
        (SEARCH, {"X-Webemu-Session": session}),
        (SEARCH, {"X-Webemu-Session": f"{session};marks=off"}),
        (SEARCH, {"Authorization": f"Bearer {session}"}),
        (SEARCH, {"X-API-KEY": session}),
        (SEARCH, {"Proxy-Authorization": f"Basic {basic}"}),
        (f"/s/{session}{SEARCH}", {}),
        (f"/s/{session}/serper/search?q=river", {}),
        ("/serper/search?q=river", {"X-API-KEY": session}),
        (f"/serper/search?q=river&api_key={session}", {}),
        ("/brave/res/v1/web/search?q=river", {"X-Subscription-Token": session}),
        ("http://site1-1.example/1", {"Proxy-Authorization": f"Basic {basic}"}),
    ]
    for path, headers in places:
        server.ask("GET", path, headers=headers)
    assert server.json("POST", "/tavily/search", {"query": "river"}, Authorization=f"Bearer {session}")[0] == 200
    report = server.account(session)
    assert report["steps"] == len(report["requests"]) == len(places) + 1
    assert Counter(step["service"] for step in report["requests"]) == {
        "webemu": 6, "serper": 3, "brave": 1, "tavily": 1, "site1-1.example": 1,
    }  # fmt: skip
    assert session not in json.dumps(report["requests"])


DOORS = (
    SEARCH, "/v1/fetch?url=http://site1-1.example/1", "/v1/search?q=river", "/serper/search?q=river",
    "/brave/res/v1/web/search?q=river", "/searxng/search?q=river&format=json", "http://site1-1.example/1",
    "http://nowhere.example/",
)  # fmt: skip
"""Native API, services and the emulated web."""


def test_what_nearly_names_a_session_is_refused_at_every_door(server: Server) -> None:
    session = server.open(task="nearly", blocked={"domains": ["site1-1.example"]})
    open_answers = []
    for headers in near_misses(session):
        for path in DOORS:
            status = server.ask("GET", path, headers=headers)[0]
            if status not in (400, 422):  # 422: as Brave words it
                open_answers.append((headers, path, status))
    assert open_answers[:3] == []
    assert server.account(session)["steps"] == 0


def test_a_header_does_not_lift_the_session_of_a_tunnel(server: Server) -> None:
    session = server.open(task="tunnel", blocked={"domains": ["site1-1.example"]})
    basic = b64encode(f"{session}:".encode())
    for header in (b"X-Webemu-Session: me\r\n", b"Authorization: Digest " + session.encode() + b"x\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
            client.sendall(b"CONNECT site1-1.example:80 HTTP/1.1\r\nProxy-Authorization: Basic " + basic + b"\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            client.sendall(b"GET /1 HTTP/1.1\r\nHost: site1-1.example\r\nConnection: close\r\n" + header + b"\r\n")
            assert client.recv(1000).split(b" ")[1] == b"400"
    assert server.account(session)["steps"] == 0


def test_two_sessions_are_refused_and_one_named_twice_is_one(server: Server) -> None:
    first, second = server.open(task="first"), server.open(task="second")
    basic = "Basic " + b64encode(f"{first}:".encode()).decode()
    same = {"Proxy-Authorization": basic, "X-Webemu-Session": f"{first};marks=off", "Authorization": f"Bearer {first}"}
    assert server.ask("GET", SEARCH, headers=same)[0] == 200
    status, _, body = server.ask(
        "GET", SEARCH, headers={"X-Webemu-Session": first, "Authorization": f"Bearer {second}"}
    )
    assert status == 400
    assert b"names the session" in body
    assert b"besides the session of the request" in body
    assert server.ask("GET", f"/s/{first}{SEARCH}", headers={"X-Webemu-Session": second})[0] == 400
    assert server.ask("GET", f"/s/{first}{SEARCH}", headers={"X-Webemu-Session": first})[0] == 200
    assert server.account(second)["steps"] == 0


def test_a_policy_in_a_header_that_does_not_count_is_refused(server: Server) -> None:
    policy = encode_inline_policy(b'{"blocked": {"domains": ["site1-1.example"]}}')
    assert server.ask("GET", SEARCH, headers={"X-Webemu-Session": policy})[0] == 200
    for headers in ({"Authorization": f"Digest {policy}"}, {"X-Webemu-Session": f'"{policy}"'}, {"X-Key": policy}):
        assert server.ask("GET", SEARCH, headers=headers)[0] == 400


def test_names_that_only_look_alike_are_let_through(server: Server) -> None:
    session = server.open(task="seen")
    for headers in (
        {"User-Agent": f"aws-sdk-go ws-client ws-1 {session}"}, {"Referer": f"http://127.0.0.1/s/{session}/x"},
        {"Authorization": "Bearer aws-0123456789abcdef01234567"}, {"X-Webemu-Session": "ews-run-7"},
        {"Cookie": f"last={session}"}, {"X-API-KEY": "ws"},
    ):  # fmt: skip
        assert server.ask("GET", SEARCH, headers=headers)[0] == 200, headers


def test_a_session_without_a_policy_has_its_day_in_the_native_api_too(server: Server) -> None:
    answers = [
        server.json("GET", SEARCH + parameters, X_Webemu_Session="r1;at=2020-01-01")[1]
        for parameters in ("", "&as_of=2030-01-01")
    ]
    assert [(answer["as_of"], bool(answer["results"])) for answer in answers] == [
        ("2020-01-01T00:00:00Z", False), ("2030-01-01T00:00:00Z", True),
    ]  # fmt: skip


def test_a_policy_is_carried_without_a_call(server: Server) -> None:
    name = encode_inline_policy(json.dumps({"rollout": "inline", "budget": {"searches": 1}}).encode())
    assert server.json("GET", f"/s/{name}{SEARCH}")[0] == 200
    status, reply = server.json("GET", SEARCH, Authorization=f"Bearer {name}")
    assert (status, reply["error"]["reason"]) == (429, "out-of-budget")


def test_an_unknown_session_is_refused_in_the_words_of_who_is_asked(server: Server) -> None:
    assert server.json("GET", SEARCH, X_Webemu_Session="ws-none")[1]["error"]["reason"] == "no-such-session"
    assert server.json("GET", "/serper/search?q=a", X_API_KEY="ws-none") == (
        403, {"message": "Unauthorized.", "statusCode": 403},
    )  # fmt: skip
    assert server.ask("GET", "/search?q=a", headers={"X-Webemu-Session": "ws-none"})[0] == 404


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"budgets": {}}, "budgets"), ({"budget": {"searches": -1}}, "searches"), ({"seed": "x"}, "seed"),
        ({"blocked": {"domains": "a"}}, "blocked.domains"), ({"weather": {"errors": 2}}, "errors"),
        ({"weather": {"errors": 0.6, "resets": 0.6}}, "add up to more than 1"),
        ({"weather": {"latency": {"kind": "x"}}}, "latency"),
        ({"as_of": "soon"}, "soon"), ([], "object"), ({"snapshot": "../x"}, "../x"),
    ],
)  # fmt: skip
def test_a_bad_policy_is_named(server: Server, policy: Any, message: str) -> None:
    status, reply = server.json("POST", "/v1/sessions", policy)
    assert status in (400, 404)
    assert message in reply["error"]["message"]


def test_the_ledger_tells_what_was_shown_and_opened(server: Server) -> None:
    session = server.open(task="t", rollout="r", budget={"searches": 2, "fetches": 5, "bytes": 100_000})
    hits = server.json("GET", f"/s/{session}{SEARCH}")[1]["results"]
    url = hits[2]["url"]
    server.ask("GET", f"/s/{session}/v1/fetch?url={url}")
    server.ask("GET", f"/s/{session}{SEARCH}")
    refused = server.json("GET", f"/s/{session}/v1/search?q=ferry")
    assert (refused[0], refused[1]["error"]["reason"]) == (429, "out-of-budget")
    report = server.account(session)
    assert (report["steps"], report["failures"], report["faults"], report["next"]) == (4, 0, {}, None)
    assert (report["policy"]["task"], report["policy"]["rollout"]) == ("t", "r")
    assert report["spent"] | {"bytes": 0} == {"searches": 2, "fetches": 1, "bytes": 0}
    assert report["left"] == {"searches": 0, "fetches": 4, "bytes": 100_000 - report["spent"]["bytes"]}
    assert report["spent"]["bytes"] == sum(step["bytes"] for step in report["requests"])
    first, opened, again, last = report["requests"]
    assert first["searches"] == [{"query": "river port", "first": 1, "results": [hit["url"] for hit in hits]}]
    assert opened["opened"] == [{"url": url, "shown": 1, "rank": 3}]
    assert (first["attempt"], again["attempt"], last["status"]) == (0, 1, 429)
    part = server.json("GET", f"/v1/sessions/{session}?from=2&limit=2")[1]
    assert ([step["step"] for step in part["requests"]], part["next"]) == ([2, 3], 4)


def test_a_budget_of_bytes_ends_what_comes_after(server: Server) -> None:
    session = server.open(budget={"bytes": 10})
    assert server.ask("GET", f"/s/{session}{SEARCH}")[0] == 200
    assert server.ask("GET", f"/s/{session}{SEARCH}")[0] == 429


def test_services_say_the_budget_in_their_words(server: Server) -> None:
    session = server.open(budget={"searches": 0})
    status, reply = server.json("POST", "/serper/search", {"q": "river"}, X_API_KEY=session)
    assert (status, reply["message"]) == (400, "Not enough credits")


def test_a_batch_ends_at_the_same_member(server: Server) -> None:
    session = server.open(budget={"searches": 3})
    body = {"queries": [f"river {number}" for number in range(6)]}
    answers = server.json("POST", f"/s/{session}/v1/search", body)[1]["answers"]
    assert ["error" in answer for answer in answers] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("weather", "status", "ended"),
    [
        ({"timeouts": 1, "hold_ms": 5}, 0, b"closed"),
        ({"resets": 1}, 0, b"reset"),
        ({"truncated": 1}, 1, None),
        ({"rate_limits": 1, "retry_after": 9}, 429, None),
    ],
)
def test_weather_strikes(server: Server, weather: dict[str, float], status: int, ended: bytes | None) -> None:
    session = server.open(weather=weather)
    complete_body = server.ask("GET", SEARCH)[2]
    got, headers, body = server.ask("GET", f"/s/{session}{SEARCH}")
    assert got == status
    assert body == ended if ended else True
    if status == 1:
        assert body == complete_body[: len(complete_body) // 2]
        assert int(headers["content-length"]) == len(complete_body)
    if status == 429:
        assert (headers["Retry-After"], headers["X-Webemu-Weather"]) == ("9", "rate-limit")
        assert server.json("GET", f"/s/{session}/serper/search?q=a")[1]["message"] == "Rate limit exceeded"
    request = server.account(session)["requests"][0]
    kind = {0: ended and {b"closed": "timeout", b"reset": "reset"}[ended], 1: "truncated", 429: "rate-limit"}[status]
    assert (request["weather"], request["failed"]) == ([kind], False)


def test_injected_errors_are_no_failures_of_ours(server: Server) -> None:
    session = server.open(weather={"errors": 1}, seed=3)
    statuses = set()
    for number in range(12):
        for path in (f"/v1/search?q={number}", f"/serper/search?q={number}", f"/search?q={number}"):
            status, headers, _ = server.ask("GET", f"/s/{session}{path}")
            assert status >= 500
            assert "X-Webemu-Failure" not in {name.title() for name in headers}
            assert headers["X-Webemu-Weather"] == "error"
            statuses.add(status)
    assert statuses == {500, 502, 503, 504}
    report = server.account(session)
    assert (report["faults"], report["failures"]) == ({"error": 36}, 0)


def test_failures_of_ours_are_told_apart(tmp_path: Path, grow: Grow) -> None:
    """The ledger cannot be used: that is infrastructure, and no weather."""
    grow(tmp_path / "c", 1, "river")
    (tmp_path / "c" / "sessions").write_text("no folder")
    with serving(tmp_path / "c") as server:
        status, headers, _ = server.ask("POST", "/v1/sessions", b"{}")
        assert (status, headers["x-webemu-failure"]) == (503, "infrastructure")
        name = encode_inline_policy(b'{"weather": {"errors": 1}}')
        for path in ("/v1/search?q=a", "/serper/search?q=a", "/search?q=a"):
            status, headers, _ = server.ask("GET", f"/s/{name}{path}")
            named = {key.lower(): value for key, value in headers.items()}
            assert (status, named["x-webemu-failure"], "x-webemu-weather" in named) == (503, "infrastructure", False)
        assert server.ask("GET", SEARCH)[0] == 200


def test_dead_links_and_walls_stay(server: Server) -> None:
    session = server.open(weather={"dead_links": 0.4, "captchas": 0.3})
    urls = [f"https://site{page % 9}-1.example/{page}" for page in range(40)]

    def statuses() -> list[int]:
        return [server.ask("GET", f"/s/{session}/v1/fetch?url={url}")[0] for url in urls]

    first = statuses()
    assert statuses() == first
    assert set(first) == {200, 403, 404}
    walled = {url.split("/")[2] for url, status in zip(urls, first, strict=True) if status == 403}
    assert all(status in (403, 404) for url, status in zip(urls, first, strict=True) if url.split("/")[2] in walled)
    basic = b64encode(f"{session}:".encode()).decode()
    page = next(url for url, status in zip(urls, first, strict=True) if status == 403)
    target = page.replace("https:", "http:")
    status, headers, body = server.ask("GET", target, headers={"Proxy-Authorization": f"Basic {basic}"})
    assert (status, headers["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert b"human" in body


def test_marks_can_be_left_out(server: Server) -> None:
    session = server.open(weather={"rate_limits": 1}, marks=False)
    status, headers, _ = server.ask("GET", f"/s/{session}/search?q=a")
    assert status == 429
    assert not [name for name in headers if name.lower().startswith("x-webemu")]


def requests() -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """A thousand requests of all kinds, many of them several times."""
    for number in range(250):
        word = ("river", "port", "bridge", "ferry harbour", "page")[number % 5]
        yield "GET", f"/v1/search?q={word.replace(' ', '+')}+{number % 17}&page={1 + number % 3}", b"", {}
        yield "GET", f"/v1/fetch?url=https://site{number % 9}-1.example/{number % 40}", b"", {}
        yield "POST", "/serper/search", json.dumps({"q": f"{word} {number % 11}"}).encode(), {"X-API-KEY": "KEY"}
        yield "GET", f"/search?q={word.replace(' ', '+')}+{number % 7}", b"", {}


def play(server: Server, session: str, connections: int = 6) -> list[bytes]:
    """All of them in turn, over several connections; each as one text of what came."""
    connection_pool = [
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE) for _ in range(connections)
    ]
    got = []
    for number, (method, path, body, headers) in enumerate(requests()):
        key = {name: value.replace("KEY", session) for name, value in headers.items()}
        target = path if key else f"/s/{session}{path}"
        status, reply_headers, answer = server.ask(method, target, body, key, connection_pool[number % connections])
        if status in (0, 1):
            connection_pool[number % connections].close()
        got.append(repr((status, sorted(reply_headers.items()), blake2b(answer).hexdigest())).encode())
    return got


def without_names(report: Any, session: str) -> str:
    return json.dumps({**report, "session": ""}).replace(session, "")


@pytest.mark.slow
def test_a_thousand_requests_in_heavy_weather_repeat_to_the_byte(folder: Path) -> None:
    policy = {"rollout": "7", "seed": 5, "weather": HEAVY, "blocked": {"domains": ["site3-1.example"]}}
    with serving(folder) as first_server:
        names = [first_server.open(**policy), first_server.open(**policy), first_server.open(**policy | {"seed": 6})]
        alone, again, other = (play(first_server, name) for name in names)
        report = without_names(first_server.account(names[0]), names[0])
    with serving(folder, "--workers", "2") as two:
        session = two.open(**policy)
        assert session not in names
        shared = play(two, session)
        pids = {two.json("GET", "/v1/stats")[1]["process"]["pid"] for _ in range(30)}
        assert without_names(two.account(session), session) == report
    assert len(alone) == 1000
    assert alone == again == shared
    assert sum(a != b for a, b in zip(alone, other, strict=True)) > 200
    assert len(pids) == 2
    faults = json.loads(report)["faults"]
    assert faults.keys() == {
        "timeout", "error", "rate-limit", "reset", "truncated", "dead-link", "captcha",
        "dropped", "shuffled", "replaced",
    }  # fmt: skip


@pytest.mark.slow
def test_budgets_hold_over_workers(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        session = server.open(rollout="shared", budget={"searches": 50})
        with ThreadPoolExecutor(16) as threads:
            paths = [f"/s/{session}/v1/search?q=river+{number}" for number in range(120)]
            statuses = Counter(threads.map(lambda path: server.ask("GET", path)[0], paths))
        report = server.account(session)
    assert statuses == {200: 50, 429: 70}
    assert (report["spent"]["searches"], report["steps"]) == (50, 120)
    assert [step["step"] for step in report["requests"]] == list(range(1, 121))


def test_a_session_stays_on_its_snapshot(tmp_path: Path, grow: Grow) -> None:
    first = grow(tmp_path / "c", 1, "river port")
    with serving(tmp_path / "c") as server:
        session = server.open()
        before = server.ask("GET", f"/s/{session}{SEARCH}")[2]
        second = grow(tmp_path / "c", 2, "river port")
        deadline = time.monotonic() + PATIENCE
        while server.json("GET", "/health")[1]["snapshot"] != second:
            assert time.monotonic() < deadline
        assert server.ask("GET", f"/s/{session}{SEARCH}")[2] == before
        assert server.account(session)["snapshot"] == first
        assert server.open(snapshot=first) != session
        assert server.json("POST", "/v1/sessions", {"snapshot": "feed"})[0] == 404


@pytest.mark.slow
def test_traces_are_written_and_exported(tmp_path: Path, grow: Grow) -> None:
    grow(tmp_path / "c", 1, "river port")
    with serving(tmp_path / "c", "--workers", "2") as server:
        session = server.open(task="t", rollout="r")
        hits = server.json("GET", f"/s/{session}{SEARCH}")[1]["results"]
        server.ask("GET", f"/s/{session}/v1/fetch?url={hits[1]['url']}")
        server.ask("GET", f"/s/{session}/v1/fetch?url={hits[0]['url']}", headers={"Referer": hits[1]["url"]})
        server.ask("GET", f"/s/{session}/v1/fetch?url=https://nowhere.example/")
    rows, lost = read_traces(tmp_path / "c" / "traces")
    assert lost == 0
    assert [(row.step, row.kind, row.rank, row.status) for row in rows] == [
        (1, "search", 0, 200), (2, "open", 2, 200), (3, "open", 1, 200), (4, "miss", 0, 404),
    ]  # fmt: skip
    assert rows[3].url == "https://nowhere.example/"
    assert rows[0].shown == tuple(hit["url"] for hit in hits)
    assert {(row.session, row.task, row.rollout) for row in rows} == {(session, "t", "r")}
    assert [json.loads(line)["query"] for line in format_lines(rows)] == ["river port", "", "", ""]
    conversation = json.loads(next(format_conversations(rows)))
    assert [message["role"] for message in conversation["messages"]] == ["assistant", "tool"] * 3
    assert set(format_clickstream(rows)) == {
        f"other-search\t{hits[1]['url']}\texternal\t1", f"{hits[1]['url']}\t{hits[0]['url']}\tlink\t1",
    }  # fmt: skip
    where = ["--root", str(tmp_path), "--collection", "c", "--format", "clickstream"]
    out = subprocess.run(
        [sys.executable, "-m", "webemu.emulator.cli", "traces", *where], capture_output=True, text=True
    )
    assert out.stdout.splitlines() == list(format_clickstream(rows))


def test_resets_are_resets_through_tls_and_tunnels_too(server: Server) -> None:
    """A client inside CONNECT sees the connection end, and no answer."""
    session = server.open(weather={"resets": 1})
    basic = b64encode(f"{session}:".encode()).decode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain:
        plain.sendall(
            b"CONNECT site1-1.example:80 HTTP/1.1\r\nHost: site1-1.example:80\r\n"
            b"Proxy-Authorization: Basic " + basic.encode() + b"\r\n\r\n"
        )
        assert plain.recv(1000).startswith(b"HTTP/1.1 200")
        plain.sendall(b"GET /1 HTTP/1.1\r\nHost: site1-1.example\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            assert plain.recv(1000) == b"never"
