"""What DNS says on the emulated web: every name that was crawled leads to this server, and no other name exists.

A packet in, a packet out, no socket: RFC 1035, 2308 (what is not there), 6761 (localhost), 6891 (EDNS). What cannot be
read is answered FORMERR; what is no question is not answered.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from dnslib import AAAA, CLASS, EDNS0, PTR, QTYPE, RCODE, RR, SOA, A, DNSBuffer, DNSHeader, DNSQuestion, DNSRecord

from webemu.emulator.errors import EmulatorError

Address: TypeAlias = IPv4Address | IPv6Address
Knows: TypeAlias = Callable[[str], bool]
"""Whether a name leads to the emulated web. Raises EmulatorError where that cannot be told now."""

TTL = 30
MAX_PACKET = 1232
"""Bytes of a question; more has no honest reason (RFC 6891, section 6.2.5, and dnsflagday.net/2020)."""
_HEAD = 12
_MAX_NAME = 253
_LABEL = re.compile(rb"[A-Za-z0-9_-]{1,63}")
_OPT = b"\x00\x00\x29"
"""How an OPT record begins: the root as its name, and type 41."""
_LOOPBACK: tuple[Address, ...] = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
_OWN = "webemu"


def answer(packet: bytes, here: Address, knows: Knows) -> bytes:
    """The packet to send back; empty where none is due. `here` is the address through which we were asked."""
    if not _HEAD <= len(packet) <= MAX_PACKET or packet[2] & 0x80:
        return b""
    try:
        buffer = DNSBuffer(packet)
        header = DNSHeader.parse(buffer)
        if header.opcode:
            return _refused(packet, RCODE.NOTIMP)
        if header.q != 1:
            return _refused(packet, RCODE.FORMERR)
        asked = DNSQuestion.parse(buffer)
        reply = _reply(header, asked, here, knows)
        if header.ar and packet[buffer.offset :].startswith(_OPT):
            reply.add_ar(EDNS0(udp_len=MAX_PACKET))
        return bytes(reply.pack())
    except Exception:  # hostile packets make dnslib raise more than its own errors: RecursionError, DNSLabelError
        return _refused(packet, RCODE.FORMERR)


def _reply(header: DNSHeader, asked: DNSQuestion, here: Address, knows: Knows) -> DNSRecord:
    said = DNSHeader(id=header.id, bitmap=0, qr=1, aa=1, ra=1, rd=header.rd)
    reply = DNSRecord(said, q=asked)
    if asked.qclass not in (CLASS.IN, QTYPE.ANY):
        said.rcode = RCODE.REFUSED
        return reply
    try:
        found = _records(_name(asked.qname.label), here, knows)
    except EmulatorError:
        said.rcode = RCODE.SERVFAIL
        return reply
    if found is None:
        said.rcode = RCODE.NXDOMAIN
    for kind, record in found or ():
        if asked.qtype in (kind, QTYPE.ANY):
            reply.add_answer(RR(asked.qname, kind, ttl=TTL, rdata=record))
    if not reply.rr:
        reply.add_auth(RR("", QTYPE.SOA, ttl=TTL, rdata=SOA(_OWN, f"hostmaster.{_OWN}", (1, 3600, 600, 86400, TTL))))
    return reply


def _records(name: str | None, here: Address, knows: Knows) -> list[tuple[int, A | AAAA | PTR]] | None:
    """Type and data of all that a name has; None if there is no such name."""
    if name == "":  # the root, which some resolvers ask for first
        return []
    if name is None:
        return None
    if name.endswith((".in-addr.arpa", ".ip6.arpa")):
        pointed = {here.reverse_pointer: _OWN} | {one.reverse_pointer: "localhost" for one in _LOOPBACK}
        return [(QTYPE.PTR, PTR(pointed[name]))] if name in pointed else None
    if name == "localhost" or name.endswith(".localhost"):
        return [_address(one) for one in _LOOPBACK]
    return [_address(here)] if name == _OWN or knows(name) else None


def _address(address: Address) -> tuple[int, A | AAAA]:
    if address.version == 4:
        return QTYPE.A, A(str(address))
    return QTYPE.AAAA, AAAA(str(address))


def _name(labels: tuple[bytes, ...]) -> str | None:
    """In lower case, without the last dot; None if no site can be called so."""
    name = b".".join(labels)
    if len(name) > _MAX_NAME or not all(map(_LABEL.fullmatch, labels)):
        return None
    return name.decode("ascii").lower()


def _refused(packet: bytes, code: int) -> bytes:
    """A bare header with the number and operation that were asked."""
    number, flags = struct.unpack_from("!HH", packet)
    return struct.pack("!HHHHHH", number, 0x8080 | flags & 0x7900 | code, 0, 0, 0, 0)
