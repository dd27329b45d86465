"""DNS answers of the emulated web: every captured host name leads to this server, and no other name exists.

One packet in, one packet out, no socket. It follows RFC 1035, 2308 (negative answers), 6761 (localhost) and 6891
(EDNS). A packet that cannot be parsed is answered with FORMERR; one that is not a question is not answered.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from dnslib import AAAA, CLASS, EDNS0, PTR, QTYPE, RCODE, RR, SOA, A, DNSBuffer, DNSHeader, DNSQuestion, DNSRecord

from webemu.api.proxy.host_addresses import assign_addresses
from webemu.emulator.config import Network
from webemu.emulator.errors import EmulatorError

Address: TypeAlias = IPv4Address | IPv6Address
HostCheck: TypeAlias = Callable[[str], bool]
"""Function that is True for host names of the emulated web. Raises EmulatorError if that is unknown at the moment."""

TTL_SECONDS = 30
"""Seconds for which clients may cache an answer."""
MAX_PACKET_BYTES = 1232
"""Largest question in bytes. There is no honest reason for more (RFC 6891, section 6.2.5, and dnsflagday.net/2020)."""
_HEADER_BYTES = 12
"""Bytes of a DNS header."""
_MAX_NAME_BYTES = 253
_LABEL = re.compile(rb"[A-Za-z0-9_-]{1,63}")
_OPT_PREFIX = b"\x00\x00\x29"
"""Beginning of an OPT record: the root as its name, and type 41."""
_LOOPBACK: tuple[Address, ...] = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
_SERVER_NAME = "webemu"
"""Name of this server itself."""


def answer(
    packet: bytes, local_address: Address, is_captured_host: HostCheck, networks: Sequence[Network] = ()
) -> bytes:
    """Return the packet to send back; empty if none is due. The question was sent to `local_address`.

    Captured hosts have an address in each network, or, if there is no network, `local_address`.
    """
    if not _HEADER_BYTES <= len(packet) <= MAX_PACKET_BYTES or packet[2] & 0x80:
        return b""
    try:
        buffer = DNSBuffer(packet)
        header = DNSHeader.parse(buffer)
        if header.opcode:
            return _error_packet(packet, RCODE.NOTIMP)
        if header.q != 1:
            return _error_packet(packet, RCODE.FORMERR)
        question = DNSQuestion.parse(buffer)
        reply = _build_reply(header, question, local_address, is_captured_host, networks)
        if header.ar and packet[buffer.offset :].startswith(_OPT_PREFIX):
            reply.add_ar(EDNS0(udp_len=MAX_PACKET_BYTES))
        return bytes(reply.pack())
    except Exception:  # hostile packets make dnslib raise more than its own errors: RecursionError, DNSLabelError
        return _error_packet(packet, RCODE.FORMERR)


def _build_reply(
    header: DNSHeader,
    question: DNSQuestion,
    local_address: Address,
    is_captured_host: HostCheck,
    networks: Sequence[Network],
) -> DNSRecord:
    """Return the response to a question: records, NXDOMAIN, or SERVFAIL while no snapshot is open."""
    reply_header = DNSHeader(id=header.id, bitmap=0, qr=1, aa=1, ra=1, rd=header.rd)
    reply = DNSRecord(reply_header, q=question)
    if question.qclass not in (CLASS.IN, QTYPE.ANY):
        reply_header.rcode = RCODE.REFUSED
        return reply
    try:
        records = _find_records(_decode_name(question.qname.label), local_address, is_captured_host, networks)
    except EmulatorError:
        reply_header.rcode = RCODE.SERVFAIL
        return reply
    if records is None:
        reply_header.rcode = RCODE.NXDOMAIN
    for kind, record in records or ():
        if question.qtype in (kind, QTYPE.ANY):
            reply.add_answer(RR(question.qname, kind, ttl=TTL_SECONDS, rdata=record))
    if not reply.rr:  # the SOA record tells for how long a negative answer may be cached (RFC 2308)
        reply.add_auth(
            RR(
                "",
                QTYPE.SOA,
                ttl=TTL_SECONDS,
                rdata=SOA(_SERVER_NAME, f"hostmaster.{_SERVER_NAME}", (1, 3600, 600, 86400, TTL_SECONDS)),
            )
        )
    return reply


def _find_records(
    name: str | None, local_address: Address, is_captured_host: HostCheck, networks: Sequence[Network]
) -> list[tuple[int, A | AAAA | PTR]] | None:
    """Return type and data of all records of a name; None if the name does not exist."""
    if name == "":  # the root: some resolvers ask for it first
        return []
    if name is None:
        return None
    if name.endswith((".in-addr.arpa", ".ip6.arpa")):
        pointers = {local_address.reverse_pointer: _SERVER_NAME} | {
            one.reverse_pointer: "localhost" for one in _LOOPBACK
        }
        return [(QTYPE.PTR, PTR(pointers[name]))] if name in pointers else None
    if name == "localhost" or name.endswith(".localhost"):
        return [_address_record(one) for one in _LOOPBACK]
    if name == _SERVER_NAME:
        return [_address_record(local_address)]
    if not is_captured_host(name):
        return None
    return [_address_record(address) for address in assign_addresses(name, networks) or [local_address]]


def _address_record(address: Address) -> tuple[int, A | AAAA]:
    """Return the record type and data of an IP address."""
    if address.version == 4:
        return QTYPE.A, A(str(address))
    return QTYPE.AAAA, AAAA(str(address))


def _decode_name(labels: tuple[bytes, ...]) -> str | None:
    """Return a name in lower case without the final dot; None if no host can have that name."""
    name = b".".join(labels)
    if len(name) > _MAX_NAME_BYTES or not all(map(_LABEL.fullmatch, labels)):
        return None
    return name.decode("ascii").lower()


def _error_packet(packet: bytes, code: int) -> bytes:
    """Return a bare header with the id and operation of the question, and an error code."""
    number, flags = struct.unpack_from("!HH", packet)
    # Response bit and recursion available; opcode and recursion desired as in the question.
    return struct.pack("!HHHHHH", number, 0x8080 | flags & 0x7900 | code, 0, 0, 0, 0)
