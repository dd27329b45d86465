"""Processes of a distributed run (`torchrun`). Each plays its share of the episodes, and all get the results of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
import torch.distributed as dist
from accelerate import PartialState

T = TypeVar("T")


def count() -> int:
    """Return the number of processes."""
    return int(_state().num_processes)


def is_first() -> bool:
    """Return True on the process that writes files."""
    return bool(_state().is_main_process)


def share(items: Sequence[T]) -> Sequence[T]:
    """Return the part of `items` that this process works on. `items` must be the same on all processes."""
    mine, all_of_us = int(_state().process_index), count()
    return items[len(items) * mine // all_of_us : len(items) * (mine + 1) // all_of_us]


def together(mine: list[T]) -> list[T]:
    """Return the items of all processes, in the order of the ranks."""
    if count() == 1:
        return mine
    parts: list[list[T]] = [[]] * count()
    dist.all_gather_object(parts, mine)
    return [one for part in parts for one in part]


def told(make: Callable[[], T]) -> T:
    """Call `make` on the first process and return its result on all of them."""
    if count() == 1:
        return make()
    # broadcast_object_list fills in the elements of a list on the other processes.
    said = [make() if is_first() else None]
    dist.broadcast_object_list(said)
    return said[0]  # type: ignore[return-value]


def _state() -> PartialState:
    return PartialState(cpu=not torch.cuda.is_available())
