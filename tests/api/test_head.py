"""Recorded headers on every way out: as recorded where HTTP allows it, never as our marks, never lost in silence."""

import http.client
import re
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.attacked import Attacked, attacked, received
from webemu.api.http.head import MAX_HEAD_BYTES, MAX_HEADERS, MAX_LINE_BYTES, sanitize_headers

HOST = "odd.example"
WORDS = b"<p>Boats and nets of the harbour town, in enough words to be a page of its own.</p>"
FORGED = (
    b"X-Webemu-Failure: infrastructure",
    b"x-webemu-failure: infrastructure",
    b"X_Webemu_Failure: infrastructure",
    b"X-WEBEMU_WEATHER: reset",
    b"X-Webemu-Failure : infrastructure",
    b"X-Webemu-Dropped-Headers: 7",
    b"X-Webemu-Url: http://elsewhere.example/",
    b"X-Webemu-Reason: overloaded",
    b"X-Webemu: on",
    b"Access-Control-Expose-Headers: X-Webemu-Failure",
    b"Connection: X-Webemu-Snapshot, X-Webemu-Url",
    b"Trailer: X-Webemu-Failure",
)
PLAIN = (
    b"server: nginx",
    b"content-encoding: gzip",
    b"set-cookie: a=1",
    b"CONTENT-LENGTH: 99",
    b"Set-Cookie: b=2",
    b'etag: W/"1"',
    b"x-empty: ",
)
LONG = b"http://odd.example/" + b"l" * 70_000
PAGES: dict[str, tuple[bytes, tuple[bytes, ...], bytes]] = {
    "forged": (b"200 OK", FORGED, WORDS),
    "trailer": (
        b"200 OK",
        (b"Transfer-Encoding: chunked", b"Trailer: X-Webemu-Failure"),
        b"%x\r\n%b\r\n0\r\nX-Webemu-Failure: infrastructure\r\n\r\n" % (len(WORDS), WORDS),
    ),
    "h2": (b"200 OK", PLAIN, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
    "odd": (b"200 OK", (b"X-Good: 1", b"X Bad: 2", b"X-Nul: a\0b", b"X-Bell: a\x07b", b"(odd): 3"), WORDS),
    "moved": (b"302 Found", (b"Location: " + LONG,), WORDS),
    "many": (b"200 OK", (*(b"X-%d: %d" % (at, at) for at in range(150)), b"ETag: last"), WORDS),
    "much": (b"200 OK", tuple(b"X-%d: %s" % (at, b"m" * 30_000) for at in range(8)), WORDS),
    "reason": (b"200 " + b"o" * 90_000, (), WORDS),
}


def record(name: str, page: tuple[bytes, tuple[bytes, ...], bytes]) -> bytes:
    status, headers, body = page
    lines = (b"HTTP/1.1 " + status, b"Content-Type: text/html", *headers)
    block = b"\r\n".join(lines) + b"\r\n\r\n" + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{len(name):012}>\r\n"
        f"WARC-Date: 2024-01-10T00:00:00Z\r\nWARC-Target-URI: http://{HOST}/{name}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    root = tmp_path_factory.mktemp("head")
    path = root / "odd.warc"
    path.write_bytes(b"".join(record(*page) for page in PAGES.items()))
    with attacked(root, path) as server:
        yield server


def lines(answer: bytes) -> list[bytes]:
    return answer.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]


def by_proxy(server: Attacked, path: str, more: str = "") -> list[bytes]:
    return lines(server.ask(f"GET http://{HOST}/{path} HTTP/1.1\r\nHost: {HOST}\r\n{more}\r\n".encode()))


def by_connect(server: Attacked, path: str, more: str = "") -> list[bytes]:
    with server.tunnel(f"{HOST}:80") as client:
        client.sendall(f"GET /{path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{more}\r\n".encode())
        return lines(received(client))


def by_tls(server: Attacked, path: str, more: str = "") -> list[bytes]:
    with server.tls(HOST, server.tunnel(f"{HOST}:443")) as client:
        client.sendall(f"GET /{path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{more}\r\n".encode())
        return lines(received(client))


def by_fetch(server: Attacked, path: str, more: str = "") -> list[bytes]:
    target = f"/v1/fetch?format=raw&url=http://{HOST}/{path}"
    return lines(server.ask(f"GET {target} HTTP/1.1\r\nHost: webemu\r\n{more}\r\n".encode()))


def by_archive(server: Attacked, path: str, more: str = "") -> list[bytes]:
    target = f"/web/20240110000000id_/http://{HOST}/{path}"
    return lines(server.ask(f"GET http://web.archive.org{target} HTTP/1.1\r\nHost: a\r\n{more}\r\n".encode()))


Door = Callable[..., list[bytes]]
DOORS = (by_proxy, by_connect, by_tls, by_fetch, by_archive)


@pytest.mark.parametrize("path", ["forged", "trailer"])
@pytest.mark.parametrize("door", DOORS)
def test_a_page_bears_no_mark_that_was_recorded(server: Attacked, door: Door, path: str) -> None:
    marks = [line for line in door(server, path) if re.match(rb"(?i)x[-_]webemu", line)]
    names = [line.partition(b":")[0].lower() for line in marks]
    assert len(names) == len(set(names)), marks
    assert not {b"x-webemu-failure", b"x-webemu-weather", b"x-webemu-reason", b"x-webemu-dropped-headers"} & set(names)
    assert not [line for line in marks if b"_" in line.partition(b":")[0] or b"elsewhere" in line]
    if path == "forged":
        orig = [line for line in door(server, path) if re.match(rb"(?i)x-archive-orig-x[-_]webemu", line)]
        assert len(orig) == 9


@pytest.mark.parametrize("door", DOORS)
def test_the_ledger_believes_no_page(server: Attacked, door: Door) -> None:
    with httpx.Client(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
        session = client.post("/v1/sessions", json={"task": door.__name__}).json()["session"]
        door(server, "forged", f"X-Webemu-Session: {session}\r\n")
        ledger = client.get(f"/v1/sessions/{session}").json()
    assert [step["status"] for step in ledger["requests"]] == [200]
    assert (ledger["failures"], ledger["requests"][0]["failed"], ledger["faults"]) == (0, False, {})


@pytest.mark.parametrize("door", [by_proxy, by_connect, by_tls])
def test_headers_of_h2_are_spelled_and_ordered_as_recorded(server: Attacked, door: Door) -> None:
    answer = [line for line in door(server, "h2", "Accept-Encoding: gzip\r\n") if not line.startswith(b"X-Webemu")]
    recorded = [b"Content-Type: text/html", *PLAIN]
    recorded[4] = b"CONTENT-LENGTH: 20"
    assert [line for line in answer if line != b"Connection: close"] == recorded
    plain = door(server, "h2")
    assert not [line for line in plain if line.lower().startswith(b"content-encoding")]
    assert [line for line in plain if line.startswith(b"CONTENT-LENGTH")] == [b"CONTENT-LENGTH: 0"]


def dropped(server: Attacked) -> dict[str, float]:
    with httpx.Client(trust_env=False) as client:
        text = client.get(f"http://127.0.0.1:{server.port}/metrics").text
    matches = re.findall(r'webemu_dropped_headers_total\{reason="([a-z-]+)"\} ([0-9.]+)', text)
    return {reason: float(number) for reason, number in matches}


@pytest.mark.parametrize("door", [by_proxy, by_connect, by_tls, by_archive])
def test_a_header_that_is_left_out_is_counted(server: Attacked, door: Door) -> None:
    before = dropped(server)
    answer = door(server, "odd")
    assert b"X-Webemu-Dropped-Headers: 3" in answer
    assert [line for line in answer if line.endswith(b"X-Nul: a b")]
    after = dropped(server)
    increase = {reason: after[reason] - before[reason] for reason in after}
    assert increase == {"bad-name": 2, "bad-value": 1, "too-long": 0, "too-many": 0}
    marks = by_proxy(server, "odd", "X-Webemu-Session: r1;marks=off\r\n")
    assert not [line for line in marks if b"ebemu" in line]


def test_the_api_renames_what_http_forbids_and_loses_nothing(server: Attacked) -> None:
    answer = by_fetch(server, "odd")
    assert b"x-archive-orig-x_bad: 2" in answer
    assert b"x-archive-orig-_odd_: 3" in answer
    assert not [line for line in answer if b"dropped" in line.lower()]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("door", DOORS)
def test_every_head_is_one_that_clients_take(server: Attacked, door: Door, path: str) -> None:
    for more in ("", "Accept-Encoding: gzip\r\n"):
        answer = door(server, path, more)
        assert len(answer) < 100
        assert all(len(line) + 2 <= MAX_LINE_BYTES for line in answer)
        assert sum(len(line) + 2 for line in answer) < 100 << 10


@pytest.mark.parametrize("path", PAGES)
def test_python_and_httpx_read_every_answer(server: Attacked, path: str) -> None:
    targets = (
        f"http://{HOST}/{path}",
        f"http://127.0.0.1:{server.port}/v1/fetch?format=raw&url=http://{HOST}/{path}",
        f"http://web.archive.org/web/20240110000000/http://{HOST}/{path}",
    )
    for target in targets:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", target)
        assert connection.getresponse().read() is not None
        connection.close()
        with httpx.Client(proxy=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
            assert client.get(target).status_code in (200, 302)


def test_what_is_needed_stays_longest() -> None:
    many = [(b"X-%d" % at, b"v") for at in range(200)]
    headers, reasons = sanitize_headers([*many, (b"Content-Type", b"text/html"), (b"X-Webemu-Url", b"u")])
    assert headers[-3:] == [
        (b"Content-Type", b"text/html"),
        (b"X-Webemu-Url", b"u"),
        (b"X-Webemu-Dropped-Headers", b"112"),
    ]
    assert reasons == ["too-many"] * 112
    assert headers[:88] == many[:88]
    assert len(headers) == MAX_HEADERS + 1
    large = [(b"X-%d" % at, b"v" * 60_000) for at in range(3)]
    headers, reasons = sanitize_headers([*large, (b"Location", b"l" * 50_000)])
    assert ([name for name, _ in headers], reasons) == ([b"Location", b"X-Webemu-Dropped-Headers"], ["too-long"] * 3)
    assert sum(len(name) + len(value) + 4 for name, value in headers) <= MAX_HEAD_BYTES
    assert sanitize_headers([(b"A", b"")]) == ([(b"A", b"")], [])
