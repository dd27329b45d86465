"""Distinguish requests for this server itself from requests for the emulated web, by the host and port that they name.

A request that arrives as to a proxy names a URL of the web. It means this server only if it uses one of the server's
own names at one of its own ports, and the crawl has no capture of that very URL.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from functools import lru_cache

from webemu.api.http.response import Scope
from webemu.api.proxy.target import parse_authority

PROXIED = "webemu.proxied"
"""Key of an ASGI scope: True for a request with an absolute target or one inside a CONNECT tunnel."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
"""Default port of each scheme."""


@lru_cache(4096)
def is_own_host(host: str) -> bool:
    """True if a host can only mean this server: an IP address, `localhost`, `webemu`, or a service or pod of
    Kubernetes (`*.svc`). No host of the web is one of these.
    """
    return _parse_address(host) is not None or host in ("", "localhost") or _is_reserved_name(host)


def is_for_this_server(scope: Scope, ports: Collection[int]) -> bool:
    """True if a request names this server. `ports` are those it listens on besides the one that the request came to."""
    host_header = next((value for name, value in scope["headers"] if name == b"host"), b"")
    host, port = parse_authority(host_header)
    if not is_own_host(host) or not scope.get(PROXIED):
        return is_own_host(host)
    local_host, local_port = scope.get("server") or ("", None)
    default = _DEFAULT_PORTS[scope["scheme"]]
    own_ports = {*ports, local_port or default, *([default] if _is_reserved_name(host) else [])}
    address = _parse_address(host)
    is_local = address is None or address.is_loopback or address.is_unspecified or host == local_host
    return is_local and (port or default) in own_ports


def _is_reserved_name(host: str) -> bool:
    """True for names that only ever lead to this server."""
    return host == "webemu" or host.endswith((".svc", ".svc.cluster.local"))


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the host as an IP address; None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
