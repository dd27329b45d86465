"""Rules of listeners: no door and no carrier leads past a policy that the server is bound to."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from tests.api.carriers import basic, carriers, near_misses
from tests.api.leaking import OPEN, POLICY, TOKEN, Probe, archives, leaking, native_probes, of_route, paths, shows, wiki
from tests.api.test_sessions import Server, serving
from tests.shared import THIRD
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.emulator.config import Config
from webemu.emulator.session import encode_inline_policy
from webemu.index.open import open_world

HERE = "http://webemu"
ADMIN_TOKEN = "a-token-of-the-trainer"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
PAGE = f"{OPEN}/text/{TOKEN}"
CALL = {"name": "search", "arguments": {"query": "harbour bell"}}
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
DOORS = [
    Probe("search", "GET", f"{HERE}/v1/search?q=harbour+bell"),
    Probe("search batch", "POST", f"{HERE}/v1/search", {"queries": ["harbour bell"]}),
    Probe("fetch", "GET", f"{HERE}/v1/fetch?url={PAGE}"),
    Probe("fetch batch", "POST", f"{HERE}/v1/fetch", {"urls": [PAGE]}),
    Probe("find", "GET", f"{HERE}/v1/find?pattern=told&url={PAGE}"),
    Probe("results", "GET", f"{HERE}/search?q=harbour+bell"),
    Probe("view", "GET", f"{HERE}/view?url={PAGE}"),
    Probe("suggestions", "GET", f"{HERE}/suggest?q=harbour"),
    Probe("mcp", "POST", f"{HERE}/mcp", RPC, (("Accept", "application/json"),)),
    Probe("serper", "POST", f"{HERE}/serper/search", {"q": "harbour bell"}),
    Probe("tavily", "POST", f"{HERE}/tavily/search", {"query": "harbour bell"}),
    Probe("retrieve", "POST", f"{HERE}/retrieve", {"queries": ["harbour bell"], "topk": 3}),
    Probe("host of serper", "POST", "https://google.serper.dev/search", {"q": "harbour bell"}),
    Probe("host of a reader", "GET", f"https://r.jina.ai/{PAGE}"),
    Probe("web", "GET", PAGE),
    Probe("archive", "GET", f"https://web.archive.org/web/20240102120000id_/{PAGE}", sign="20240102"),
    Probe("sitemap", "GET", f"{OPEN}/sitemap.xml"),
]
"""One request for each way in which the web is shown."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rules")
    leaking(root)
    (root / "policy.json").write_text(json.dumps(POLICY))
    return root


def serve(root: Path, **settings: Any) -> App:
    return create_app(Config(root=root, collection="c", **settings), open_world(root / "c"))


@pytest.fixture(scope="module")
def bound(root: Path) -> App:
    return serve(root, policy=str(root / "policy.json"), admin_token=ADMIN_TOKEN)


async def ask(app: App, probe: Probe, headers: dict[str, str] | None = None) -> httpx.Response:
    is_own = probe.url.startswith(HERE)
    transport = httpx.ASGITransport(app=app if is_own else app.doors.web, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport) as client:
        sent = {**dict(probe.headers), **(headers or {})}
        content = None if probe.body is None else json.dumps(probe.body).encode()
        sent |= {} if content is None else {"Content-Type": "application/json"}
        return await client.request(probe.method, probe.url, content=content, headers=sent)


def ask_all(app: App, questions: list[tuple[Probe, dict[str, str]]]) -> list[httpx.Response]:
    async def walk() -> list[httpx.Response]:
        return [await ask(app, probe, headers) for probe, headers in questions]

    return asyncio.run(walk())


def doors_that_show(app: App, headers: dict[str, str]) -> list[str]:
    replies = ask_all(app, [(door, headers) for door in DOORS])
    return [door.who for door, reply in zip(DOORS, replies, strict=True) if shows(door, reply)]


def open_session(app: App, **policy: Any) -> str:
    reply = asyncio.run(ask(app, Probe("", "POST", f"{HERE}/v1/sessions", policy), ADMIN))
    assert reply.status_code == 201, reply.text
    return str(reply.json()["session"])


def all_probes() -> list[Probe]:
    """Return requests to every door: every third of those there are, or all before a release."""
    return list(_every_probe())[::THIRD]


def _every_probe() -> Iterator[Probe]:
    yield from (*native_probes(), *archives(), *wiki(), *DOORS)
    for dialect in DIALECTS:
        for route in dialect.routes:
            for path in paths(route.path):
                yield from of_route(path, f"{HERE}/{dialect.name}", route.methods, path)


def test_nothing_leaks_from_a_server_that_is_bound_to_a_policy(bound: App) -> None:
    probes = all_probes()
    replies = ask_all(bound, [(probe, {}) for probe in probes])
    assert [probe for probe, reply in zip(probes, replies, strict=True) if shows(probe, reply)] == []
    assert sum(reply.status_code == 200 for reply in replies) > len(replies) / 4


def test_no_carrier_lifts_the_policy_at_any_door(bound: App, root: Path) -> None:
    unbound = serve(root)
    assert doors_that_show(unbound, {}) == [door.who for door in DOORS]
    session, nothing = open_session(bound, task="free"), encode_inline_policy(b"{}")
    later = encode_inline_policy(b'{"as_of": "2030-01-01", "budget": {"fetches": 9000}}')
    ways = [{}, {"X-Webemu-Session": "me"}, {"X-Webemu-Session": "me;at=2030-01-01"}, {"X-Webemu-Session": ""}, ADMIN]
    ways += [*carriers(session), *carriers(nothing), *carriers(later), *near_misses(session)]
    questions = [(probe, way) for probe in DOORS for way in ways]
    replies = ask_all(bound, questions)
    assert [one for one, reply in zip(questions, replies, strict=True) if shows(one[0], reply)] == []


def test_what_a_session_forbids_is_forbidden_besides(bound: App) -> None:
    page = Probe("", "GET", "https://other.example/harbour")
    assert ask_all(bound, [(page, {})])[0].status_code == 200
    for name in (
        open_session(bound, blocked={"domains": ["other.example"]}),
        encode_inline_policy(b'{"blocked": {"domains": ["other.example"]}}'),
    ):
        for way in carriers(name):
            assert ask_all(bound, [(page, way)])[0].status_code == 502, way


def test_a_server_that_requires_a_session_answers_nothing_without_one(root: Path) -> None:
    app = serve(root, require_session=True, admin_token=ADMIN_TOKEN)
    session = open_session(app, task="carried")
    ways = [{}, {"X-Webemu-Session": "me"}, {"X-Webemu-Session": "me;at=2024-01-01"}, {"X-Webemu-Session": ""}, ADMIN]
    questions = [(probe, way) for probe in DOORS for way in [*ways, *near_misses(session)]]
    replies = ask_all(app, questions)
    assert [one for one, reply in zip(questions, replies, strict=True) if shows(one[0], reply)] == []
    assert {reply.status_code for reply in replies} <= {400, 401, 422}
    bare = [(probe, {}) for probe in all_probes()]
    statuses = [reply.status_code for reply in ask_all(app, bare)]
    assert [probe for (probe, _), status in zip(bare, statuses, strict=True) if status < 400] == []
    assert doors_that_show(app, {"X-Webemu-Session": session}) == [door.who for door in DOORS]
    assert ask_all(app, [(Probe("", "GET", f"{HERE}/health"), {})])[0].status_code == 200


def test_a_session_that_contradicts_its_listener_is_refused(root: Path) -> None:
    (root / "engine.json").write_text('{"engine": "plain", "seed": 3, "weather": {"errors": 0.6}}')
    app = serve(root, policy=str(root / "engine.json"), admin_token=ADMIN_TOKEN)
    search = DOORS[0]
    for policy in ({"engine": "weak"}, {"seed": 4}, {"weather": {"resets": 0.6}}):
        reply = ask_all(app, [(search, {"X-Webemu-Session": open_session(app, **policy)})])[0]
        assert (reply.status_code, reply.json()["error"]["reason"]) == (400, "session-conflict"), policy


def test_the_budget_of_a_listener_is_shared_by_all_that_arrives(root: Path) -> None:
    (root / "budget.json").write_text('{"budget": {"searches": 3}, "task": "shared"}')
    app = serve(root, policy=str(root / "budget.json"), admin_token=ADMIN_TOKEN)
    names = [open_session(app, rollout="1"), open_session(app, rollout="2"), encode_inline_policy(b'{"rollout": "3"}')]
    ways = [{"X-Webemu-Session": name} for name in names] + [{}, {"X-Webemu-Session": "me"}]
    search = [(Probe("", "GET", f"{HERE}/v1/search?q=harbour+{n}"), way) for n, way in enumerate(ways)]
    assert [reply.status_code for reply in ask_all(app, search)] == [200, 200, 200, 429, 429]
    narrow = open_session(app, budget={"searches": 0})
    assert ask_all(app, [(search[0][0], {"X-Webemu-Session": narrow})])[0].status_code == 429


TRAINER_DOORS = [
    Probe("", "POST", f"{HERE}/v1/sessions", {}),
    *(Probe("", "GET", HERE + path) for path in ("/v1/stats", "/metrics", "/dashboard", "/dashboard/figures")),
]


def test_agents_do_not_reach_the_side_of_the_trainer(bound: App, root: Path) -> None:
    session = open_session(bound, task="secret", blocked={"texts": ["the answer is 42"]})
    doors = [*TRAINER_DOORS, Probe("", "GET", f"{HERE}/v1/sessions/{session}")]
    wrong: list[dict[str, str]] = [
        {}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {ADMIN_TOKEN}x"}, {"Authorization": ADMIN_TOKEN},
        {"Authorization": basic(f"{ADMIN_TOKEN}:")}, {"X-Api-Key": ADMIN_TOKEN}, *carriers(session),
        {"X-Webemu-Session": session, **ADMIN},
    ]  # fmt: skip
    for way in wrong:
        for reply in ask_all(bound, [(door, way) for door in doors]):
            assert reply.status_code in (401, 404), (way, reply.text)
            assert "the answer is 42" not in reply.text
    for way in (ADMIN, {"Authorization": basic(f"any:{ADMIN_TOKEN}")}):
        assert [reply.status_code for reply in ask_all(bound, [(door, way) for door in doors])] == [
            201,
            200,
            200,
            200,
            200,
            200,
        ]
    tokenless = serve(root, policy=str(root / "policy.json"))
    assert {reply.status_code for reply in ask_all(tokenless, [(door, {}) for door in doors])} == {404}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Host": "localhost:8800"}, 200), ({"Host": "search:8800"}, 200),
        ({"Host": "127.0.0.1:8800", "Origin": "http://127.0.0.1:8800"}, 200),
        ({"Host": "x.attacker.example"}, 403), ({"Host": "localhost", "Origin": "http://attacker.example"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403), ({"Host": "localhost", "Origin": "http://[::"}, 403),
    ],
)  # fmt: skip
def test_a_page_of_the_web_does_not_reach_the_side_of_the_trainer(
    root: Path, headers: dict[str, str], status: int
) -> None:
    app = serve(root)
    reply = ask_all(app, [(Probe("", "GET", f"{HERE}/v1/stats"), headers)])[0]
    assert reply.status_code == status, reply.text


APIS = [
    door
    for door in DOORS
    if door.who
    in ("search", "search batch", "fetch", "fetch batch", "find", "mcp", "serper", "tavily", "host of serper")
]


def test_keys_open_every_api(root: Path) -> None:
    app = serve(root, api_keys="k1,k2")
    for way in (
        {},
        {"Authorization": "Bearer k3"},
        {"X-API-Key": "k1,k2"},
        {"X-Webemu-Session": encode_inline_policy(b"{}")},
    ):
        replies = ask_all(app, [(door, way) for door in APIS])
        refused = {reply.status_code for reply in replies if reply.status_code != 200}
        assert not [door.who for door, reply in zip(APIS, replies, strict=True) if shows(door, reply)], way
        assert refused <= {401, 403, 422}
    for way in ({"Authorization": "Bearer k1", "X-API-Key": "k2"}, {"X-API-Key": "k2", "Authorization": "Bearer k2"}):
        assert [reply.status_code for reply in ask_all(app, [(door, way) for door in APIS])] == [200] * len(APIS)
    assert {reply.status_code for reply in ask_all(app, [(door, {}) for door in TRAINER_DOORS])} == {401}
    reply = ask_all(app, [(TRAINER_DOORS[0], {"Authorization": "Bearer k1"})])[0]
    session = {"Authorization": f"Bearer {reply.json()['session']}"}
    assert {reply.status_code for reply in ask_all(app, [(door, session) for door in DOORS[:5]])} == {200}


def test_the_id_of_a_session_says_nothing(bound: App) -> None:
    first, second = (open_session(bound, task="same") for _ in range(2))
    assert first != second
    assert len(first) == len("ws-") + 32
    assert first[:8] != second[:8]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="module")
def listeners(root: Path) -> Iterator[tuple[Server, Server]]:
    port = free_port()
    options = [
        "--listen",
        f"127.0.0.1:{port}={root / 'policy.json'}",
        "--listen",
        f"unix:{root / 'a.sock'}={root / 'policy.json'}",
    ]
    with serving(root / "c", *options) as running:
        yield running, Server(port, root)


def through_tunnel(port: int, host: str, path: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(f"CONNECT {host}:80 HTTP/1.1\r\n\r\n".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_each_listener_has_its_own_rules(listeners: tuple[Server, Server], root: Path) -> None:
    free, tied = listeners
    path = f"/text/{TOKEN}"
    for target in (f"/v1/fetch?url={OPEN}{path}", f"http://open.example{path}"):
        assert free.ask("GET", target)[0] == 200
        assert tied.ask("GET", target)[0] in (404, 502)
    assert b"told of here" in through_tunnel(free.port, "open.example", path)
    assert b"told of here" not in through_tunnel(tied.port, "open.example", path)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(root / "a.sock"))) as client:
        assert client.get(f"http://webemu/v1/fetch?url={OPEN}{path}").status_code == 404
        assert client.get(f"http://webemu/v1/fetch?url={OPEN}/").status_code == 200
        assert client.get("http://webemu/v1/stats").status_code == 404
    session = free.open(task="both")
    assert tied.ask("GET", f"/v1/fetch?url={OPEN}{path}", headers={"X-Webemu-Session": session})[0] == 404
    assert tied.ask("GET", f"/v1/fetch?url={OPEN}/", headers={"X-Webemu-Session": session})[0] == 200
    assert tied.json("GET", f"/v1/sessions/{session}")[0] == 404
    assert free.account(session)["steps"] == 2


ASK_AS = """
import http.client, os, socket, sys
os.setuid(int(sys.argv[1])) if int(sys.argv[1]) != os.getuid() else None
connection = http.client.HTTPConnection("webemu")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[2])
for target in sys.argv[3:]:
    connection.request("GET", target)
    response = connection.getresponse()
    response.read()
    print(response.status, end=" ")
"""


def ask_as(user: int, path: Path, *targets: str) -> list[int]:
    """The statuses that a process of a user gets at a Unix socket."""
    command = [sys.executable, "-I", "-S", "-c", ASK_AS, str(user), str(path), *targets]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    return [int(status) for status in run.stdout.split()]


def test_a_unix_socket_knows_whose_process_connects(root: Path) -> None:
    targets = [f"/v1/fetch?url={OPEN}/text/{TOKEN}", f"/v1/fetch?url={OPEN}/", f"http://open.example/text/{TOKEN}", "/"]
    me, stranger = os.getuid(), 65534
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        own_socket, other, both = (Path(folder) / f"{name}.sock" for name in ("own", "other", "both"))
        bound = [f"unix:{own_socket}@{me}={root / 'policy.json'}", f"unix:{other}@{stranger}={root / 'policy.json'}"]
        bound += [f"unix:{both}@{stranger}={root / 'policy.json'}", f"unix:{both}={root / 'other.json'}"]
        (root / "other.json").write_text(json.dumps({"blocked": {"domains": ["nowhere.example"]}}))
        with serving(root / "c", "--listen", ",".join(bound)):
            assert ask_as(me, own_socket, *targets) == [404, 200, 404, 200]
            assert ask_as(me, other, *targets) == [403] * 4
            assert ask_as(me, both, *targets[:3]) == [200] * 3
            if me == 0:
                assert ask_as(stranger, other, *targets[:3]) == [404, 200, 404]
                assert ask_as(stranger, own_socket, *targets) == [403] * 4
                assert ask_as(stranger, both, *targets[:3]) == [404, 200, 404]
