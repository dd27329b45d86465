"""Worlds of sessions: each shows the snapshot that its session began with, without what the policy blocks.

Sessions that see the same world share it, and the work that is done in it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from threading import Lock

from webemu.emulator.cached_world import CachedWorld, ComputeCache
from webemu.emulator.policy import Policy
from webemu.emulator.policy_filter import apply_policy
from webemu.emulator.world import World

MAX_WORLDS = 128
"""Most worlds that are kept."""
MAX_SNAPSHOTS = 4
"""Most snapshots whose worlds are kept; each holds its files open."""
OpenWorld = Callable[[str], World]
"""Function that returns the world of a snapshot; with an empty id, the one that is served. Raises SnapshotError."""


class WorldCache:
    """LRU cache of worlds. Thread-safe."""

    def __init__(self, open_world: OpenWorld, is_open: Callable[[str], bool], compute_cache: ComputeCache) -> None:
        self._open = open_world
        self._is_open = is_open
        self._compute_cache = compute_cache
        self._names = count()
        self._worlds: OrderedDict[tuple[World, object], CachedWorld] = OrderedDict()
        self._sessionless: CachedWorld | None = None
        self._lock = Lock()

    def get(self, policy: Policy, snapshot: str, wait: bool = True) -> CachedWorld:
        """Return the world of a session with this policy on this snapshot.

        An empty `snapshot` means the one that the policy names, else the one that is served.

        Raises:
            SnapshotError: the snapshot is gone, or none is open.
            BadRequest: the policy cannot hold on this snapshot (`webemu.emulator.policy_filter.apply_policy`).
            BlockingIOError: `wait` is False, and files must be opened, or pages read for `blocked.similar`.
        """
        if not wait and not self.is_open(policy, snapshot):
            raise BlockingIOError
        world = self._open(snapshot or policy.snapshot)
        is_restricted = policy.restricts_content or policy.engine
        key = (world, (policy.blocked, policy.as_of, policy.engine) if is_restricted else None)
        with self._lock:
            if (cached := self._worlds.get(key)) is not None:
                self._worlds.move_to_end(key)
                return cached
        if not wait and policy.blocked.similar:
            raise BlockingIOError
        limited = apply_policy(world, policy)
        with self._lock:
            if (cached := self._worlds.get(key)) is None:
                is_slow = bool(policy.blocked.texts or policy.blocked.similar or policy.blocked.ngrams)
                cached = self._worlds[key] = CachedWorld(limited, next(self._names), self._compute_cache, is_slow)
                self._evict()
        return cached

    def get_sessionless(self) -> CachedWorld:
        """Return the world for requests without a session. It shares its cached work with sessions whose policy is
        empty.

        Raises:
            SnapshotError: no snapshot is open.
        """
        world, sessionless = self._open(""), self._sessionless
        if sessionless is None or sessionless.shared_base is not world:
            # Its searches are counted like those of the served world.
            sessionless = self._sessionless = CachedWorld(
                world, self.get(Policy(), "").name, self._compute_cache, False, world.hooks.on_query
            )
        return sessionless

    def is_open(self, policy: Policy, snapshot: str) -> bool:
        """True if `get` does not have to open files."""
        return self._is_open(snapshot or policy.snapshot)

    def _evict(self) -> None:
        """Drop the least recently used worlds beyond the limits. The caller holds the lock."""
        while len(self._worlds) > MAX_WORLDS or len({world for world, _ in self._worlds}) > MAX_SNAPSHOTS:
            self._worlds.popitem(last=False)
