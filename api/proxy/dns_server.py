"""DNS server: one UDP and one TCP socket per serving process, on its event loop; all processes share the port.

Names lead to the address at which the client reached this server. On a socket bound to all addresses the kernel tells
which one that was (ip(7); RFC 3542), and the answer leaves from it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import TypeAlias

from webemu.api.proxy.dns_answers import MAX_PACKET_BYTES, Address
from webemu.api.proxy.listener import bind_socket, listen
from webemu.emulator.errors import BadRequest

PacketHandler: TypeAlias = Callable[[bytes, Address], bytes]
"""Function that returns the packet to send back to one that arrived at a local address; empty for none."""

MAX_PACKETS_PER_TURN = 64
"""Packets that are read before other work has its turn."""
MAX_CONNECTIONS = 256
"""Most TCP connections at the same time."""
CONNECTION_SECONDS = 10.0
"""Seconds that a TCP connection may take (RFC 7766, section 6.2.3)."""
MAX_QUESTIONS = 100
"""Most questions on one TCP connection."""
IP_PKTINFO = 8
"""Number of a socket option of Linux, ip(7); Python 3.11 has no name for it."""
_ANCILLARY_BYTES = 128
"""Bytes reserved for the ancillary data of a packet."""


def check_dns_port(host: str, port: int) -> None:
    """Raise BadRequest if DNS cannot be served at this address: the port is taken, or the platform cannot tell
    addresses.

    Called before any worker starts.
    """
    listen(host, port).close()
    with bind_socket(host, port, socket.SOCK_DGRAM) as datagrams:
        if sys.platform != "linux" and _parse_address(datagrams.getsockname()[0]).is_unspecified:
            raise BadRequest(f"DNS cannot tell which address of {host} a client used", action="name one with --host")


class DnsServer:
    """The DNS sockets of one process."""

    def __init__(self, host: str, port: int, answer_packet: PacketHandler) -> None:
        self._address = (host, port)
        self._answer_packet = answer_packet
        self._connections = 0
        self._datagrams: socket.socket
        self._streams: asyncio.Server

    async def open(self) -> None:
        """Open the sockets and start answering."""
        self._datagrams = bind_socket(*self._address, socket.SOCK_DGRAM, shared=True)
        _request_destination(self._datagrams)
        self._datagrams.setblocking(False)
        asyncio.get_running_loop().add_reader(self._datagrams, self._answer_datagrams)
        self._streams = await asyncio.start_server(self._serve_connection, sock=listen(*self._address, shared=True))

    def close(self) -> None:
        """Stop answering and close the sockets."""
        asyncio.get_running_loop().remove_reader(self._datagrams)
        self._datagrams.close()
        self._streams.close()

    def _answer_datagrams(self) -> None:
        """Answer the packets that wait at the UDP socket."""
        for _ in range(MAX_PACKETS_PER_TURN):
            try:  # one byte more than allowed, so that a longer packet is noticed
                packet, ancillary, _, client = self._datagrams.recvmsg(MAX_PACKET_BYTES + 1, _ANCILLARY_BYTES)
            except OSError:  # nothing more to read, or an error of an earlier answer
                return
            if reply := self._answer_packet(packet, _destination_address(ancillary, self._datagrams)):
                with suppress(OSError):  # a lost datagram: the client asks again
                    self._datagrams.sendmsg([reply], ancillary, 0, client)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one TCP connection within its limits."""
        self._connections += 1
        try:
            if self._connections <= MAX_CONNECTIONS:
                async with asyncio.timeout(CONNECTION_SECONDS):
                    await self._answer_questions(reader, writer)
        except (OSError, EOFError):  # the client is too slow, or gone
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _answer_questions(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the questions of a TCP connection: each message follows its length in two bytes (RFC 1035, section
        4.2.2).
        """
        local_address = _parse_address(writer.get_extra_info("sockname")[0])
        for _ in range(MAX_QUESTIONS):
            size = int.from_bytes(await reader.readexactly(2))
            if size > MAX_PACKET_BYTES or not (
                reply := self._answer_packet(await reader.readexactly(size), local_address)
            ):
                return
            writer.write(len(reply).to_bytes(2) + reply)
            await writer.drain()


def _request_destination(datagrams: socket.socket) -> None:
    """Ask the kernel to tell the destination address of each packet. Linux only."""
    if sys.platform == "linux":
        is_ipv6 = datagrams.family == socket.AF_INET6
        level, option = (socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO) if is_ipv6 else (socket.IPPROTO_IP, IP_PKTINFO)
        datagrams.setsockopt(level, option, 1)


def _destination_address(ancillary: list[tuple[int, int, bytes]], datagrams: socket.socket) -> Address:
    """Return the destination of a packet: `ipi_spec_dst` of struct in_pktinfo, or `ipi6_addr` of struct in6_pktinfo."""
    for level, _, content in ancillary:
        if level == socket.IPPROTO_IP:
            return ip_address(content[4:8])
        return _unmap_ipv4(IPv6Address(content[:16]))
    return _parse_address(datagrams.getsockname()[0])


def _parse_address(text: str) -> Address:
    """Return an IP address from text, without the zone of a link-local one."""
    address = ip_address(text.partition("%")[0])
    return _unmap_ipv4(address) if isinstance(address, IPv6Address) else address


def _unmap_ipv4(address: IPv6Address) -> Address:
    """Return the IPv4 address that a dual-stack socket shows as IPv6 (RFC 4291, section 2.5.5.2), else the address
    itself.
    """
    return address.ipv4_mapped or address
