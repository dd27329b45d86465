"""Eviction of files from the system's page cache, so that the next read comes from the disk."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from contextlib import suppress


def evict(paths: Iterable[str]) -> tuple[int, int]:
    """Ask the system to evict files; return the bytes of all files and the bytes that stayed in memory.

    The second number is -1 if the system cannot evict or tell. Pages that other processes have mapped stay. Hard links
    and repeated paths count once.
    """
    total, remaining_bytes, visited_inodes = 0, 0, set()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            state = os.fstat(descriptor)
            if (state.st_dev, state.st_ino) in visited_inodes or not state.st_size:
                continue
            visited_inodes.add((state.st_dev, state.st_ino))
            total += state.st_size
            with suppress(OSError):
                os.fdatasync(descriptor)  # dirty pages cannot be evicted
            if not hasattr(os, "posix_fadvise"):
                remaining_bytes = -1
                continue
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            resident = _resident_bytes(descriptor, state.st_size)
            remaining_bytes = -1 if resident < 0 or remaining_bytes < 0 else remaining_bytes + resident
        finally:
            os.close(descriptor)
    return total, remaining_bytes


def _resident_bytes(descriptor: int, size: int) -> int:
    """Return how many bytes of an open file are in memory (mincore(2)); -1 if it cannot be told."""
    if _libc is None or not hasattr(_libc, "mincore"):
        return -1
    pages = -(-size // mmap.PAGESIZE)
    page_states = (ctypes.c_ubyte * pages)()
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return -1
    try:
        if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), page_states):
            return -1
    finally:
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    # mincore sets the lowest bit of a resident page; the other bits are reserved.
    return sum(page & 1 for page in page_states) * mmap.PAGESIZE


_libc = ctypes.CDLL(None) if os.name == "posix" else None
if _libc is not None:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
