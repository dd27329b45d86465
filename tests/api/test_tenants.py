"""Tenants of one settings file: none reaches what belongs to another, by whatever door, and each has its own quota."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write

SETTINGS = """
root = "{root}"

[tenants.red]
port = {red}
collection = "news"
api_keys = "key-of-red"
admin_token = "the-token-of-red-s-trainer"

[tenants.blue]
port = {blue}
collection = "papers"
api_keys = "key-of-blue"
admin_token = "the-token-of-blue-s-trainer"

[tenants.green]
port = {green}
collection = "news"
api_keys = "key-of-green"
workers = 2
requests_per_minute = 6
"""
COMMAND = [sys.executable, "-m", "webemu.emulator.cli", "serve"]


@dataclass(frozen=True)
class Tenant:
    """A tenant's server, and who asks it."""

    origin: str
    key: str
    token: str = ""

    def ask(self, path: str, key: str = "", **options: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}", "X-API-KEY": key or self.key}
        method = "POST" if "json" in options else "GET"
        return httpx.request(method, self.origin + path, headers=headers, timeout=60, **options)  # type: ignore[arg-type]


def take_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for listener in sockets:
        listener.close()
    return ports


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Tenant]]:
    root = tmp_path_factory.mktemp("tenants")
    ingest(root / "news", write(root / "n.warc.gz", [CaptureSpec("https://n.example/", html("News", "ships sail"))]))
    ingest(root / "papers", write(root / "p.warc.gz", [CaptureSpec("https://p.example/", html("Paper", "ships sink"))]))
    names = ("red", "blue", "green")
    ports = dict(zip(names, take_ports(3), strict=True))
    (root / "webemu.toml").write_text(SETTINGS.format(root=root, **ports))
    with subprocess.Popen(COMMAND, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        waited_for = set(names)
        while waited_for:
            waited_for -= set(re.findall(r"webemu: tenant (\w+),", process.stdout.readline()))
        yield {
            name: Tenant(f"http://127.0.0.1:{ports[name]}", f"key-of-{name}", f"the-token-of-{name}-s-trainer")
            for name in names
        }
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        for port in ports.values():
            assert socket.socket().connect_ex(("127.0.0.1", port)) != 0


def test_a_tenant_finds_its_own_collection(tenants: dict[str, Tenant]) -> None:
    for name, url in (("red", "https://n.example/"), ("blue", "https://p.example/")):
        results = tenants[name].ask("/v1/search?q=ships").json()["results"]
        assert [one["url"] for one in results] == [url]
    assert tenants["blue"].ask("/v1/fetch?url=https://n.example/").status_code == 404


def test_keys_of_others_open_nothing(tenants: dict[str, Tenant]) -> None:
    red, blue = tenants["red"], tenants["blue"]
    for key in (red.key, red.token, "none", "any"):
        headers = {"Authorization": f"Bearer {key}", "X-API-KEY": key}
        for path in ("/v1/search?q=ships", "/serper/search?q=ships", "/v1/stats", "/v1/sessions/ws-1", "/dashboard"):
            assert httpx.get(blue.origin + path, headers=headers, timeout=60).status_code in (401, 403), (key, path)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message |= {"params": {"name": "search", "arguments": {"query": "ships"}}}  # type: ignore[dict-item]
        assert "p.example" not in httpx.post(f"{blue.origin}/mcp", json=message, headers=headers, timeout=60).text


def test_sessions_belong_to_one_tenant(tenants: dict[str, Tenant]) -> None:
    red = tenants["red"]
    opened = red.ask("/v1/sessions", key=red.token, json={"task": "secret of red"}).json()["session"]
    assert red.ask("/v1/search?q=ships", key=opened).status_code == 200
    assert red.ask(f"/v1/sessions/{opened}", key=red.token).json()["policy"]["task"] == "secret of red"
    for other in (tenants["blue"], tenants["green"]):
        proxy = f"http://{opened}:x@{other.origin.removeprefix('http://')}"
        assert other.ask("/v1/search?q=ships", key=opened).status_code in (401, 404, 429)
        assert httpx.get("http://n.example/", proxy=proxy, timeout=60).status_code in (404, 429, 502)
        for key in (other.key, other.token):
            assert "secret" not in other.ask(f"/v1/sessions/{opened}", key=key).text


def test_a_quota_holds_over_all_workers_and_doors(tenants: dict[str, Tenant]) -> None:
    green = tenants["green"]
    paths = ("/v1/search?q=ships", "/serper/search?q=ships", "/v1/fetch?url=https://n.example/")
    statuses = [green.ask(paths[number % 3]).status_code for number in range(24)]
    assert statuses.count(200) <= 12, "a minute may begin meanwhile"
    assert set(statuses) <= {200, 429}
    assert all(429 in statuses[door::3] for door in range(3))
    assert green.ask("/health").status_code == 200
    assert tenants["red"].ask("/v1/search?q=ships").status_code == 200


def test_a_day_has_so_many_megabytes(tmp_path: Path) -> None:
    body = "ships " * 200_000
    ingest(tmp_path / "default", write(tmp_path / "a.warc.gz", [CaptureSpec("https://a.example/", html("A", body))]))
    environ = {**os.environ, "WEBEMU_MEGABYTES_PER_DAY": "3"}
    command = [*COMMAND, "--root", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        origin = process.stdout.readline().partition(" on ")[2].split()[0]
        answers = [httpx.get(f"{origin}/v1/fetch?format=raw&url=https://a.example/", timeout=60) for _ in range(8)]
        process.terminate()
    sent = [len(one.content) for one in answers if one.status_code == 200]
    assert 1 <= len(sent) < 8
    assert sum(sent[:-1]) < 3_000_000
    assert (answers[-1].status_code, answers[-1].json()["error"]["reason"]) == (429, "out-of-budget")


@pytest.mark.slow
def test_a_tenant_that_cannot_start_ends_all(tmp_path: Path) -> None:
    (red,) = take_ports(1)
    (tmp_path / "webemu.toml").write_text(f'[tenants.red]\nport = {red}\napi_keys = "k"\n')
    ended = subprocess.run(COMMAND, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "tenant red ended" in ended.stderr
    flagged = subprocess.run([*COMMAND, "--workers", "2"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert flagged.returncode == 2
    assert "--workers" in flagged.stderr
