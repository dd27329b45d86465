"""Hosts that look like this server: captured ones are pages of the web, its own names are its own on its own ports."""

import asyncio
import re
from collections.abc import Callable, Iterator

import pytest

from tests.api.test_fuzz import RawRequest, ask
from tests.attacked import Attacked, attacked, received
from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.services.own_hosts import PROXIED, is_for_this_server
from webemu.emulator.config import Config
from webemu.index.open import open_world

CAPTURED = [
    CaptureSpec("http://93.184.216.34/", html("By address", "captured at an address")),
    CaptureSpec("https://93.184.216.34/safe", html("By address", "captured at an address")),
    CaptureSpec("http://localhost/", html("Local", "captured at localhost")),
    CaptureSpec("http://localhost:8080/deep?a=1", html("Local", "captured at a port of localhost")),
    CaptureSpec("http://[2001:db8::1]/", html("Six", "captured at an address of IPv6")),
    CaptureSpec("http://localhost:8800/page", html("Twin", "captured at our own authority")),
]
Door = Callable[[Attacked, str], bytes]
URLS = [capture.url for capture in CAPTURED]
SELF = '{"status":"ok"'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    root = tmp_path_factory.mktemp("own")
    with attacked(root, write(root / "own.warc.gz", CAPTURED)) as server:
        yield server


def by_proxy(server: Attacked, url: str) -> bytes:
    return server.ask(f"GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())


def by_connect(server: Attacked, url: str) -> bytes:
    scheme, authority, target = re.fullmatch(r"(https?)://([^/]+)(/.*)", url).groups()  # type: ignore[union-attr]
    is_safe = scheme == "https"
    to = authority if re.search(r":\d+$", authority.rpartition("]")[2]) else f"{authority}:{443 if is_safe else 80}"
    with server.connect(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode()) as client:
        if not (answer := received(client, b"\r\n\r\n")).startswith(b"HTTP/1.1 200 "):
            return answer
        inside = server.trusting().wrap_socket(client, server_hostname=authority.strip("[]")) if is_safe else client
        inside.sendall(f"GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n".encode())
        return received(inside)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("door", [by_proxy, by_connect])
def test_a_captured_host_is_the_page(server: Attacked, door: Door, url: str) -> None:
    answer = door(server, url)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert f"X-Webemu-Url: {url}\r\n".encode() in answer
    assert b"captured at" in answer


@pytest.mark.parametrize("url", ["http://93.184.216.34/other", "http://localhost/other", "http://localhost:22/"])
@pytest.mark.parametrize("door", [by_proxy, by_connect])
def test_another_path_of_it_is_not_there(server: Attacked, door: Door, url: str) -> None:
    answer = door(server, url)
    assert answer.startswith(b"HTTP/1.1 404 "), answer[:200]
    assert b"X-Webemu-Reason: url-not-captured" in answer


ELSEWHERE = (
    "127.0.0.1:22",
    "127.0.0.1",
    "93.184.216.35",
    "[::1]",
    "10.0.0.1:{port}",
    "webemu:22",
    "a.svc:22",
    "0.0.0.0",
)


@pytest.mark.parametrize("host", ELSEWHERE)
@pytest.mark.parametrize("door", [by_proxy, by_connect])
def test_what_is_neither_captured_nor_here_has_no_name(server: Attacked, door: Door, host: str) -> None:
    answer = door(server, f"http://{host.format(port=server.port)}/health")
    assert answer.startswith(b"HTTP/1.1 502 "), answer[:200]
    assert b"X-Webemu-Reason: host-not-captured" in answer
    assert b"X-Webemu-Failure" not in answer


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "webemu:{port}", "webemu", "a.svc"]
)
def test_own_names_at_own_ports_are_this_server(server: Attacked, host: str) -> None:
    assert SELF.encode() in by_proxy(server, f"http://{host.format(port=server.port)}/health")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "93.184.216.34", "10.0.0.1", "webemu", "unknown.example"])
def test_who_asks_the_server_itself_is_answered_by_it_under_any_name(server: Attacked, host: str) -> None:
    sent = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    assert SELF.encode() in server.ask(sent)
    with server.tls("webemu") as client:
        client.sendall(sent)
        assert (SELF.encode() in received(client)) is (host != "unknown.example")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("twin")
    ingest(root / "c", write(root / "own.warc.gz", CAPTURED))
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


def test_a_page_captured_at_our_own_authority_is_the_page(app: App) -> None:
    def get_page(path: str) -> tuple[int, bytes]:
        async def proxied(scope: object, *wires: object) -> None:
            await app.doors.web({**scope, PROXIED: True}, *wires)  # type: ignore[dict-item]

        status, _, body = asyncio.run(ask(proxied, RawRequest("GET", "localhost:8800", path)))
        return status, body

    assert get_page("/page")[0] == 200
    assert b"captured at our own authority" in get_page("/page")[1]
    assert SELF.encode() in get_page("/health")[1]


def test_the_ports_it_listens_on_are_its_own() -> None:
    scope = {"headers": [(b"host", b"localhost")], "scheme": "http", "server": ("10.0.0.7", 8800), PROXIED: True}
    assert not is_for_this_server(scope, (8800,))
    assert is_for_this_server(scope, (8800, 80))
    assert is_for_this_server({**scope, "headers": [(b"host", b"10.0.0.7:8800")]}, ())
    assert not is_for_this_server({**scope, "headers": [(b"host", b"10.0.0.8:8800")]}, ())
    assert is_for_this_server({**scope, "server": ("/run/webemu.sock", None)}, ())
    assert is_for_this_server({**scope, PROXIED: False, "headers": [(b"host", b"10.0.0.8:9")]}, ())
