"""Parses the address of a server: `http://host:port`, or `unix:///path` for one on the same machine."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from urllib.parse import unquote

UNIX_PREFIX = "unix://"
"""Prefix of the address of a Unix domain socket."""
_START_HINT = "start it with `webemu serve{}`, or set base_url to the address of a running server"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server."""

    name: str
    """The address as the user wrote it."""
    url: str
    """Prefix of all request URLs."""
    path: str = ""
    """Path of its Unix domain socket; empty if it listens on a port."""

    @property
    def start_hint(self) -> str:
        """Advice for the case that nothing answers."""
        return _START_HINT.format(f" --uds {self.path}" if self.path else "")


def parse_address(base_url: str) -> Address:
    """Return the parsed address. Raises ValueError if it is not one.

    The part after `unix://` is a path, absolute or relative, percent-encoded as in URLs.
    """
    if base_url.startswith(("http://", "https://")):
        return Address(base_url.rstrip("/"), base_url.rstrip("/"))
    if not base_url.startswith(UNIX_PREFIX):
        raise ValueError(f"the server address must begin with http://, https:// or unix://, got {base_url!r}")
    path = unquote(base_url.removeprefix(UNIX_PREFIX), errors="surrogateescape")
    if not path.strip("/") or "\0" in path:
        raise ValueError(f"the server address {base_url!r} has no socket path; write it as unix:///run/webemu.sock")
    if not hasattr(socket, "AF_UNIX"):
        raise ValueError(f"the server address {base_url!r} needs Unix sockets, which this system lacks; use http://")
    return Address(base_url, "http://localhost", path)
