"""A pool of open WARC files for reads at an offset: opening a file takes as long as reading a page from it."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock

MAX_OPEN_FILES = 128
"""Open files of one snapshot in one process, at most."""
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
"""Linux flag of preadv: fail instead of reading from disk; 0 on other systems."""


class _OpenFile:
    """An open file. It is closed when nobody refers to it any more, so that no file is closed while it is read."""

    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.number)


class WarcFilePool:
    """Open files of one collection. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Take the folder that relative paths start from."""
        self._folder = folder
        self._lock = Lock()
        self._open_files: OrderedDict[str, _OpenFile] = OrderedDict()

    def read(self, path: str, offset: int, length: int, wait: bool = True) -> bytes:
        """Return up to `length` bytes from an offset; fewer at the end of the file. Raises OSError.

        Raises BlockingIOError unless `wait`, if the operating system does not have the bytes in memory.
        """
        file = self._open_file(path)
        if wait:
            return os.pread(file.number, length, offset)
        if not _NOWAIT:
            raise BlockingIOError
        buffer = bytearray(length)
        try:
            count = os.preadv(file.number, [buffer], offset, _NOWAIT)
        except OSError as error:
            raise BlockingIOError from error
        if count < length:  # the remaining bytes are on disk, or the file ends here
            raise BlockingIOError
        return bytes(buffer)

    def _open_file(self, path: str) -> _OpenFile:
        with self._lock:
            if (file := self._open_files.get(path)) is not None:
                self._open_files.move_to_end(path)
                return file
        # Opened outside of the lock: two threads may open one file, and the later one replaces the earlier.
        file = _OpenFile(self._folder / path)
        with self._lock:
            self._open_files[path] = file
            if len(self._open_files) > MAX_OPEN_FILES:  # least recently used first
                self._open_files.popitem(last=False)
        return file
