"""The parts of a split index, all in this process: asked as those on other machines are."""

from collections.abc import Sequence
from pathlib import Path

from webemu.index.partitions.group import PartitionGroup
from webemu.index.partitions.methods import GroupAnswer, PartitionCall


class Here:
    """`webemu.index.partitions.client.PartitionTransport` over groups of open parts; `calls` counts the questions."""

    def __init__(self, collection: Path, parts: int, groups: int = 2) -> None:
        self.collection = collection
        self.holders = [PartitionGroup(collection, parts) for _ in range(groups)]
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.lost: set[int] = set()
        """Parts that do not answer."""

    def groups(self, count: int) -> list[Sequence[int]]:
        return [range(number, count, len(self.holders)) for number in range(min(count, len(self.holders)))]

    def ask(self, groups: Sequence[Sequence[int]], call: PartitionCall) -> list[GroupAnswer]:
        self.calls.append((call.method, tuple(part for group in groups for part in group)))
        return [self._ask_one(group, call) for group in groups]

    def forget_failures(self) -> None:
        """Let parts that could not be opened be tried at once."""
        for holder in self.holders:
            for open_set in holder._sets.values():
                open_set._tried_at.clear()

    def _ask_one(self, group: Sequence[int], call: PartitionCall) -> GroupAnswer:
        present = [part for part in group if part not in self.lost]
        lost = tuple(part for part in group if part in self.lost)
        if not present:
            return GroupAnswer(None, (), lost)
        answer = self.holders[group[0] % len(self.holders)].answer(present, call)
        return answer._replace(lost=answer.lost + lost)
