"""The worlds of sessions: of the snapshot that each began with, without what its policy blocks.

Sessions that see the same world share it, and the work that is done in it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from threading import Lock

from webemu.emulator.cached_world import Memory, Shared
from webemu.emulator.policy import Policy
from webemu.emulator.policy_filter import guarded
from webemu.emulator.world import World

KEPT = 128
SNAPSHOTS = 4
"""Of so many snapshots: what is kept of one holds its files open."""
Open = Callable[[str], World]
"""The world of a snapshot; with an empty id, that which is served. Raises SnapshotError."""


class Worlds:
    """Those that were asked for, the least recently asked dropped first. Thread-safe."""

    def __init__(self, open_world: Open, is_open: Callable[[str], bool], memory: Memory) -> None:
        self._open = open_world
        self._is_open = is_open
        self._memory = memory
        self._names = count()
        self._kept: OrderedDict[tuple[World, object], Shared] = OrderedDict()
        self._plain: Shared | None = None
        self._lock = Lock()

    def of(self, policy: Policy, snapshot: str) -> Shared:
        """Raises SnapshotError."""
        world = self._open(snapshot or policy.snapshot)
        is_other = policy.guards or policy.engine
        key = (world, (policy.blocked, policy.as_of, policy.engine) if is_other else None)
        with self._lock:
            if (kept := self._kept.get(key)) is None:
                is_long = bool(policy.blocked.texts or policy.blocked.ngrams)
                kept = self._kept[key] = Shared(guarded(world, policy), next(self._names), self._memory, is_long)
                self._bound()
            self._kept.move_to_end(key)
        return kept

    def plain(self) -> Shared:
        """What who has no session sees; what is remembered of it is that of sessions without a policy. Raises
        SnapshotError."""
        world, plain = self._open(""), self._plain
        if plain is None or plain.base is not world:
            plain = self._plain = Shared(world, self.of(Policy(), "").name, self._memory, False)
            plain.heard = world.heard
        return plain

    def are_open(self, policy: Policy, snapshot: str) -> bool:
        """Whether `of` has no files to open."""
        return self._is_open(snapshot or policy.snapshot)

    def _bound(self) -> None:
        while len(self._kept) > KEPT or len({world for world, _ in self._kept}) > SNAPSHOTS:
            self._kept.popitem(last=False)
