"""The processes of a run (`torchrun`): each plays its share of the episodes, and all know of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
import torch.distributed as dist
from accelerate import PartialState

T = TypeVar("T")


def count() -> int:
    return int(_state().num_processes)


def is_first() -> bool:
    """Whether this process is the one that writes."""
    return bool(_state().is_main_process)


def share(items: Sequence[T]) -> Sequence[T]:
    """What of `items`, which are the same everywhere, is this process's to do."""
    mine, all_of_us = int(_state().process_index), count()
    return items[len(items) * mine // all_of_us : len(items) * (mine + 1) // all_of_us]


def together(mine: list[T]) -> list[T]:
    """What each process made of its share, in the order of the whole."""
    if count() == 1:
        return mine
    parts: list[list[T]] = [[]] * count()
    dist.all_gather_object(parts, mine)
    return [one for part in parts for one in part]


def told(make: Callable[[], T]) -> T:
    """What the first process makes, which the others wait for."""
    if count() == 1:
        return make()
    said = [make() if is_first() else None]
    dist.broadcast_object_list(said)
    return said[0]  # type: ignore[return-value]


def _state() -> PartialState:
    return PartialState(cpu=not torch.cuda.is_available())
