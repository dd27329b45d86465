"""A listening Unix domain socket: a file that only this user may connect to, removed when the server ends."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from webemu.api.proxy.listener import BACKLOG
from webemu.emulator.errors import BadRequest

OWNERS = 0o177
"""Permission bits removed from the file of the socket; mode 0600 remains."""


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Yield a listening socket that worker processes inherit, and remove its file at the end.

    A file that a dead server left is replaced.

    Raises:
        BadRequest: a live server listens there, the file is no socket, or it cannot be created.
    """
    try:
        with _alone_in(path.parent):
            _clear(path)
            listener = _bound(path)
    except OSError as error:
        action = "name a file in an existing folder that you may write to; the path may have about 100 bytes"
        raise BadRequest(f"cannot listen on {path}: {error.strerror or error}", action=action) from error
    made = _identity(path)
    try:
        yield listener
    finally:
        with suppress(OSError):
            if _identity(path) == made:  # another server may have replaced the file meanwhile
                path.unlink()
        listener.close()


def _bound(path: Path) -> socket.socket:
    """Return a socket that listens at the path."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(OWNERS)  # with chmod afterwards, others could connect in between
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
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder: of two servers that start at the same time, one would delete the other's file."""
    import fcntl  # not on Windows

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _clear(path: Path) -> None:
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
            said = error.strerror or str(error)
            raise BadRequest(f"cannot listen on {path}: {said}", action="choose another path with --uds") from error
    action = "stop that one, or choose another path with --uds"
    taken = OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    raise BadRequest(f"cannot listen on {path}: another server runs there", action=action) from taken


def _identity(path: Path) -> tuple[int, ...]:
    """Return what distinguishes this file from a later one at the same path."""
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_mtime_ns  # inode numbers are reused
