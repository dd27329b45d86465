"""Files out of the system's memory, so that what is read next comes from the disk."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from contextlib import suppress


def drop(paths: Iterable[str]) -> tuple[int, int]:
    """Ask the system to forget the content of files; (bytes of them, bytes that stayed), -1 where it cannot be told.

    What other processes have mapped stays.
    """
    total, stayed, seen = 0, 0, set()
    for path in paths:
        number = os.open(path, os.O_RDONLY)
        try:
            state = os.fstat(number)
            if (state.st_dev, state.st_ino) in seen or not state.st_size:
                continue
            seen.add((state.st_dev, state.st_ino))
            total += state.st_size
            with suppress(OSError):
                os.fdatasync(number)  # what is not yet written cannot be dropped
            if not hasattr(os, "posix_fadvise"):
                stayed = -1
                continue
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
            held = _resident(number, state.st_size)
            stayed = -1 if held < 0 or stayed < 0 else stayed + held
        finally:
            os.close(number)
    return total, stayed


def _resident(number: int, size: int) -> int:
    """Bytes of an open file that are in memory (mincore(2)); -1 where it cannot be told."""
    if _libc is None or not hasattr(_libc, "mincore"):
        return -1
    pages = -(-size // mmap.PAGESIZE)
    told = (ctypes.c_ubyte * pages)()
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, number, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return -1
    try:
        if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), told):
            return -1
    finally:
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(page & 1 for page in told) * mmap.PAGESIZE


_libc = ctypes.CDLL(None) if os.name == "posix" else None
if _libc is not None:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
