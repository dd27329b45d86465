"""TLS with clients that are broken, odd, slow or gone; certificates for more names than are kept."""

import socket
import ssl
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacked import BIG, HOST, Attacked, attacked, received, reset
from tests.shared import cases
from webemu.api.proxy.authority import MAX_CONTEXTS, CertificateAuthority, ensure_authority
from webemu.api.proxy.client_hello import read_server_name

REQUEST = b"GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n"
LONG = ".".join(["y" * 60] * 4)
ALERT = b"\x15\x03"
RECORD = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("robust-tls")) as server:
        yield server


@pytest.fixture
def unharmed(server: Attacked) -> Iterator[None]:
    before = server.descriptors()
    yield
    server.is_unharmed(before)


def hello(name: bytes = HOST.encode()) -> bytes:
    """A ClientHello that asks for a name, whatever bytes it has."""
    stand_in = (("a" * 40 + ".") * 7)[: len(name) - 1] + "b"
    context, outgoing = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=stand_in).do_handshake()
    return outgoing.read().replace(stand_in.encode(), name)


HELLO = hello()


def in_records(sent: bytes, size: int) -> bytes:
    """The same handshake message in records of a size."""
    body = sent[RECORD:]
    parts = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(sent[:3] + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (b"a.example", "a.example"),
        (b"A.Example", "a.example"),
        (b"a.example.", "a.example."),
        (LONG.encode(), LONG),
        (b"192.0.2.1", "192.0.2.1"),
        (b"\xff\xfe.odd", ""),
        (b"a b\x01", ""),
        (b"nul\0.example", ""),
    ],
)
def test_the_name_is_read_from_the_hello(name: bytes, read: str) -> None:
    whole_hello = hello(name)
    assert read_server_name(whole_hello) == read
    assert {read_server_name(whole_hello[:cut]) for cut in range(1, len(whole_hello))} == {None}
    assert read_server_name(in_records(whole_hello, 100)) == read
    assert read_server_name(in_records(whole_hello, 1)) == read


@settings(max_examples=cases(100, 500), deadline=None, derandomize=True)
@given(st.binary(max_size=600), st.integers(0, 600), st.booleans())
def test_any_bytes_have_a_name_or_none(noise: bytes, cut: int, is_hello: bool) -> None:
    name = read_server_name((HELLO[:cut] if is_hello else b"\x16\x03\x01") + noise)
    assert name is None or name.isascii()


BROKEN = {
    "garbage": b"\x16" + b"x" * 100,
    "garbage-in-a-record": b"\x16\x03\x01\x00\x64" + b"x" * 100,
    "cut-off": HELLO[:50],
    "long-record": b"\x16\x03\x01\xff\xff" + b"x" * 70_000,
    "empty-records": b"\x16\x03\x01\x00\x00" * 20_000,
    "huge-hello": b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + b"x" * 100_000,
    "no-hello": b"\x16\x03\x03\x00\x04\x0e\x00\x00\x00",
    "twice": HELLO * 2,
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("is_tunnelled", [False, True])
@pytest.mark.usefixtures("unharmed")
def test_what_is_no_handshake_is_closed(server: Attacked, sent: bytes, is_tunnelled: bool) -> None:
    with server.tunnel() if is_tunnelled else server.connect() as client:
        with suppress(OSError):  # it may be closed before all is sent
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        assert b"HTTP/" not in received(client)


@pytest.mark.parametrize("name", [b"\xff\xfe.odd", b"nul\0.example", b"a b", b"*.example", b"[::1]", b"x" * 250])
@pytest.mark.usefixtures("unharmed")
def test_odd_names_are_answered_with_tls(server: Attacked, name: bytes) -> None:
    with server.connect(hello(name)) as client:
        assert client.recv(2) in (b"\x16\x03", ALERT)


@pytest.mark.parametrize("name", [HOST, "A.EXAMPLE", "a.example.", "x" * 63 + ".example", LONG, "other.example"])
@pytest.mark.usefixtures("unharmed")
def test_a_certificate_is_right_for_its_name(server: Attacked, name: str) -> None:
    with server.tls(name) as client:
        client.sendall(REQUEST % b"/")
        assert received(client, b"</p>").startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("unharmed")
def test_an_address_has_a_certificate_too(server: Attacked) -> None:
    with server.tls("127.0.0.1") as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert received(client, b"}").startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("unharmed")
def test_who_names_nobody_gets_the_certificate_of_connect(server: Attacked) -> None:
    context = ssl.create_default_context(cafile=str(server.ca))
    context.check_hostname = False
    with context.wrap_socket(server.tunnel()) as client:
        assert names_in(client) == [HOST]
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"ships" in received(client)


@pytest.mark.usefixtures("unharmed")
def test_old_tls_is_told_that_it_is_old(server: Attacked) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with server.connect() as client, pytest.raises(ssl.SSLError, match=r"(?i)alert.protocol.version"):
        context.wrap_socket(client, server_hostname=HOST)


@pytest.mark.parametrize("path", [b"/", b"/big", b"/nowhere"])
@pytest.mark.parametrize("is_tunnelled", [False, True])
@pytest.mark.usefixtures("unharmed")
def test_who_sends_no_more_still_gets_the_answer(server: Attacked, path: bytes, is_tunnelled: bool) -> None:
    with server.tls(over=server.tunnel() if is_tunnelled else None) as client:
        client.sendall(REQUEST % path)
        socket.socket.shutdown(client, socket.SHUT_WR)
        answer = received(client)
    assert answer.endswith({b"/": b"ships</p>", b"/big": BIG, b"/nowhere": b"gone"}[path])


@pytest.mark.usefixtures("unharmed")
def test_who_says_farewell_after_asking_still_gets_the_answer(server: Attacked) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = server.trusting().wrap_bio(incoming, outgoing, server_hostname=HOST)
    with server.connect() as client:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(outgoing.read())
                incoming.write(client.recv(65536))
        tls.write(REQUEST % b"/nowhere")
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()
        client.sendall(outgoing.read())
        incoming.write(received(client))
    assert tls.read(65536).startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("cut", [0, 1, 10, 10_000])
@pytest.mark.parametrize("to", ["", "a.example:443", "a.example:80"])
@pytest.mark.usefixtures("unharmed")
def test_who_goes_in_the_middle_of_a_handshake_leaves_nothing_behind(server: Attacked, cut: int, to: str) -> None:
    sent = (f"CONNECT {to} HTTP/1.1\r\n\r\n" if to else "").encode() + HELLO[:cut]
    for number in range(40):
        client = server.connect(sent)
        if number % 2:
            reset(client)
        else:
            client.close()


@pytest.mark.usefixtures("unharmed")
def test_who_goes_in_the_middle_of_an_answer_leaves_nothing_behind(server: Attacked) -> None:
    for _ in range(20):
        client = server.tls()
        client.sendall(REQUEST % b"/big" * 3)
        assert client.recv(1) == b"H"
        reset(client)


@pytest.mark.usefixtures("unharmed")
def test_many_names_over_the_socket(server: Attacked) -> None:
    for number in range(200):
        with server.tls(f"host-{number}.example") as client:
            assert names_in(client) == [f"host-{number}.example"]


def names_in(client: ssl.SSLSocket) -> list[str]:
    certificate = x509.load_der_x509_certificate(client.getpeercert(binary_form=True) or b"")
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


@pytest.mark.slow
def test_ten_thousand_names_take_bounded_memory(tmp_path: Path) -> None:
    authority = CertificateAuthority(ensure_authority(tmp_path))
    first_context = authority.tls_context("host-0.example")
    assert authority.tls_context("host-0.example") is first_context
    for number in range(MAX_CONTEXTS):
        authority.tls_context(f"first-{number}.example")
    full = psutil.Process().memory_info().rss
    for number in range(10_000 - MAX_CONTEXTS):
        authority.tls_context(f"host-{number}.example")
    assert psutil.Process().memory_info().rss - full < 16 << 20
    assert authority.tls_context("host-0.example") is not first_context
