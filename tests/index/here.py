"""The parts of a split index, all in this process: asked as those on other machines are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.server import PartitionServer
from webemu.index.partitions.split import PartitionSet, partition_folder


class Here:
    """`webemu.index.partitions.ranker.PartitionTransport` over open parts; `calls` counts the questions."""

    def __init__(self, collection: Path, partition_set: PartitionSet) -> None:
        count = len(partition_set.snapshots)
        self.holders = [
            PartitionServer(partition_folder(collection, count, number), snapshot, partition_set.statistics())
            for number, snapshot in enumerate(partition_set.snapshots)
        ]
        self.calls: list[tuple[str, tuple[int, ...]]] = []

    def ask(
        self, parts: Sequence[int], method: str, arguments: tuple[Any, ...], known_terms: Mapping[TermKey, int]
    ) -> list[Any]:
        self.calls.append((method, tuple(parts)))
        return [self.holders[part].answer(method, arguments, known_terms) for part in parts]
