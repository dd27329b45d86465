"""Work that sessions share: it saves, and nobody can tell by any byte; what is a session's own stays its own."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_sessions import HEAVY, Server, serving
from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.session import encode_inline_policy

WORDS = "river port harbour bridge ferry quay lock mill".split()
PAGES = 24
FORMATS = ("text", "links", "markdown", "html", "raw")


def crawl() -> list[CaptureSpec]:
    captures = []
    for number in range(PAGES):
        sentence = " ".join(random.Random(number).choices(WORDS, k=40))
        link = f'<a href="/{(number + 7) % PAGES}">on to {WORDS[number % 8]}</a>'
        page = html(f"{WORDS[number % 8]} {number}", sentence, link)
        captures.append(CaptureSpec(f"https://site{number % 6}.example/{number}", page, 1 + number % 20))
    captures.append(CaptureSpec("https://site1.example/moved", "", 2, "301 Moved", headers=(("Location", "/1"),)))
    return [*captures, CaptureSpec("https://site0.example/picture.png", b"\x89PNG", mime="image/png")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sharing")
    ingest(root / "one", write(root / "crawl.warc.gz", crawl()))
    return root / "one"


@pytest.fixture(scope="module")
def remembering(folder: Path) -> Iterator[Server]:
    with serving(folder) as running:
        yield running


@pytest.fixture(scope="module")
def forgetting(folder: Path) -> Iterator[Server]:
    with serving(folder, "--cache-mb", "0") as running:
        yield running


def asks() -> Iterator[tuple[str, str, bytes]]:
    """Requests of all kinds, many of them several times."""
    drawn = random.Random(4)
    for number in range(120):
        query = f"{drawn.choice(WORDS)}+{drawn.choice(WORDS)}"
        url = f"https://site{number % 6}.example/{drawn.randrange(PAGES + 2)}"
        yield "GET", f"/v1/search?q={query}&page={drawn.randint(1, 2)}&size=4", b""
        yield "GET", f"/v1/fetch?url={url}&format={FORMATS[number % 5]}", b""
        yield "GET", f"/serper/search?q={query}", b""
    yield "GET", "/v1/fetch?url=https://site0.example/picture.png&format=links", b""
    yield "GET", "/v1/fetch?url=https://site1.example/moved&format=markdown&start=3&length=9", b""
    yield "GET", "/v1/find?url=https://site0.example/0&pattern=river", b""
    yield "POST", "/v1/search", json.dumps({"queries": ["river", "river", "quay"]}).encode()
    yield "POST", "/v1/fetch", json.dumps({"urls": ["https://site0.example/0"] * 2, "format": "links"}).encode()


def play(server: Server, policy: dict[str, Any]) -> tuple[list[Any], str]:
    """All that came back, and the ledger; both without the session's name."""
    session = server.open(**policy)
    got = [server.ask(method, f"/s/{session}{path}", body) for method, path, body in asks()]
    report = json.dumps(server.account(session)).replace(session, "")
    return [(status, sorted(headers.items()), body) for status, headers, body in got], report


POLICIES: dict[str, dict[str, Any]] = {
    "fair": {},
    "weather": {"weather": HEAVY},
    "day": {"as_of": "2024-01-09"},
    "blocked": {"blocked": {"domains": ["site2.example"], "texts": ["no page says so"]}},
    "budget": {"budget": {"searches": 30, "fetches": 40, "bytes": 60_000}},
}


@pytest.mark.parametrize("name", POLICIES)
def test_no_byte_tells_whether_work_was_shared(remembering: Server, forgetting: Server, name: str) -> None:
    policy = POLICIES[name] | {"task": name, "seed": 3}
    anew, again, without = (play(server, policy) for server in (remembering, remembering, forgetting))
    assert anew == again == without
    assert len({status for status, _, _ in anew[0]}) > 1


def test_samples_of_a_prompt_share_and_each_has_its_ledger(remembering: Server) -> None:
    query, page = "/v1/search?q=ferry+lock+mill", "/v1/fetch?url=https://site3.example/9&format=links"
    before = figures(remembering)
    sessions = [remembering.open(task="shared", rollout=str(number), seed=number) for number in range(8)]
    for session in sessions:
        assert {remembering.ask("GET", f"/s/{session}{path}")[0] for path in (query, page)} == {200}
    after = figures(remembering)
    assert (after["misses"] - before["misses"], after["hits"] - before["hits"]) == (2, 7), "the page is kept"
    for session in sessions:
        report = remembering.account(session)
        search, opened = report["requests"]
        assert (report["spent"]["searches"], report["spent"]["fetches"]) == (1, 1)
        assert search["searches"][0]["results"]
        assert opened["opened"][0]["url"] == "https://site3.example/9"


def test_what_is_blocked_for_one_is_not_for_another(remembering: Server) -> None:
    path = "/v1/search?q=quay+bridge"
    free, guarded = remembering.open(task="free"), remembering.open(blocked={"domains": ["site1.example"]})
    for _ in range(2):
        urls = [
            [hit["url"] for hit in remembering.json("GET", f"/s/{one}{path}")[1]["results"]] for one in (free, guarded)
        ]
        assert [any("site1.example" in url for url in page_urls) for page_urls in urls] == [True, False]


def test_a_budget_ends_though_the_work_was_done_before(remembering: Server) -> None:
    path = "/v1/search?q=mill+river"
    assert remembering.ask("GET", f"/s/{remembering.open()}{path}")[0] == 200
    session = remembering.open(budget={"searches": 1})
    assert [remembering.ask("GET", f"/s/{session}{path}")[0] for _ in range(2)] == [200, 429]


def test_all_at_once_are_written_down_once_each(remembering: Server) -> None:
    """They are counted once even if they wait for the same page, or if the policy travels in the name."""
    sessions = [remembering.open(task="at once", seed=number) for number in range(40)]
    sessions += [encode_inline_policy(json.dumps({"rollout": str(number)}).encode()) for number in range(8)]
    path = "/v1/fetch?url=https://site4.example/4&format=markdown"
    with ThreadPoolExecutor(16) as threads:
        got = list(threads.map(lambda session: remembering.ask("GET", f"/s/{session}{path}"), sessions))
    assert {(status, body) for status, _, body in got} == {(200, got[0][2])}
    for session in sessions[:40]:
        assert [step["step"] for step in remembering.account(session)["requests"]] == [1]


def figures(server: Server) -> dict[str, int]:
    cache_counts: dict[str, int] = server.json("GET", "/v1/stats")[1]["process"]["cache"]
    return cache_counts


def test_services_without_a_session_remember_too(remembering: Server, forgetting: Server) -> None:
    path, before = "/serper/search?q=lock+quay+port", figures(remembering)
    plain = [remembering.ask("GET", path) for _ in range(3)]
    after = figures(remembering)
    assert (after["misses"] - before["misses"], after["hits"] - before["hits"]) == (1, 2)
    assert {body for _, _, body in [*plain, forgetting.ask("GET", path)]} == {plain[0][2]}
    session = remembering.open(task="plain")
    assert remembering.ask("GET", f"/s/{session}{path}")[2] == plain[0][2]
    assert figures(remembering)["misses"] == after["misses"]


def test_what_many_ask_for_at_once_is_made_once(remembering: Server) -> None:
    path = "/v1/fetch?url=https://site5.example/5&format=markdown"
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: remembering.ask("GET", path), range(48)))
    assert {status for status, _, _ in answers} == {200}
    assert len({body for _, _, body in answers}) == 1


def test_answers_keep_the_order_of_pipelined_requests(remembering: Server) -> None:
    """Some are answered where they are read, others wait for a thread."""
    find, health = b"/v1/find?url=https://site0.example/0&pattern=river", b"/health"
    paths = [find, health, b"/v1/search?q=quay", find, b"/v1/search?q=", health]
    lines = b"".join(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in paths[:-1])
    last = b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % paths[-1]
    with socket.create_connection(("127.0.0.1", remembering.port), timeout=30) as connection:
        connection.sendall(lines + last)
        got = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    bodies = [part.partition(b"\r\n\r\n")[2] for part in got.split(b"HTTP/1.1 ")[1:]]
    keys = [set(json.loads(body)) for body in bodies]
    assert ["pattern" in one for one in keys] == [True, False, False, True, False, False]
    assert ["status" in one for one in keys] == [False, True, False, False, False, True]
    assert ["results" in one for one in keys] == [False, False, True, False, True, False]
