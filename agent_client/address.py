"""Where a server is: `http://host:port`, or `unix:///path` for one on the same machine."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from urllib.parse import unquote

UNIX = "unix://"
_START = "start it with `webemu serve{}`, or point base_url at where it runs"


@dataclass(frozen=True, slots=True)
class Address:
    """A server's place."""

    name: str
    """As people write it."""
    url: str
    """What requests begin with."""
    path: str = ""
    """Of its Unix domain socket; empty where it has a port."""

    @property
    def start(self) -> str:
        """What to do where nobody answers."""
        return _START.format(f" --uds {self.path}" if self.path else "")


def address(base_url: str) -> Address:
    """What stands behind `unix://` is a path, absolute or not, with `%` and what URLs do not bear escaped as in them.

    Raises ValueError.
    """
    if base_url.startswith(("http://", "https://")):
        return Address(base_url.rstrip("/"), base_url.rstrip("/"))
    if not base_url.startswith(UNIX):
        raise ValueError(f"base_url {base_url!r} does not begin with http://, https:// or unix://")
    path = unquote(base_url.removeprefix(UNIX), errors="surrogateescape")
    if not path.strip("/") or "\0" in path:
        raise ValueError(f"base_url {base_url!r} names no socket; write it as unix:///run/webemu.sock")
    if not hasattr(socket, "AF_UNIX"):
        raise ValueError(f"base_url {base_url!r}: this system has no Unix sockets; use http://")
    return Address(base_url, "http://localhost", path)
