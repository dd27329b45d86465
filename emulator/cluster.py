"""Joining a Ray cluster. The package `ray` is an extra, loaded only where a command names a cluster."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.extras import absence

PATIENCE = 5.0
"""Seconds that a machine may take to answer at all; Ray itself would try for minutes."""
_ADDRESS = re.compile(r"auto|(?:ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/]+):([0-9]{1,5})")


@contextmanager
def joined(address: str) -> Iterator[Any]:
    """The module `ray`, joined to the cluster at `auto`, `HOST:PORT` or `ray://HOST:PORT` until the end of the block.

    Nothing is told to the makers of Ray. Raises EmulatorError where there is no such package, or no such cluster.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray  # an extra
    except ModuleNotFoundError as error:
        raise absence("a cluster", ["ray"]) from error
    try:
        _reach(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise EmulatorError(
            f"no Ray cluster answers at {address}: {(str(error).splitlines() or [repr(error)])[0]}",
            action="start one: ray start --head --disable-usage-stats, then ray start --address=... on the others",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raises OSError where nobody listens, BadRequest for what is no address."""
    if not (found := _ADDRESS.fullmatch(address)):
        raise BadRequest(f"{address!r} is no address of a Ray cluster", action="use auto, HOST:PORT or ray://HOST:PORT")
    if found[1]:
        socket.create_connection((found[1].strip("[]"), int(found[2])), PATIENCE).close()
