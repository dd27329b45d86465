"""Connects a command to a Ray cluster. The package `ray` is an extra, imported only if a command names a cluster."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.extras import missing_package_error

CONNECT_SECONDS = 5.0
"""Seconds within which the cluster's machine must accept a connection; Ray itself would try for minutes."""
_ADDRESS = re.compile(r"auto|(?:ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/]+):([0-9]{1,5})")


@contextmanager
def connect_to_ray(address: str) -> Iterator[ModuleType]:
    """Yield the module `ray`, connected to the cluster at `auto`, `HOST:PORT` or `ray://HOST:PORT` until the block
    ends.

    Usage reports to Ray's makers are disabled. Raises: EmulatorError if `ray` is not installed or no cluster answers;
    BadRequest if the address cannot be read.

        with connect_to_ray("auto") as ray:
            ray.get(...)
    """
    # Set before Ray is imported, which reads it.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray  # an extra, so not at the top
    except ModuleNotFoundError as error:
        raise missing_package_error("a cluster", ["ray"]) from error
    try:
        _check_reachable(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise EmulatorError(
            f"no Ray cluster answers at {address}: {(str(error).splitlines() or [repr(error)])[0]}",
            action="start one: ray start --head --disable-usage-stats, then ray start --address=... elsewhere",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise OSError if nothing listens at an address, BadRequest if it is not an address."""
    if not (match := _ADDRESS.fullmatch(address)):
        raise BadRequest(
            f"{address!r} is not the address of a Ray cluster", action="use auto, HOST:PORT or ray://HOST:PORT"
        )
    if match[1]:
        socket.create_connection((match[1].strip("[]"), int(match[2])), CONNECT_SECONDS).close()
