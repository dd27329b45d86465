"""DNS on the wire: one UDP and one TCP socket per serving process, in its event loop, sharing the port with the others.

The address that names lead to is the one the asker reached us by: bound to all addresses, the kernel tells which one
(ip(7); RFC 3542), and the answer leaves from it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import TypeAlias

from webemu.api.proxy.dns_answers import MAX_PACKET, Address
from webemu.api.proxy.listener import bound, listen
from webemu.emulator.errors import BadRequest

Reply: TypeAlias = Callable[[bytes, Address], bytes]
"""The packet to send back for one that came in through an address; empty for none."""

TURN = 64
"""Packets read before other work has its turn."""
CONNECTIONS = 256
SECONDS = 10.0
"""That a TCP connection may take (RFC 7766, section 6.2.3)."""
QUESTIONS = 100
"""On one TCP connection."""
IP_PKTINFO = 8
"""Of Linux, ip(7); Python 3.11 has no name for it."""
_ANCILLARY = 128


def check(host: str, port: int) -> None:
    """Whether the port is free, before any worker starts. Raises BadRequest."""
    listen(host, port).close()
    with bound(host, port, socket.SOCK_DGRAM) as datagrams:
        if sys.platform != "linux" and _plain(datagrams.getsockname()[0]).is_unspecified:
            raise BadRequest(f"DNS cannot tell by which address of {host} it is asked", action="give one with --host")


class Resolver:
    """The sockets of one process."""

    def __init__(self, host: str, port: int, reply: Reply) -> None:
        self._place = (host, port)
        self._reply = reply
        self._connections = 0
        self._datagrams: socket.socket
        self._streams: asyncio.Server

    async def open(self) -> None:
        self._datagrams = bound(*self._place, socket.SOCK_DGRAM, shared=True)
        _tell_address(self._datagrams)
        self._datagrams.setblocking(False)
        asyncio.get_running_loop().add_reader(self._datagrams, self._read)
        self._streams = await asyncio.start_server(self._converse, sock=listen(*self._place, shared=True))

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._datagrams)
        self._datagrams.close()
        self._streams.close()

    def _read(self) -> None:
        for _ in range(TURN):
            try:
                packet, told, _, asker = self._datagrams.recvmsg(MAX_PACKET + 1, _ANCILLARY)
            except OSError:  # nothing more, or an error of an earlier answer
                return
            if reply := self._reply(packet, _here(told, self._datagrams)):
                with suppress(OSError):  # lost, as datagrams are: the asker asks again
                    self._datagrams.sendmsg([reply], told, 0, asker)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS:
                async with asyncio.timeout(SECONDS):
                    await self._questions(reader, writer)
        except (OSError, EOFError):  # too slow, or gone
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _questions(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """RFC 1035, section 4.2.2: each message after its length in two bytes."""
        here = _plain(writer.get_extra_info("sockname")[0])
        for _ in range(QUESTIONS):
            size = int.from_bytes(await reader.readexactly(2))
            if size > MAX_PACKET or not (reply := self._reply(await reader.readexactly(size), here)):
                return
            writer.write(len(reply).to_bytes(2) + reply)
            await writer.drain()


def _tell_address(datagrams: socket.socket) -> None:
    if sys.platform == "linux":
        six = datagrams.family == socket.AF_INET6
        level, option = (socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO) if six else (socket.IPPROTO_IP, IP_PKTINFO)
        datagrams.setsockopt(level, option, 1)


def _here(told: list[tuple[int, int, bytes]], datagrams: socket.socket) -> Address:
    """The address a packet was sent to: `ipi_spec_dst` of struct in_pktinfo, `ipi6_addr` of struct in6_pktinfo."""
    for level, _, content in told:
        if level == socket.IPPROTO_IP:
            return ip_address(content[4:8])
        return _mapped(IPv6Address(content[:16]))
    return _plain(datagrams.getsockname()[0])


def _plain(text: str) -> Address:
    """Without the zone of a link-local address."""
    address = ip_address(text.partition("%")[0])
    return _mapped(address) if isinstance(address, IPv6Address) else address


def _mapped(address: IPv6Address) -> Address:
    """The IPv4 address that a socket for both kinds has dressed as IPv6 (RFC 4291, section 2.5.5.2)."""
    return address.ipv4_mapped or address
