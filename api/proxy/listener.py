"""Listening sockets. A socket that cannot be bound is refused with an error that says what to do."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from pathlib import Path

from webemu.emulator.errors import BadRequest

BACKLOG = 4096
"""Connections that may wait to be accepted."""
_UNPRIVILEGED_PORT_FILE = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
"""File in which Linux tells the first port that users other than root may bind."""


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a listening TCP socket; from now on clients wait instead of being refused. Raises BadRequest."""
    listener = bind_socket(host, port, socket.SOCK_STREAM, shared=shared)
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _listen_error(host, port, error) from error
    return listener


def bind_socket(host: str, port: int, kind: socket.SocketKind, *, shared: bool = False) -> socket.socket:
    """Return a bound socket that worker processes inherit. Raises BadRequest.

    With `shared`, other sockets of this user may bind the same port, and the kernel distributes among them what
    arrives.
    """
    bound_socket: socket.socket | None = None
    try:
        family, _, protocol, _, address = socket.getaddrinfo(host, port, type=kind)[0]
        bound_socket = socket.socket(
            family, kind, protocol
        )  # asyncio sets TCP_NODELAY only if the protocol number is given
        if kind == socket.SOCK_STREAM:  # for UDP it would silently share the port with another server
            bound_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound_socket.bind(address)
        bound_socket.set_inheritable(True)
    except OSError as error:
        if bound_socket is not None:
            bound_socket.close()
        raise _listen_error(host, port, error) from error
    return bound_socket


def _listen_error(host: str, port: int, error: OSError) -> BadRequest:
    """Return the error for an address that cannot be used, with advice for the most common causes."""
    action = "choose another address with --host and --port"
    if error.errno == errno.EADDRINUSE:
        action = "another server uses it: choose another port; --port 0 takes a free one"
    elif error.errno == errno.EACCES and port < _first_unprivileged_port():
        action = (
            f"ports below {_first_unprivileged_port()} need root: start as root, or allow them on "
            "this machine or container with "
            f"sysctl net.ipv4.ip_unprivileged_port_start={port}, or forward {port} to a higher port"
        )
    return BadRequest(
        f"cannot listen on {host}:{port}: {error.strerror or os.strerror(error.errno or 0)}", action=action
    )


def _first_unprivileged_port() -> int:
    """Return the first port that users other than root may bind."""
    with suppress(OSError, ValueError):
        return int(_UNPRIVILEGED_PORT_FILE.read_text())
    return 1024
