"""File descriptors of a server: each connection takes one, and some are kept so that requests can open files.

Otherwise idle connections could take all of them, and every request that opens a file would fail, on the connections
that are open already too.
"""

from __future__ import annotations

import os

RESERVED = 64
"""Descriptors that connections leave for files, or a quarter of the limit if that is less."""
MAX_LIMIT = 1 << 16
"""Limit that a server gives itself at most, where the system allows more."""


def raise_limit() -> None:
    """Raise this process's limit of open files (`ulimit -n`) as far as the system lets it, and a server can use it."""
    import resource  # Windows has none, and shows the help of `serve` without it

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    new_limit = MAX_LIMIT if hard == resource.RLIM_INFINITY else min(hard, MAX_LIMIT)
    if soft != resource.RLIM_INFINITY and soft < new_limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))


def read_limit() -> int:
    """Return the limit of open files of this process."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit if limit != resource.RLIM_INFINITY else 1 << 31


def count_for_connections() -> int:
    """Return the number of descriptors after which no further connection is accepted."""
    limit = read_limit()
    return limit - min(RESERVED, limit // 4)


def find_free(descriptor: int) -> int:
    """Return the lowest free descriptor, which is the number of those in use if there are no gaps. `descriptor` is any
    open one.

    Raises:
        OSError: none is free.
    """
    free = os.dup(descriptor)
    os.close(free)
    return free
