"""Set up the network of `webemu run`: one loopback interface, to which whole networks of addresses lead.

Host names of the emulated web have addresses in these networks (`webemu.api.proxy.host_addresses`). They look public,
so that programs that refuse private addresses accept them; but the namespace has no other interface and no other route,
so no packet for them leaves it. Requests go to the kernel by netlink(7), so that no `ip` command is needed.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from ipaddress import ip_network

from webemu.emulator.config import Network
from webemu.emulator.errors import EmulatorError

NETWORKS: tuple[Network, ...] = (ip_network("22.0.0.0/8"), ip_network("2608::/32"))
"""Networks of the host names' addresses, for IPv4 and IPv6. Both belong to the US Department of Defense, which has no
public web servers in them. Networks reserved for tests and documents would be refused like private ones.
"""
LOOPBACK_INDEX = 1
"""Number of the interface `lo` in every network namespace."""
_NETLINK_ROUTE = 0
_RTM_NEWLINK, _RTM_NEWADDR, _RTM_NEWROUTE = 16, 20, 24
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_EXCL, _NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
_NLMSG_ERROR = 2
_IFF_UP = 0x1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_F_NODAD = 1, 2, 0x02
_RTA_DST, _RTA_OIF = 1, 4
_RT_TABLE_LOCAL, _RTPROT_STATIC, _RT_SCOPE_HOST, _RTN_LOCAL = 255, 4, 254, 2
_RECEIVE_BYTES = 4096


def open_loopback() -> tuple[Network, ...]:
    """Bring the loopback interface up and lead the networks to it. Return those that work: without IPv6 in the kernel
    it is the first alone.

    Raises:
        EmulatorError: the kernel refuses.
    """
    try:
        _request(_RTM_NEWLINK, 0, struct.pack("BxHiII", 0, 0, LOOPBACK_INDEX, _IFF_UP, _IFF_UP))
        _add_network(NETWORKS[0])
    except OSError as error:
        raise EmulatorError(f"cannot set up the loopback interface: {error.strerror}") from error
    with suppress(OSError):  # the kernel has no IPv6, or it is switched off
        _add_network(NETWORKS[1])
        return NETWORKS
    return NETWORKS[:1]


def _add_network(network: Network) -> None:
    """Lead all addresses of a network to this namespace itself, and give the interface the first one of them.

    Without that one, AI_ADDRCONFIG of getaddrinfo(3) takes the machine to have no addresses of this family, since it
    does not count 127.0.0.1 and ::1. Raises OSError.
    """
    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    address = network[1].packed
    head = struct.pack("BBBBI", family, network.max_prefixlen, _IFA_F_NODAD, 0, LOOPBACK_INDEX)
    create = _NLM_F_CREATE | _NLM_F_EXCL
    _request(_RTM_NEWADDR, create, head + _attribute(_IFA_LOCAL, address) + _attribute(_IFA_ADDRESS, address))
    kind = _RT_TABLE_LOCAL, _RTPROT_STATIC, _RT_SCOPE_HOST, _RTN_LOCAL
    head = struct.pack("BBBBBBBBI", family, network.prefixlen, 0, 0, *kind, 0)
    target = _attribute(_RTA_DST, network.network_address.packed)
    _request(_RTM_NEWROUTE, create, head + target + _attribute(_RTA_OIF, struct.pack("i", LOOPBACK_INDEX)))


def _attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute of a netlink message, rtnetlink(7). All values here are multiples of 4 bytes long."""
    return struct.pack("HH", len(value) + 4, kind) + value


def _request(kind: int, flags: int, body: bytes) -> None:
    """Send a request to the kernel and wait until it is done. Raises OSError with the kernel's error."""
    head = struct.pack("IHHII", 16 + len(body), kind, _NLM_F_REQUEST | _NLM_F_ACK | flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as netlink:
        netlink.sendto(head + body, (0, 0))
        reply = netlink.recv(_RECEIVE_BYTES)
    _, reply_kind, _, _, _, code = struct.unpack_from("IHHIIi", reply)
    if reply_kind != _NLMSG_ERROR or code:  # the code is 0 if the request was carried out
        raise OSError(-code, os.strerror(-code))
