"""A listening Unix domain socket: a file that only this user may connect to, and that goes when the server ends."""

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
"""What is taken from the file's mode: 0600 remains."""


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """The socket, inherited by worker processes. A file that a dead server left is replaced. Raises BadRequest."""
    try:
        with _alone_in(path.parent):
            _clear(path)
            listener = _bound(path)
    except OSError as error:
        action = "name a file in a folder that exists and that you may write to; a path has at most some 100 bytes"
        raise BadRequest(f"cannot listen on {path}: {error.strerror or error}", action=action) from error
    made = _identity(path)
    try:
        yield listener
    finally:
        with suppress(OSError):
            if _identity(path) == made:  # another server may have taken the name meanwhile
                path.unlink()
        listener.close()


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(OWNERS)  # changed later, others could connect in between
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
    """Of two servers that start at once, one would delete the other's file."""
    import fcntl  # Windows has none

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _clear(path: Path) -> None:
    """Remove what a dead server left. Raises BadRequest on a live one, and on what is no socket."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise BadRequest(
            f"cannot listen on {path}: it is no socket", action="name a file that is not there, with --uds"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:  # as where it is another user's, or its queue is full: somebody may be there
            said = error.strerror or str(error)
            raise BadRequest(f"cannot listen on {path}: {said}", action="choose another path with --uds") from error
    action = "end that one, or choose another path with --uds"
    taken = OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    raise BadRequest(f"cannot listen on {path}: another server runs there", action=action) from taken


def _identity(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_mtime_ns  # numbers of files are used again
