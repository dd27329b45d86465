"""The parts of a split index, all in this process: asked as those on other machines are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.server import PartitionServer
from webemu.index.partitions.split import PartitionSet, partition_folder


class Here:
    """`webemu.index.partitions.ranker.PartitionTransport` over open parts; `asked` counts the questions."""

    def __init__(self, collection: Path, made: PartitionSet) -> None:
        count = len(made.snapshots)
        self.holders = [
            PartitionServer(partition_folder(collection, count, number), snapshot, made.statistics())
            for number, snapshot in enumerate(made.snapshots)
        ]
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def ask(self, parts: Sequence[int], method: str, given: tuple[Any, ...], known: Mapping[TermKey, int]) -> list[Any]:
        self.asked.append((method, tuple(parts)))
        return [self.holders[part].answer(method, given, known) for part in parts]
