"""Memory that a process has for itself. Pages of mapped files are shared with the machine, so they do not count."""

from __future__ import annotations

from pathlib import Path


def read_anonymous_bytes(pid: int | str) -> int:
    """Return the anonymous memory in bytes, as Linux counts it. Raises OSError if there is no such process.

    It is also in `smaps_rollup`, for which Linux walks all pages of the process: 13 ms with half a gigabyte, not .03.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon:")).split()[1])
