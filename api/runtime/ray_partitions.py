"""Partitions of an index in the processes of a Ray cluster: the actors that have them, and the client that asks these.

A process is an actor that has every n-th partition; there are several replicas of each. An ask that takes longer than
nearly all do is sent to another replica too, and the first answer counts (hedged requests: Dean and Barroso, The Tail
at Scale, 2013). If no replica answers, the partitions of that process are lost for this answer.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

from webemu.api.runtime.descriptors import raise_limit
from webemu.emulator.config import Config
from webemu.emulator.errors import EmulatorError, Overloaded
from webemu.index.partitions.group import PartitionGroup
from webemu.index.partitions.methods import GroupAnswer, PartitionCall

NAMESPACE = "webemu"
"""Namespace of the actors."""
REPLICAS = 2
"""Actors that have the same partitions."""
CALLER_THREADS = 64
"""Threads of a server replica that may wait for partitions."""
ACTOR_THREADS = 8
"""Calls that an actor works on at the same time."""
START_SECONDS = 600
"""Seconds that the actors have to open their partitions."""
ANSWER_SECONDS = 10.0
"""Seconds after which partitions that did not answer are lost."""
DOUBT_SECONDS, DOUBTFUL_ANSWER_SECONDS = 30.0, 0.5
"""Seconds for which a process is in doubt that did not answer, and those that it is waited for meanwhile."""
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

    def __init__(self, config: Config, partitioning: Partitioning, process: int) -> None:
        """Open every n-th partition, from the number of the process on."""
        raise_limit()  # a partition has about 17 files
        self._group = PartitionGroup(config.collection_folder, partitioning.parts)
        self._group.open(process, partitioning.processes)

    def process_id(self) -> int:
        """Return the id of this process, once the partitions are open."""
        return os.getpid()

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
    """Start the actors of all partitions and wait until they have opened them; return them. They end with this process.

    A replica is started right after the other one of its process: Ray spreads what starts in sequence over machines.

    Raises:
        Overloaded: they do not start.
    """
    make_actor = ray.remote(num_cpus=1, max_restarts=-1, max_concurrency=ACTOR_THREADS, scheduling_strategy="SPREAD")(
        PartitionActor
    )
    actors = [
        make_actor.options(name=actor_name(config, partitioning, process, replica), namespace=NAMESPACE).remote(
            config, partitioning, process
        )
        for process in range(partitioning.processes)
        for replica in range(REPLICAS)
    ]
    try:
        ray.get([actor.process_id.remote() for actor in actors], timeout=START_SECONDS)
    except ray.exceptions.GetTimeoutError as error:
        raise Overloaded(
            f"the processes of the partitions did not start within {START_SECONDS} s",
            action="give the Ray cluster more processors, or lower --part-processes",
        ) from error
    except ray.exceptions.RayError as error:
        raise Overloaded(
            f"a process of the partitions did not start: {error}",
            action=f"each machine must see {config.collection_folder}",
        ) from error
    return actors


class RayPartitions:
    """Client of the actors: `webemu.index.partitions.client.PartitionTransport`. Thread-safe."""

    def __init__(self, config: Config, partitioning: Partitioning) -> None:
        import ray  # optional dependency

        self._ray = ray
        self._replicas = [
            [
                ray.get_actor(actor_name(config, partitioning, process, replica), NAMESPACE)
                for replica in range(REPLICAS)
            ]
            for process in range(partitioning.processes)
        ]
        self._threads = ThreadPoolExecutor(CALLER_THREADS, thread_name_prefix="webemu-parts")
        self._timer = AskTimer()
        self._lost_at: dict[int, float] = {}
        """Times at which processes last did not answer, until they answer again."""
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
        return self._timer.figures()

    def _ask_all(self, groups: Sequence[Sequence[int]], call: PartitionCall) -> list[GroupAnswer | RemoteError]:
        """Send the call to one replica of each group, and to others when it is late or lost; wait for all groups."""
        self._calls += 1
        started, late_after = perf_counter(), self._timer.late_after()
        asks = [self._start(group, call, started) for group in groups]
        while pending := {reference: ask for ask in asks for reference in ask.list_pending(perf_counter() - started)}:
            next_event = min(late_after, *(ask.patience for ask in pending.values()))
            timeout = max(0.0, next_event - (perf_counter() - started))
            done, _ = self._ray.wait(list(pending), num_returns=1, timeout=timeout)
            for reference in done:
                self._take(pending[reference], reference, started)
            if not done and next_event == late_after:
                late_after = math.inf  # there is a second replica, and no third
                hedged = [ask for ask in asks if ask.answer is None and ask.send_to_next()]
                self._timer.count("hedged", len(hedged))
        for ask in asks:
            ask.cancel_rest(self._ray)
        self._note_lost([ask for ask in asks if ask.answer is None], started)
        return [GroupAnswer(None, (), tuple(ask.group)) if ask.answer is None else ask.answer for ask in asks]

    def _start(self, group: Sequence[int], call: PartitionCall, started: float) -> _Ask:
        """Send the call to the replica whose turn it is. A process that was lost just now is not waited for long."""
        process = group[0] % len(self._replicas)
        is_doubtful = started - self._lost_at.get(process, -math.inf) < DOUBT_SECONDS
        patience = DOUBTFUL_ANSWER_SECONDS if is_doubtful else ANSWER_SECONDS
        ask = _Ask(process, self._replicas[process], group, call, self._calls, patience)
        ask.send_to_next()
        return ask

    def _note_lost(self, asks: Sequence[_Ask], started: float) -> None:
        """Note which processes did not answer."""
        self._timer.count("lost", len(asks))
        for ask in asks:
            self._lost_at[ask.process] = started

    def _take(self, ask: _Ask, reference: object, started: float) -> None:
        """Take an answer that has come; if the replica was lost instead, ask the next one."""
        ask.references.remove(reference)
        try:
            ask.answer = self._ray.get(reference)
        except self._ray.exceptions.RayError:
            ask.send_to_next()
            return
        self._lost_at.pop(ask.process, None)
        self._timer.record(perf_counter() - started)


class _Ask:
    """A call to one group of partitions, and the replicas that it was sent to."""

    def __init__(
        self,
        process: int,
        replicas: Sequence[object],
        group: Sequence[int],
        call: PartitionCall,
        turn: int,
        patience: float,
    ) -> None:
        self.process = process
        self.group = group
        self.patience = patience
        """Seconds that the answer is waited for."""
        self._call = call
        start = turn % len(replicas)
        self._next_replicas = deque([*replicas[start:], *replicas[:start]])
        self.references: list[object] = []
        """References of Ray to answers that are still to come."""
        self.answer: GroupAnswer | RemoteError | None = None
        """The first answer; None until it comes."""

    def list_pending(self, seconds: float) -> list[object]:
        """Return the references of answers that are still waited for after so many seconds."""
        return self.references if self.answer is None and seconds < self.patience else []

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


class AskTimer:
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

    def count(self, event: str, asks: int) -> None:
        """Count asks that were `hedged` or `lost`."""
        with self._lock:
            self._counts[event] += asks

    def late_after(self) -> float:
        """Return the time after which an ask is late: `ANSWER_SECONDS` until enough were measured."""
        with self._lock:
            if len(self._latest) < HEDGE_SAMPLE:
                return ANSWER_SECONDS
            return max(MIN_HEDGE_SECONDS, sorted(self._latest)[int(HEDGE_QUANTILE * HEDGE_SAMPLE)])

    def figures(self) -> dict[str, int]:
        """Return the counts, and the present time in milliseconds."""
        with self._lock:
            counts = dict(self._counts)
        return {**counts, "late_after_ms": round(1000 * self.late_after())}
