"""The world of a partitioned collection that is being served: follows the set of partitions that `split.json` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from webemu.api.runtime.live_snapshot import LiveSnapshot
from webemu.emulator.errors import SnapshotError
from webemu.emulator.world import World
from webemu.index.partitions.client import PartitionTransport
from webemu.index.partitions.split import FILE, partition_folder, partitioned_world, read_partitions
from webemu.index.removal.rules import NO_FILE, file_state, read_rules


class LivePartitions(LiveSnapshot):
    """The open world of a collection's partitions. A set that was built or extended is served a second later."""

    def __init__(
        self,
        folder: Path,
        parts: int,
        transport: PartitionTransport,
        figures: Callable[[], Mapping[str, int]],
        is_strict: bool = False,
    ) -> None:
        """Take the collection, the number of partitions that it was split into, the way to them and its figures, and
        True if searches are refused while a partition is lost.
        """
        super().__init__(folder)
        self._parts = parts
        self._transport = transport
        self._is_strict = is_strict
        self._served = (NO_FILE, "")
        """State of the description of the partitions, and the id that it had."""
        self.sections["parts"] = figures

    def check_files(self) -> None:
        """Raise SnapshotError if the description of the partitions is gone."""
        self._current_id()

    def _current_id(self) -> str:
        """Return the id of the served set, read again only if its description was written anew: it may be large."""
        state = file_state(partition_folder(self._folder, self._parts) / FILE)
        if state == NO_FILE or state != self._served[0]:
            self._served = state, read_partitions(self._folder, self._parts).id
        return self._served[1]

    def _open_plain(self, snapshot: str) -> World:
        partition_set = read_partitions(self._folder, self._parts, snapshot)
        if snapshot != self._current_id() and partition_set.removals != read_rules(self._folder).digest():
            raise SnapshotError(
                f"the partitions {snapshot} were built before captures were removed", action="begin a new session"
            )
        return partitioned_world(self._folder, partition_set, self._transport, self._is_strict)
