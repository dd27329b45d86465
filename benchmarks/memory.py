"""Memory that a process has for itself. Pages of mapped files are shared with the machine, so they do not count."""

from __future__ import annotations

from pathlib import Path


def read_anonymous_bytes(pid: int | str) -> int:
    """Return the anonymous memory in bytes, from Linux's smaps_rollup. Raises OSError if there is no such process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("Anonymous:")).split()[1])
