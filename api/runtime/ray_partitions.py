"""Partitions of an index in the processes of a Ray cluster: the actors that have them, and the client that asks these.

A process is an actor that has every n-th partition; there are several replicas of each. An ask that takes longer than
nearly all do is sent to another replica too, and the first answer counts (hedged requests: Dean and Barroso, The Tail
at Scale, 2013). If no replica answers, the partitions of that process are lost for this answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

from webemu.api.runtime.live_snapshot import LiveSnapshot
from webemu.emulator.config import Config
from webemu.emulator.errors import EmulatorError
from webemu.emulator.world import World
from webemu.index.partitions.group import PartitionGroup
from webemu.index.partitions.methods import GroupAnswer, PartitionCall
from webemu.index.partitions.split import partitioned_world, read_partitions

NAMESPACE = "webemu"
"""Namespace of the actors."""
REPLICAS = 2
"""Actors that have the same partitions."""
CALLER_THREADS = 64
"""Threads of a server replica that may wait for partitions."""
ACTOR_THREADS = 8
"""Calls that an actor works on at the same time."""
ANSWER_SECONDS = 10.0
"""Seconds after which partitions that did not answer are lost."""
HEDGE_QUANTILE = 0.95
"""Share of the latest asks that were answered sooner than the time after which another replica is asked."""
HEDGE_SAMPLE = 200
"""Number of the latest asks that this time is taken from; before there are so many, nothing is hedged."""
MIN_HEDGE_SECONDS = 0.005
"""Least time after which another replica is asked."""


class Partitioning(NamedTuple):
    """Division of an index into partitions and processes."""

    parts: int
    """Number of partitions that URLs are divided among."""
    processes: int
    """Number of processes that have them, before `REPLICAS`."""
    is_strict: bool = False
    """True if searches are refused while a partition is lost; else they say which they lack."""


class RemoteError(NamedTuple):
    """An `EmulatorError` as a value that travels between Ray processes."""

    error_class: type[EmulatorError]
    message: str
    action: str
    reason: str


class PartitionActor:
    """Ray actor that has some partitions of the index."""

    def __init__(self, config: Config, parts: int) -> None:
        self._group = PartitionGroup(config.collection_folder, parts)

    def answer(self, partitions: Sequence[int], call: PartitionCall) -> GroupAnswer | RemoteError:
        """Return the answer of the partitions; an `EmulatorError` is returned as a value.

        Ray would wrap a raised error in a class of its own.
        """
        try:
            return self._group.answer(partitions, call)
        except EmulatorError as error:
            return RemoteError(type(error), error.message, error.action, error.reason)


def actor_name(config: Config, partitioning: Partitioning, process: int, replica: int) -> str:
    """Return the name of an actor."""
    return f"parts {process}.{replica} of {partitioning.parts} of {config.collection_folder}"


def start_partition_actors(config: Config, partitioning: Partitioning, ray: ModuleType) -> list[object]:
    """Start the actors of all partitions; return them. They end with this process.

    A replica is started right after the other one of its process: Ray spreads what starts in sequence over machines.
    """
    make_actor = ray.remote(num_cpus=1, max_restarts=-1, max_concurrency=ACTOR_THREADS, scheduling_strategy="SPREAD")(
        PartitionActor
    )
    return [
        make_actor.options(name=actor_name(config, partitioning, process, replica), namespace=NAMESPACE).remote(
            config, partitioning.parts
        )
        for process in range(partitioning.processes)
        for replica in range(REPLICAS)
    ]


class RayPartitions:
    """Client of the actors: `webemu.index.partitions.client.PartitionTransport`. Thread-safe."""

    def __init__(self, config: Config, partitioning: Partitioning) -> None:
        import ray  # optional dependency

        self._ray = ray
        self._replicas = [
            [ray.get_actor(actor_name(config, partitioning, process, one), NAMESPACE) for one in range(REPLICAS)]
            for process in range(partitioning.processes)
        ]
        self._threads = ThreadPoolExecutor(CALLER_THREADS, thread_name_prefix="webemu-parts")
        self._hedge = HedgeTimer()
        self._calls = 0

    def groups(self, count: int) -> list[Sequence[int]]:
        """Return the numbers of `count` partitions, those of each process together."""
        processes = len(self._replicas)
        return [range(process, count, processes) for process in range(min(count, processes))]

    def ask(self, groups: Sequence[Sequence[int]], call: PartitionCall) -> list[GroupAnswer]:
        """Return what each group answers. Raises EmulatorError as a partition raised it."""
        # In a thread of its own: waiting in a thread that runs an event loop would hold that up.
        answers = self._threads.submit(self._ask_all, groups, call).result()
        for answer in answers:
            if isinstance(answer, RemoteError):
                raise answer.error_class(answer.message, action=answer.action, reason=answer.reason)
        return [answer for answer in answers if isinstance(answer, GroupAnswer)]

    def figures(self) -> dict[str, int]:
        """Return how many asks were answered, sent to another replica too, and lost, and when one is late."""
        return self._hedge.figures()

    def _ask_all(self, groups: Sequence[Sequence[int]], call: PartitionCall) -> list[GroupAnswer | RemoteError]:
        """Send the call to one replica of each group, and to others when it is late or lost; wait for all groups."""
        self._calls += 1
        asks = [_Ask(self._replicas[group[0] % len(self._replicas)], group, call, self._calls) for group in groups]
        started = perf_counter()
        hedge_seconds = self._hedge.seconds()
        for ask in asks:
            ask.send_to_next()
        while pending := {reference: ask for ask in asks if ask.answer is None for reference in ask.references}:
            seconds = perf_counter() - started
            if seconds > ANSWER_SECONDS:
                break
            is_early = seconds < hedge_seconds
            timeout = (hedge_seconds if is_early else ANSWER_SECONDS) - seconds
            done, _ = self._ray.wait(list(pending), num_returns=1, timeout=max(0.0, min(timeout, ANSWER_SECONDS)))
            for reference in done:
                self._take(pending[reference], reference, started)
            if not done and is_early:
                hedge_seconds = 0.0
                for ask in asks:
                    if ask.answer is None and ask.send_to_next():
                        self._hedge.count("hedged")
        for ask in asks:
            ask.cancel_rest(self._ray)
            if ask.answer is None:
                self._hedge.count("lost")
        return [GroupAnswer(None, (), tuple(ask.group)) if ask.answer is None else ask.answer for ask in asks]

    def _take(self, ask: _Ask, reference: object, started: float) -> None:
        """Take an answer that has come; if the replica was lost instead, ask the next one."""
        ask.references.remove(reference)
        try:
            ask.answer = self._ray.get(reference)
        except self._ray.exceptions.RayError:
            ask.send_to_next()
            return
        self._hedge.record(perf_counter() - started)


class _Ask:
    """A call to one group of partitions, and the replicas that it was sent to."""

    def __init__(self, replicas: Sequence[object], group: Sequence[int], call: PartitionCall, turn: int) -> None:
        self.group = group
        self._call = call
        start = turn % len(replicas)
        self._next_replicas = deque([*replicas[start:], *replicas[:start]])
        self.references: list[object] = []
        """References of Ray to answers that are still to come."""
        self.answer: GroupAnswer | RemoteError | None = None
        """The first answer; None until it comes."""

    def send_to_next(self) -> bool:
        """Send the call to a replica that was not asked yet; return False if there is none."""
        if not self._next_replicas:
            return False
        replica = self._next_replicas.popleft()
        self.references.append(replica.answer.remote(self.group, self._call))  # type: ignore[attr-defined]
        return True

    def cancel_rest(self, ray: ModuleType) -> None:
        """Cancel calls whose answer is not needed any more, unless they have begun."""
        for reference in self.references:
            ray.cancel(reference)


class HedgeTimer:
    """Measures how long asks take, and says after which time one is late. Thread-safe."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=HEDGE_SAMPLE)
        self._counts = {"answered": 0, "hedged": 0, "lost": 0}
        self._lock = Lock()

    def record(self, seconds: float) -> None:
        """Record how long an ask took that was answered."""
        with self._lock:
            self._counts["answered"] += 1
            self._latest.append(seconds)

    def count(self, event: str) -> None:
        """Count an ask that was `hedged` or `lost`."""
        with self._lock:
            self._counts[event] += 1

    def seconds(self) -> float:
        """Return the time after which an ask is late: `ANSWER_SECONDS` until enough were measured."""
        with self._lock:
            if len(self._latest) < HEDGE_SAMPLE:
                return ANSWER_SECONDS
            return max(MIN_HEDGE_SECONDS, sorted(self._latest)[int(HEDGE_QUANTILE * HEDGE_SAMPLE)])

    def figures(self) -> dict[str, int]:
        """Return the counts, and the present time in milliseconds."""
        with self._lock:
            counts = dict(self._counts)
        return {**counts, "late_after_ms": round(1000 * self.seconds())}


class LivePartitions(LiveSnapshot):
    """The world of a collection's partitions: follows `split.json` while requests go on."""

    def __init__(self, config: Config, partitioning: Partitioning) -> None:
        super().__init__(config.collection_folder)
        self._parts = partitioning.parts
        self._is_strict = partitioning.is_strict
        self._transport = RayPartitions(config, partitioning)
        self.sections["parts"] = self._transport.figures

    def check_files(self) -> None:
        """Raise SnapshotError if the description of the partitions is gone."""
        read_partitions(self._folder, self._parts)

    def _current_id(self) -> str | None:
        return read_partitions(self._folder, self._parts).id

    def _open_plain(self, snapshot: str) -> World:
        partition_set = read_partitions(self._folder, self._parts, snapshot)
        return partitioned_world(self._folder.name, partition_set, self._transport, self._is_strict)
