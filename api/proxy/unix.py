"""A listening Unix domain socket: a file that only this user may connect to, removed when the server ends."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from webemu.api.proxy.listener import BACKLOG
from webemu.emulator.errors import BadRequest
from webemu.emulator.listener_policies import name_peer

OWNER_ONLY_UMASK = 0o177
"""Permission bits removed from the file of the socket; mode 0600 remains."""


_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the other end of a Unix socket (unix(7), SO_PEERCRED)."""


def name_listener(transport: asyncio.BaseTransport) -> str:
    """Return the path at which a connection to a Unix socket arrived, with the user of its other end: -1 where the
    system does not tell it, as macOS.
    """
    connection, path = transport.get_extra_info("socket"), transport.get_extra_info("sockname")
    if not hasattr(socket, "SO_PEERCRED"):
        return name_peer(str(path), -1)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return name_peer(str(path), _CREDENTIALS.unpack(credentials)[1])


@contextmanager
def open_unix_listener(path: Path, is_shared: bool = False) -> Iterator[socket.socket]:
    """Yield a listening socket that worker processes inherit, and remove its file at the end.

    A file that a dead server left is replaced. Other users may connect if it is shared.

    Raises:
        BadRequest: a live server listens there, the file is no socket, or it cannot be created.
    """
    try:
        with _lock_folder(path.parent):
            _remove_stale_socket(path)
            listener = _bind(path, 0o111 if is_shared else OWNER_ONLY_UMASK)
    except OSError as error:
        action = "name a file in an existing folder that you may write to; the path may have about 100 bytes"
        raise BadRequest(f"cannot listen on {path}: {error.strerror or error}", action=action) from error
    identity = _file_identity(path)
    try:
        yield listener
    finally:
        with suppress(OSError):
            if _file_identity(path) == identity:  # another server may have replaced the file meanwhile
                path.unlink()
        listener.close()


def _bind(path: Path, umask: int) -> socket.socket:
    """Return a socket that listens at the path, whose file lacks the permissions of `umask`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(umask)  # with chmod afterwards, others could connect in between
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
        listener.set_inheritable(True)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(mask)
    return listener


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder: of two servers that start at the same time, one would delete the other's file."""
    import fcntl  # not on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_stale_socket(path: Path) -> None:
    """Remove the socket of a dead server. Raises BadRequest for the socket of a live one, and for any other file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise BadRequest(f"cannot listen on {path}: it is not a socket", action="name a new file with --uds")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:  # another user's socket, or a full queue: a server may be running
            message = error.strerror or str(error)
            raise BadRequest(f"cannot listen on {path}: {message}", action="choose another path with --uds") from error
    action = "stop that one, or choose another path with --uds"
    cause = OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    raise BadRequest(f"cannot listen on {path}: another server runs there", action=action) from cause


def _file_identity(path: Path) -> tuple[int, ...]:
    """Return what distinguishes this file from a later one at the same path."""
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_mtime_ns  # inode numbers are reused
