"""Whatever is sent to the server's port: it answers what can be answered, refuses the rest, and is none the worse."""

import re
import resource
import selectors
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.attacked import BIG, Attacked, attacked, received, reset
from tests.shared import cases
from webemu.api.services.web import MAX_BODY_BYTES

H = b" HTTP/1.1\r\nHost: a.example\r\n"
CLOSE = H + b"Connection: close\r\n\r\n"
PLAIN = b"GET /plain" + H + b"\r\n"
POST = b"POST /" + H
TOO_MUCH = MAX_BODY_BYTES + 1
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("robust")) as server:
        memory = server.process.memory_info().rss
        yield server
        assert server.process.memory_info().rss - memory < 200 << 20


@pytest.fixture(autouse=True)
def unharmed(request: pytest.FixtureRequest, server: Attacked) -> Iterator[None]:
    before = server.descriptors()
    yield
    server.is_unharmed(before)


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(answer)]


REFUSED = {
    "garbage": b"\xff\xfe\x00 nonsense\r\n\r\n",
    "nuls": b"\0" * 100 + b"\r\n\r\n",
    "no-version": b"GET / nonsense\r\n\r\n",
    "odd-version": b"GET / HTTP/9.9\r\n\r\n",
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "lower-case": b"get /" + CLOSE,
    "line-feeds-alone": b"GET / HTTP/1.1\nHost: a.example\n\n",
    "no-colon": b"GET /" + H + b"nonsense\r\n\r\n",
    "folded": b"GET /" + H + b"X: a\r\n b\r\n\r\n",
    "no-host": b"GET /health HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "no-host-proxied": b"GET http://a.example/plain HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "two-hosts": b"GET /" + H + b"Host: b.example\r\n\r\n",
    "host-of-words": b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "long-host": b"GET / HTTP/1.1\r\nHost: " + b"a" * 60_000 + b"\r\n\r\n",
    "two-lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "negative-length": POST + b"Content-Length: -3\r\n\r\nabc",
    "long-length": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nabc",
    "length-then-chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + PLAIN,
    "chunks-then-length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + PLAIN,
    "odd-coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "bad-chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "control-in-path": b"GET /a\x01b" + CLOSE,
    "backslashes": b"GET \\a\\b" + CLOSE,
    "query-alone": b"GET ?a" + CLOSE,
    "port-too-high": b"GET http://a.example:65536/" + CLOSE,
    "port-0": b"GET http://a.example:0/" + CLOSE,
    "port-of-letters": b"GET http://a.example:x/" + CLOSE,
    "no-authority": b"GET http:///" + CLOSE,
    "no-authority-or-path": b"GET http://" + CLOSE,
    "user-alone": b"GET http://u@/" + CLOSE,
    "dots-alone": b"GET http://.../" + CLOSE,
    "open-bracket": b"GET http://[::1/" + CLOSE,
    "ftp": b"GET ftp://a.example/" + CLOSE,
    "bytes-in-host": b"GET http://xn--\xff\xfe/" + CLOSE,
    "connect-port-0": b"CONNECT a.example:0 HTTP/1.1\r\n\r\n",
    "connect-user": b"CONNECT u@a.example:443 HTTP/1.1\r\n\r\n",
    "connect-path": b"CONNECT a.example:443/x?y HTTP/1.1\r\n\r\n",
    "connect-url": b"CONNECT https://a.example/ HTTP/1.1\r\n\r\n",
    "connect-nul": b"CONNECT \0a.example:443 HTTP/1.1\r\n\r\n",
    "connect-long": b"CONNECT " + b"a" * 5000 + b":443 HTTP/1.1\r\n\r\n",
    "connect-http2": b"CONNECT a.example:443 HTTP/2.0\r\n\r\n",
    "unknown-setting": b"GET http://a.example/plain" + H + b"Proxy-Authorization: Basic YTtiPWM6\r\n\r\n",
    "broken-base64": b"GET http://a.example/plain" + H + b"Proxy-Authorization: Basic ***!\r\n\r\n",
    "odd-session": b"GET /plain" + H + b"X-Webemu-Session: a;b=\xff\r\n\r\n",
    "two-sessions": b"GET /plain" + H + b"X-Webemu-Session: a;marks=on\r\nX-Webemu-Session: b\r\n\r\n",
    "long-session": b"GET /plain" + H + b"X-Webemu-Session: " + b"a" * 60_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
def test_what_is_no_request_is_refused_and_the_connection_closed(server: Attacked, sent: bytes) -> None:
    answer = server.ask(sent)
    assert statuses(answer) == [400], answer[:300]
    assert b"X-Webemu-Reason: bad-" in answer


ANSWERED = {
    "http10": (b"GET /plain HTTP/1.0\r\nHost: a.example\r\n\r\n", [200]),
    "http10-kept": (b"GET /plain HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n", [200]),
    "http09": (b"GET /health\r\n\r\n", [505]),
    "http20": (b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n" + PLAIN, [505]),
    "http20-proxied": (b"GET http://a.example/plain HTTP/2.0\r\nHost: a.example\r\n\r\n", [505]),
    "blank-lines-before": (b"\r\n\r\n" + PLAIN, [200]),
    "blank-lines-before-connect": (b"\r\nCONNECT a.example:80 HTTP/1.1\r\n\r\n" + PLAIN, [200, 200]),
    "pipelined": (PLAIN * 50, [200] * 50),
    "pipelined-to-all": (
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET http://a.example/plain HTTP/1.1\r\nHost: x\r\n\r\n" + PLAIN,
        [200] * 3,
    ),
    "junk-after": (PLAIN * 3 + b"junk junk\r\n\r\n", [200, 200, 200, 400]),
    "connect-after": (PLAIN + b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", [200, 400]),
    "websocket": (b"GET /plain" + H + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + PLAIN, [200, 200]),
    "h2c": (b"GET /plain" + H + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n" + PLAIN, [200, 200]),
    "options": (b"OPTIONS *" + CLOSE, [405]),
    "trace": (b"TRACE /" + CLOSE, [405]),
    "bytes-in-path": ("GET /münchen".encode() + CLOSE, [404]),
    "odd-escapes": (b"GET /%zz%f%ED%A0%80\xed\xa0\x80" + CLOSE, [404]),
    "slashes": (b"GET //evil//x" + CLOSE, [404]),
    "long-path": (b"GET /" + b"p" * 60_000 + CLOSE, [404]),
    "punycode-junk": (b"GET http://xn--zzzzzz/" + CLOSE, [502]),
    "user": (b"GET http://u:p@a.example/plain" + CLOSE, [200]),
    "https-in-the-clear": (b"GET https://a.example/" + CLOSE, [200]),
    "dot-after-host": (b"GET http://A.EXAMPLE./plain" + CLOSE, [200]),
    "address": (b"GET http://[::1]/health" + CLOSE, [502]),
    "connect-to-itself": (b"CONNECT 127.0.0.1:8800 HTTP/1.1\r\n\r\n", [502]),
    "connect-to-80": (b"CONNECT a.example:80 HTTP/1.1\r\n\r\n" + PLAIN * 2, [200] * 3),
    "connect-no-host-inside": (b"CONNECT a.example:80 HTTP/1.1\r\n\r\nGET /plain HTTP/1.0\r\n\r\n", [200, 200]),
    "connect-no-host-inside-http11": (
        b"CONNECT a.example:80 HTTP/1.1\r\n\r\nGET /plain HTTP/1.1\r\n\r\n",
        [200, 400],
    ),
    "connect-with-body": (b"CONNECT a.example:80 HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd" + PLAIN, [200, 400]),
    "connect-in-connect": (b"CONNECT a.example:80 HTTP/1.1\r\n\r\n" * 2, [200, 400]),
    "chunked": (POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + PLAIN, [405, 200]),
    "expects": (POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", [100, 405]),
    "expects-too-much": (POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % TOO_MUCH, [413]),
    "too-much": (POST + b"Content-Length: %d\r\n\r\n" % TOO_MUCH + b"x" * TOO_MUCH + PLAIN, [413, 200]),
    "204-with-body": (b"GET https://a.example/none" + H + b"\r\n" + PLAIN, [204, 200]),
    "304-with-body": (b"GET https://a.example/unmodified" + H + b"\r\n" + PLAIN, [304, 200]),
    "recorded-100": (b"GET https://a.example/continue" + CLOSE, [502]),
    "recorded-101": (b"GET https://a.example/switch" + CLOSE, [502]),
    "recorded-999": (b"GET https://a.example/odd" + CLOSE, [999]),
    "long-range": (b"GET /plain" + H + b"Range: bytes=0-" + b"9" * 5000 + b"\r\n\r\n", [200]),
    "odd-dates": (
        b"GET /plain" + H + b"Accept-Datetime: Mon, 01 Jan 0001 00:00:00 +2359\r\nIf-Modified-Since: \xff\r\n\r\n",
        [200],
    ),
}


@pytest.mark.parametrize(("sent", "expected"), ANSWERED.values(), ids=ANSWERED)
def test_what_is_odd_is_answered(server: Attacked, sent: bytes, expected: list[int]) -> None:
    answer = server.ask(sent)
    assert statuses(answer) == expected, answer[:300]


ENDLESS = {
    "line": (b"GET /", b"a" * 10_000),
    "connect": (b"CONNECT a.example:443 HTTP/1.1\r\n", b"X: %s\r\n" % (b"a" * 10_000)),
    "fields": (b"GET /" + H, b"X: %s\r\n" % (b"a" * 10_000)),
    "field-of-a-second-request": (PLAIN + b"GET /" + H + b"X: ", b"a" * 10_000),
    "trailers": (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: %s\r\n" % (b"a" * 10_000)),
    "chunk-extension": (POST + b"Transfer-Encoding: chunked\r\n\r\n3;", b"a" * 10_000),
}


@pytest.mark.parametrize(("first", "then"), ENDLESS.values(), ids=ENDLESS)
def test_what_does_not_end_is_cut_off(server: Attacked, first: bytes, then: bytes) -> None:
    answer = server.ask(first + then * 100, half=False)
    assert statuses(answer)[-1:] in ([431], [400]), answer[:300]


PIECES = (
    b"GET |POST |CONNECT |HEAD |/|http://|https://|a.example|:80|:443|@| HTTP/1.1\r\n| HTTP/1.0\r\n|Host: a.example\r\n"
    b"|Host: |Content-Length: |1|\r\n|\n|Transfer-Encoding: chunked\r\n|Connection: close\r\n|Upgrade: h2c\r\n"
    b"|\x16\x03\x01|Proxy-Authorization: Basic |X-Webemu-Session: |Range: bytes=|-|?|#|%|\\|["
).split(b"|")
heads = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)), max_size=14).map(b"".join)


@settings(
    max_examples=cases(60, 300),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(heads, st.booleans())
def test_any_bytes_are_answered_or_not(server: Attacked, head: bytes, is_ended: bool) -> None:
    answer = server.ask(head + b"\r\n\r\n" * is_ended)
    assert answer[:9] in (b"", b"HTTP/1.1 ") or answer[:1] == b"\x15"
    assert 500 not in statuses(answer)


@pytest.mark.parametrize(
    "path", [b"http://a.example/plain", b"https://a.example/big", b"https://a.example/nowhere", b"/health"]
)
def test_who_sends_no_more_still_gets_the_answer(server: Attacked, path: bytes) -> None:
    answer = server.ask(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    assert length
    assert len(body) == int(length[1])


def test_who_reads_slowly_or_not_at_all_blocks_nobody(server: Attacked) -> None:
    request = b"GET https://a.example/big HTTP/1.1\r\nHost: x\r\n\r\n"
    slow = [server.connect(request) for _ in range(20)]
    assert [client.recv(1) for client in slow] == [b"H"] * 20
    assert statuses(server.ask(PLAIN)) == [200]
    assert server.ask(request).endswith(BIG)
    for client in slow[:10]:
        client.close()
    for client in slow[10:]:
        reset(client)


@pytest.mark.parametrize(
    ("sent", "expected"), [(PLAIN * 2, [200, 200]), ("GET /münchen".encode() + H + b"X: \xfc\r\n\r\n", [404])]
)
def test_a_request_may_come_byte_by_byte(server: Attacked, sent: bytes, expected: list[int]) -> None:
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in sent:
            client.sendall(bytes([byte]))
        client.shutdown(socket.SHUT_WR)
        assert statuses(received(client)) == expected


UNREAD_REQUESTS = {
    "nothing": b"",
    "piece": b"GET",
    "request": PLAIN,
    "pipeline": PLAIN * 30,
    "half-a-body": POST + b"Content-Length: 9\r\n\r\nx",
    "connect": b"CONNECT a.example:443 HTTP/1.1\r\n\r\n",
    "large": b"GET https://a.example/big HTTP/1.1\r\nHost: x\r\n\r\n" * 3,
    "from-a-thread": b"GET https://a.example/nowhere" + H + b"\r\n",
}


@pytest.mark.parametrize("sent", UNREAD_REQUESTS.values(), ids=UNREAD_REQUESTS)
def test_who_resets_leaves_nothing_behind(server: Attacked, sent: bytes) -> None:
    for _ in range(50):
        reset(server.connect(sent))


def test_names_and_sessions_are_not_hoarded(server: Attacked) -> None:
    before = server.process.memory_info().rss
    with server.connect() as client:
        for number in range(3000):
            client.sendall(b"GET /plain" + H + b"X-Webemu-Session: %s\r\n\r\n" % (b"%d" % number * 8000)[:30_000])
            assert received(client, b"6,000\n").startswith(b"HTTP/1.1 400 ")
    assert server.process.memory_info().rss - before < 40 << 20


def test_two_thousand_connections_at_once(server: Attacked) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    clients = [server.connect() for _ in range(2000)]
    tunnelled = clients[::2]
    assert all(is_answered(tunnelled, b"CONNECT a.example:80 HTTP/1.1\r\n\r\n", b"200 Connection established\r\n\r\n"))
    for _ in range(2):
        assert all(is_answered(clients, b"GET http://a.example/plain" + H + b"\r\n", b"\r\n\r\nplain"))
    assert server.descriptors() > 2000
    for client in clients:
        client.close()


def is_answered(clients: list[socket.socket], sent: bytes, end: bytes) -> list[bool]:
    """Sends to all, then waits for all."""
    answers = dict.fromkeys(clients, b"")
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client, selectors.EVENT_READ)
            client.sendall(sent)
        while selector.get_map():
            ready = selector.select(30)
            assert ready
            for key, _ in ready:
                client = key.fileobj
                assert isinstance(client, socket.socket)
                answers[client] += (some := client.recv(65536))
                if not some or answers[client].endswith(end):
                    selector.unregister(client)
    return [answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(end) for answer in answers.values()]
