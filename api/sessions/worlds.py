"""Worlds of sessions: each shows the snapshot that its session began with, without what the policy blocks.

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
"""Most worlds that are kept."""
SNAPSHOTS = 4
"""Most snapshots whose worlds are kept; each holds its files open."""
Open = Callable[[str], World]
"""Function that returns the world of a snapshot; with an empty id, the one that is served. Raises SnapshotError."""


class Worlds:
    """LRU cache of worlds. Thread-safe."""

    def __init__(self, open_world: Open, is_open: Callable[[str], bool], memory: Memory) -> None:
        self._open = open_world
        self._is_open = is_open
        self._memory = memory
        self._names = count()
        self._kept: OrderedDict[tuple[World, object], Shared] = OrderedDict()
        self._plain: Shared | None = None
        self._lock = Lock()

    def of(self, policy: Policy, snapshot: str) -> Shared:
        """Return the world of a session with this policy on this snapshot. Raises SnapshotError.

        An empty `snapshot` means the one that the policy names, else the one that is served.
        """
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
        """Return the world for requests without a session. It shares its cached work with sessions whose policy is
        empty.

        Raises:
            SnapshotError: no snapshot is open.
        """
        world, plain = self._open(""), self._plain
        if plain is None or plain.base is not world:
            plain = self._plain = Shared(world, self.of(Policy(), "").name, self._memory, False)
            plain.heard = world.heard  # its searches are counted like those of the served world
        return plain

    def are_open(self, policy: Policy, snapshot: str) -> bool:
        """True if `get` would not have to open files."""
        return self._is_open(snapshot or policy.snapshot)

    def _bound(self) -> None:
        """Drop the least recently used worlds beyond the limits. The caller holds the lock."""
        while len(self._kept) > KEPT or len({world for world, _ in self._kept}) > SNAPSHOTS:
            self._kept.popitem(last=False)
