"""Requests to the live web over HTTP/1.1 and HTTP/2, as raw as they are recorded: nothing is decoded or followed.

httpcore is the lower half of httpx: it hands out header lines and bodies as the server sent them.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpcore
import httpx

from webemu.emulator.errors import BadRequest

CONNECT_SECONDS, READ_SECONDS = 30.0, 120.0
"""Seconds to connect, and between two parts of a response: a model that thinks may be silent for long."""
Address = tuple[str, int]
"""Host and port."""


def parse_resolve(texts: Iterable[str]) -> dict[Address, Address]:
    """Return the addresses that host names are connected to, as curl's option `--resolve` gives them.

    parse_resolve(["shop.example:443:127.0.0.1:8443"])   # {("shop.example", 443): ("127.0.0.1", 8443)}

    Raises BadRequest if a text is not `HOST:PORT:ADDRESS` or `HOST:PORT:ADDRESS:PORT`.
    """
    addresses = {}
    for text in texts:
        host, _, port_and_target = text.partition(":")
        port, _, target = port_and_target.partition(":")
        has_port = target.count(":") == 1 or "]:" in target
        address, _, other_port = target.rpartition(":") if has_port else (target, "", port)
        if not (host and address and port.isdecimal() and other_port.isdecimal()):
            action = "write HOST:PORT:ADDRESS or HOST:PORT:ADDRESS:PORT, as in shop.example:443:127.0.0.1:8443"
            raise BadRequest(f"--resolve {text!r} names no address", action=action)
        addresses[host.lower(), int(port)] = (address.strip("[]"), int(other_port))
    return addresses


class ResolvingBackend(httpcore.AsyncNetworkBackend):
    """Network of asyncio in which some names have other addresses."""

    def __init__(self, addresses: Mapping[Address, Address]) -> None:
        self._addresses = addresses
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *arguments: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        """Connect to the address of a host name."""
        address, other_port = self._addresses.get((host, port), (host, port))
        return await self._backend.connect_tcp(address, other_port, *arguments, **options)

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts to connect."""
        await self._backend.sleep(seconds)


class Upstream:
    """Pool of connections to the live web. Close it at the end."""

    def __init__(self, addresses: Mapping[Address, Address], trust: Path | None = None, has_http2: bool = True) -> None:
        """Take addresses that host names are connected to, and a file of further certificate authorities to trust.

        Raises BadRequest if the file has no certificate.
        """
        context = httpx.create_ssl_context()
        if trust:
            try:
                context.load_verify_locations(trust)
            except (OSError, ssl.SSLError) as error:
                raise BadRequest(f"--trust {trust}: {error}", action="name a file of certificates in PEM") from error
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=200,
            http2=has_http2,
            network_backend=ResolvingBackend(addresses),
        )

    def stream(
        self, method: str, url: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> AbstractAsyncContextManager[httpcore.Response]:
        """Send a request; the response is open within the context. Entering it raises what httpcore raises."""
        times = {"connect": CONNECT_SECONDS, "read": READ_SECONDS, "write": READ_SECONDS, "pool": CONNECT_SECONDS}
        return self._pool.stream(method, url, headers=headers, content=body or None, extensions={"timeout": times})

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


def iter_body(response: httpcore.Response) -> AsyncIterator[bytes]:
    """Return the parts of a body with its content coding, without transfer coding."""
    return response.aiter_stream()


def read_protocol(response: httpcore.Response) -> str:
    """Return the version of HTTP that the server spoke, such as `h2` or `http/1.1`."""
    version = response.extensions.get("http_version", b"HTTP/1.1").decode("ascii", "replace")
    return "h2" if version == "HTTP/2" else version.lower()
