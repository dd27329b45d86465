"""DNS of the emulated web, packet by packet and over real sockets; and the further ports that it leads programs to."""

import asyncio
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from dnslib import EDNS0, QTYPE, RCODE, DNSHeader, DNSQuestion, DNSRecord
from hypothesis import given
from hypothesis import strategies as st

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import create_app
from webemu.api.proxy.authority import ensure_authority
from webemu.api.proxy.dns_answers import MAX_PACKET_BYTES, Address, answer
from webemu.api.proxy.dns_server import DnsServer, check_dns_port
from webemu.api.proxy.listener import _first_unprivileged_port
from webemu.emulator.config import Config, Network
from webemu.emulator.errors import BadRequest

HERE = IPv4Address("10.88.0.53")
SIX = IPv6Address("fd00::53")
NAMES = {"a.example", "xn--mnchen-3ya.de", "_dmarc.a.example"}


def ask(name: str, kind: str = "A", here: Address = HERE) -> DNSRecord:
    return DNSRecord.parse(answer(DNSRecord.question(name, kind).pack(), here, NAMES.__contains__))


def values(reply: DNSRecord) -> list[str]:
    return [str(record.rdata) for record in reply.rr]


@pytest.mark.parametrize(
    ("name", "kind", "here", "expected"),
    [
        ("a.example", "A", HERE, ["10.88.0.53"]),
        ("A.eXaMple", "A", HERE, ["10.88.0.53"]),
        ("xn--mnchen-3ya.de", "A", HERE, ["10.88.0.53"]),
        ("_dmarc.a.example", "A", HERE, ["10.88.0.53"]),
        ("a.example", "ANY", HERE, ["10.88.0.53"]),
        ("a.example", "AAAA", HERE, []),
        ("a.example", "HTTPS", HERE, []),
        ("a.example", "MX", HERE, []),
        ("a.example", "A", SIX, []),
        ("a.example", "AAAA", SIX, ["fd00::53"]),
        ("webemu", "A", HERE, ["10.88.0.53"]),
        ("localhost", "A", HERE, ["127.0.0.1"]),
        ("localhost", "AAAA", HERE, ["::1"]),
        ("x.localhost", "A", HERE, ["127.0.0.1"]),
        ("53.0.88.10.in-addr.arpa", "PTR", HERE, ["webemu."]),
        (SIX.reverse_pointer, "PTR", SIX, ["webemu."]),
        ("1.0.0.127.in-addr.arpa", "PTR", IPv4Address("127.0.0.1"), ["localhost."]),
        (".", "NS", HERE, []),
    ],
)
def test_what_is_there(name: str, kind: str, here: Address, expected: list[str]) -> None:
    reply = ask(name, kind, here)
    assert reply.header.rcode == RCODE.NOERROR
    assert values(reply) == expected
    assert [QTYPE[record.rtype] for record in reply.auth] == ([] if expected else ["SOA"])
    assert str(reply.q.qname) == (name if name == "." else f"{name}."), "the name is repeated as it was spelled"
    assert (reply.header.qr, reply.header.aa, reply.header.ra) == (1, 1, 1)


NETWORKS = Config(dns_networks="22.0.0.0/8, 2608::/32").host_networks


def ask_networks(name: str, kind: str, networks: Sequence[Network] = NETWORKS) -> list[str]:
    packet = DNSRecord.question(name, kind).pack()
    return values(DNSRecord.parse(answer(packet, HERE, lambda host: host.endswith("example"), networks)))


def test_each_name_has_an_address_of_its_own_in_each_network() -> None:
    assert ask_networks("a.example", "A") == ask_networks("A.eXaMple", "A") == ["22.146.192.128"]
    assert ask_networks("a.example", "AAAA") == ["2608:0:71a0:24da:ae06:f316:4492:c048"]
    assert ask_networks("a.example", "AAAA", NETWORKS[:1]) == []
    assert ask_networks("webemu", "A") == [str(HERE)]
    assert ask_networks("localhost", "A") == ["127.0.0.1"]
    assert ask_networks("b.test", "A") == []


def test_these_addresses_look_public() -> None:
    """SSRF guards of libraries ask `ipaddress`; some also refuse what ends like the address of a network."""
    names = [f"{number}.example" for number in range(2000)]
    addresses = [ip_address(ask_networks(name, kind)[0]) for name in names for kind in ("A", "AAAA")]
    assert all(address.is_global and not address.is_reserved for address in addresses)
    assert all(address.packed[-1] not in (0, 255) for address in addresses)
    assert len(set(addresses)) > 0.99 * len(addresses)


@pytest.mark.parametrize("networks", ["22.0.0.0", "22.0.0.1/8", "22.0.0.0/25", "2608::/121", "a.example"])
def test_networks_that_cannot_be_used_are_refused(networks: str) -> None:
    with pytest.raises(BadRequest, match="dns_networks") as refused:
        Config(dns_networks=networks)
    assert "22.0.0.0/8" in refused.value.action


@pytest.mark.parametrize(
    "name", ["b.example", "example", "com", "evil.a.example", "8.8.8.8.in-addr.arpa", "127.0.0.1", "a example", "ä.de"]
)
def test_what_was_not_crawled_is_not_there(name: str) -> None:
    reply = ask(name)
    assert (reply.header.rcode, values(reply)) == (RCODE.NXDOMAIN, [])
    assert [QTYPE[record.rtype] for record in reply.auth] == ["SOA"]


def test_a_dot_inside_a_label_is_no_dot() -> None:
    question = DNSRecord.question("a-example").pack().replace(b"\x09a-example", b"\x09a.example")
    assert DNSRecord.parse(answer(question, HERE, NAMES.__contains__)).header.rcode == RCODE.NXDOMAIN


def test_edns_is_answered_with_edns_and_only_then() -> None:
    question = DNSRecord.question("a.example")
    question.add_ar(EDNS0(udp_len=4096, flags="do"))
    with_it = DNSRecord.parse(answer(question.pack(), HERE, NAMES.__contains__))
    assert [(record.rtype, record.edns_len) for record in with_it.ar] == [(QTYPE.OPT, MAX_PACKET_BYTES)]
    assert values(with_it) == ["10.88.0.53"]
    assert ask("a.example").ar == []


LOOPING = b"\0\1\1\0\0\1\0\0\0\0\0\0"


@pytest.mark.parametrize(
    ("packet", "code"),
    [
        (DNSRecord(DNSHeader(id=7)).pack(), "FORMERR"),
        (DNSRecord(DNSHeader(id=7), questions=[DNSQuestion("a.example"), DNSQuestion("b.example")]).pack(), "FORMERR"),
        (DNSRecord.question("a.example").pack()[:-3], "FORMERR"),
        (LOOPING + b"\xc0\x0c\0\1\0\1", "FORMERR"),
        (LOOPING + b"\x01a\xc0\x0c\0\1\0\1", "FORMERR"),
        (LOOPING + b"\x7f" + b"a" * 127 + b"\0\0\1\0\1", "FORMERR"),
        (LOOPING + b"\x3f" + b"\xc0\x0d" * 31 + b"a\0\0\1\0\1", "FORMERR"),
        (LOOPING + b"\x01\xff\0\0\1\0\1", "FORMERR"),
        (DNSRecord(DNSHeader(id=7, opcode=5), q=DNSQuestion("a.example")).pack(), "NOTIMP"),
        (DNSRecord(DNSHeader(id=7), q=DNSQuestion("version.bind", QTYPE.TXT, 3)).pack(), "REFUSED"),
    ],
)
def test_what_makes_no_sense_is_said_so(packet: bytes, code: str) -> None:
    reply = DNSRecord.parse(answer(packet, HERE, NAMES.__contains__))
    assert (RCODE[reply.header.rcode], reply.header.qr, reply.header.id) == (code, 1, int.from_bytes(packet[:2]))


@pytest.mark.parametrize(
    "packet",
    [b"", b"\0" * 11, b"\0" * (MAX_PACKET_BYTES + 1), DNSRecord(DNSHeader(qr=1), q=DNSQuestion("a.example")).pack()],
    ids=["empty", "short", "long", "an answer"],
)
def test_what_is_no_question_is_not_answered(packet: bytes) -> None:
    assert answer(packet, HERE, NAMES.__contains__) == b""


@given(st.binary(max_size=80), st.integers(0, 40), st.integers(0, 6))
def test_no_packet_raises_or_is_answered_at_length(noise: bytes, start: int, cut: int) -> None:
    valid = DNSRecord.question("a.example").pack()
    for packet in (noise, LOOPING + noise, valid[:start] + noise + valid[start + cut :]):
        reply = answer(packet, HERE, NAMES.__contains__)
        assert len(reply) < 512
        assert not reply or reply[:2] == packet[:2]


def test_without_a_snapshot_nothing_is_denied(tmp_path: Path) -> None:
    """Resolvers keep what was denied; a failure of ours they forget."""
    app = create_app(Config(root=tmp_path))
    reply = DNSRecord.parse(app.answer_dns(DNSRecord.question("a.example").pack(), HERE))
    assert RCODE[reply.header.rcode] == "SERVFAIL"
    assert values(DNSRecord.parse(app.answer_dns(DNSRecord.question("webemu").pack(), HERE))) == [str(HERE)]


def free_port() -> int:
    with socket.socket() as streams, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        streams.bind(("127.0.0.1", 0))
        datagrams.bind(("127.0.0.1", streams.getsockname()[1]))
        return int(streams.getsockname()[1])


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_bound_to_all_addresses_it_knows_through_which_it_was_asked() -> None:
    port = free_port()

    def reply(packet: bytes, here: Address) -> bytes:
        return packet + here.packed

    async def run() -> None:
        resolver = DnsServer("::", port, reply)
        await resolver.open()
        for address in ("127.0.0.1", "127.0.0.9", "::1"):
            for tcp in (False, True):
                answer = await asyncio.to_thread(exchange, address, port, b"ask", tcp)
                assert answer == b"ask" + ip_address(address).packed
        resolver.close()

    asyncio.run(run())


def exchange(address: str, port: int, packet: bytes, tcp: bool) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.connect((address, port))
        client.sendall(len(packet).to_bytes(2) + packet if tcp else packet)
        return client.recv(2)[2:] + client.recv(4096) if tcp else client.recv(4096)


@dataclass(frozen=True)
class Place:
    root: Path
    lines: tuple[str, str]
    dns: int
    ports: tuple[int, int]

    def ask(self, name: str, *, by: str = "127.0.0.1", tcp: bool = False) -> DNSRecord:
        return DNSRecord.parse(DNSRecord.question(name).send(by, self.dns, tcp=tcp, timeout=10))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("names")
    ingest(
        root / "c", write(root / "a.warc.gz", [CaptureSpec("https://a.example/", html("Harbour", "The river port."))])
    )
    dns = free_port()
    command = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "serve",
        "--root",
        str(root),
        "--collection",
        "c",
        "--port",
        "0",
    ]
    command += ["--host", "0.0.0.0", "--open", "--web-ports", "0, 0", "--dns-port", str(dns), "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = process.stdout.readline(), process.stdout.readline()
        wait_until_served(int(lines[0].partition("http://0.0.0.0:")[2].partition(" ")[0]))
        ports = [int(number) for number in re.findall(r"\d+", lines[1].partition("port")[2])]
        yield Place(root, lines, dns, (ports[0], ports[1]))
    finally:
        process.terminate()
        _, complaints = process.communicate(timeout=30)
    assert "Traceback" not in complaints


def wait_until_served(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200


def test_the_server_says_where_the_web_is(place: Place) -> None:
    expected_line = (
        f"webemu: the emulated web by host name on 0.0.0.0, port {place.ports[0]}, "
        f"{place.ports[1]}, {place.dns} (DNS)\n"
    )
    assert place.lines[1] == expected_line


@pytest.mark.parametrize("tcp", [False, True])
def test_every_worker_leads_names_to_where_it_was_asked(place: Place, tcp: bool) -> None:
    for number in range(1, 17):
        by = f"127.0.0.{number}"
        assert values(place.ask("a.example", by=by, tcp=tcp)) == [by]
        assert place.ask("b.example", by=by, tcp=tcp).header.rcode == RCODE.NXDOMAIN


def test_one_connection_takes_many_questions_and_bad_ones_end_it(place: Place) -> None:
    question = DNSRecord.question("a.example").pack()
    with socket.create_connection(("127.0.0.1", place.dns), timeout=10) as client:
        for _ in range(3):
            client.sendall(len(question).to_bytes(2) + question)
            stream = client.makefile("rb")
            assert values(DNSRecord.parse(stream.read(int.from_bytes(stream.read(2))))) == ["127.0.0.1"]
    for bad in (b"\xff\xff" + question, b"\0\0", b"\0\x05hello"):
        with socket.create_connection(("127.0.0.1", place.dns), timeout=30) as client:
            client.sendall(bad)
            assert read_to_end(client) == b""


def read_to_end(client: socket.socket) -> bytes:
    try:
        return b"".join(iter(lambda: client.recv(4096), b""))
    except ConnectionResetError:  # closed with bytes of ours unread
        return b""


def test_noise_does_not_keep_it_from_answering(place: Place) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        for size in (0, 1, 11, 12, 40, 1232, 1233, 9000):
            client.sendto(b"\x01" * size, ("127.0.0.1", place.dns))
    assert all(values(place.ask("a.example")) == ["127.0.0.1"] for _ in range(8))


def test_further_ports_lead_to_the_web_in_plain_and_in_tls(place: Place) -> None:
    trusting = ssl.create_default_context(cafile=str(ensure_authority(place.root) / "ca.pem"))
    for port in place.ports:
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        plain.request("GET", "/", headers={"Host": "a.example"})
        assert b"river port" in plain.getresponse().read()
        secure = http.client.HTTPSConnection("a.example", context=trusting)
        secure.sock = trusting.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="a.example")
        secure.request("GET", "/")
        assert b"river port" in secure.getresponse().read()


def test_a_port_that_is_taken_is_refused_at_the_start(place: Place) -> None:
    with pytest.raises(BadRequest, match=f"cannot listen on 127.0.0.1:{place.dns}") as refused:
        check_dns_port("127.0.0.1", place.dns)
    assert "choose another port" in refused.value.action
    with socket.socket(type=socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        with pytest.raises(BadRequest):
            check_dns_port("127.0.0.1", other.getsockname()[1])


@pytest.mark.skipif(not shutil.which("setpriv"), reason="no setpriv to drop the privilege with")
@pytest.mark.skipif(_first_unprivileged_port() <= 53, reason="port 53 is free for all here")
def test_a_privileged_port_is_explained() -> None:
    command = [
        "setpriv",
        "--bounding-set",
        "-all",
        "--inh-caps",
        "-all",
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "serve",
    ]
    done = subprocess.run([*command, "--port", "0", "--dns-port", "53"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "sysctl net.ipv4.ip_unprivileged_port_start=53" in done.stderr


@pytest.mark.parametrize("text", ["80;443", "web", "70000", "[80, 443]", "-1", "80,"])
def test_what_is_no_list_of_ports_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="web_ports"):
        Config(web_ports=text)


def test_a_list_of_ports() -> None:
    assert Config(web_ports="80, 443").further_ports == (80, 443)
    assert Config().further_ports == ()
