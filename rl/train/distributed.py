"""Processes of a distributed run (`torchrun`). Each plays its share of the episodes, and all get the results of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
import torch.distributed as dist
from accelerate import PartialState

T = TypeVar("T")


def process_count() -> int:
    """Return the number of processes."""
    return int(_state().num_processes)


def is_first() -> bool:
    """Return True on the process that writes files."""
    return bool(_state().is_main_process)


def this_rank_share(items: Sequence[T]) -> Sequence[T]:
    """Return the part of `items` that this process works on. `items` must be the same on all processes."""
    rank, world_size = int(_state().process_index), process_count()
    return items[len(items) * rank // world_size : len(items) * (rank + 1) // world_size]


def gather_all(local_items: list[T]) -> list[T]:
    """Return the items of all processes, in the order of the ranks."""
    if process_count() == 1:
        return local_items
    parts: list[list[T]] = [[]] * process_count()
    dist.all_gather_object(parts, local_items)
    return [one for part in parts for one in part]


def broadcast_from_first(make: Callable[[], T]) -> T:
    """Call `make` on the first process and return its result on all of them."""
    if process_count() == 1:
        return make()
    # broadcast_object_list fills in the elements of a list on the other processes.
    box = [make() if is_first() else None]
    dist.broadcast_object_list(box)
    return box[0]  # type: ignore[return-value]


def _state() -> PartialState:
    return PartialState(cpu=not torch.cuda.is_available())
