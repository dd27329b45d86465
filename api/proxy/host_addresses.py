"""Addresses of their own for host names: the same name always has the same address, on every machine.

Programs refuse names that lead to private or loopback addresses (SSRF guards). A network of addresses that look public,
routed to this server alone, lets them pass. The server recognises a host by its name, so two names with one address do
no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

from webemu.emulator.config import Network


def assign_addresses(name: str, networks: Sequence[Network]) -> list[IPv4Address | IPv6Address]:
    """Return the address of a host name in each network.

    assign_addresses("a.example", [IPv4Network("22.0.0.0/8")])   # [IPv4Address("22.146.192.128")]
    """
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16])
    return [_pick_address(network, number % network.num_addresses) for network in networks]


def _pick_address(network: Network, offset: int) -> IPv4Address | IPv6Address:
    """Return the address near an offset whose last byte is neither 0 nor 255: some programs take such an address for
    that of a network or a broadcast.
    """
    return network[offset & ~0xFF | 1 + offset % 254]
