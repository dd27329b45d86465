"""The server on a Ray cluster: several copies of it as replicas of one Ray Serve deployment.

Every replica opens the collection for itself, follows its snapshots and answers like any other server. If the index is
partitioned, each partition is a deployment of its own with two replicas, which the server replicas query. Ray Serve
runs one HTTP proxy on each machine that has a replica. One actor records the sessions of all replicas. Clients speak
HTTP and need not know about Ray.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import NamedTuple, Protocol, cast

from webemu.api.app import App, create_app
from webemu.emulator.cluster import connect_to_ray
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, Overloaded
from webemu.emulator.ledger import Ledger
from webemu.index.ledger import LedgerError, SessionLedger
from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.server import PartitionServer
from webemu.index.partitions.split import partition_folder, partitioned_world, read_partitions

NAME = "webemu"
"""Name of the Ray Serve application and of the namespace of its actor."""
MAX_ONGOING_REQUESTS = 256
"""Requests that a replica handles at the same time; further ones wait at the proxy."""
SHUTDOWN_SECONDS = 15
"""Seconds that running requests have to finish when a replica is stopped."""
KEEP_ALIVE_SECONDS = 120
"""Seconds that the proxies keep an idle connection open."""
REPLICAS_PER_PARTITION = 2
"""Replicas of each partition."""
PARTITION_THREADS = 64
"""Threads of a server replica that may wait for partitions."""
MAX_PROXY_STARTS = 4
"""Attempts to start the HTTP proxies; Ray Serve gives each of them 5 seconds more than the one before."""
MAX_ATTEMPTS, ATTEMPT_SECONDS = 5, 10.0
"""Attempts to reach a partition before giving up, and seconds that each may take."""


class PendingAnswer(Protocol):
    """Answer that a Ray Serve replica will give."""

    def result(self, *, timeout_s: float) -> object:
        """Wait for the answer and return it."""


class RemoteMethod(Protocol):
    """Method of a Ray Serve replica."""

    def remote(self, *arguments: object) -> PendingAnswer:
        """Call the method, without waiting for its answer."""


class PartitionHandle(Protocol):
    """Handle of Ray Serve to the replicas of one partition, which has the methods of `PartitionReplica`."""

    @property
    def answer(self) -> RemoteMethod: ...


class ServerReplica:
    """One replica of the server."""

    def __init__(self, config: Config, *partitions: PartitionHandle) -> None:
        """Take the handles of the partitions; without any, every replica opens the complete index."""
        self._config = config
        self._partitions = partitions

    def __serve_build_asgi_app__(self) -> App:
        """Return the ASGI application. Ray Serve calls this method by its name."""
        world, config = None, self._config
        if self._partitions:
            split = read_partitions(config.collection_folder, len(self._partitions))
            world = partitioned_world(config.collection, split, RemotePartitions(self._partitions))
        # Copies may share a file system, over which the locks of LMDB do not hold.
        return create_app(replace(config, views_mb=0), world, cast(Ledger, RemoteLedger(config)))


class PartitionReplica:
    """One replica of one partition of the index."""

    def __init__(self, config: Config, number: int, partitions: int) -> None:
        split = read_partitions(config.collection_folder, partitions)
        folder = partition_folder(config.collection_folder, partitions, number)
        self._partition_server = PartitionServer(folder, split.snapshots[number], split.statistics())

    def answer(self, method: str, arguments: tuple[object, ...], frequencies: dict[TermKey, int]) -> object:
        """Return the answer of the partition server; an `EmulatorError` is returned as a `RemoteError` value.

        Ray would wrap a raised error in a class of its own.
        """
        try:
            return self._partition_server.answer(method, arguments, frequencies)
        except EmulatorError as error:
            return RemoteError(type(error), error.message, error.action, error.reason)


class RemoteError(NamedTuple):
    """An `EmulatorError` as a value that travels between Ray processes."""

    error_class: type[EmulatorError]
    message: str
    action: str
    reason: str


class RemotePartitions:
    """Client of the partitions, usable from any thread. A request to a lost replica is repeated on another one."""

    def __init__(self, handles: Sequence[PartitionHandle]) -> None:
        self._handles = handles
        self._threads = ThreadPoolExecutor(PARTITION_THREADS, thread_name_prefix="webemu-parts")

    def ask(
        self, partitions: Sequence[int], method: str, arguments: tuple[object, ...], frequencies: Mapping[TermKey, int]
    ) -> list[object]:
        """Call a method of the partition server on each of the given partitions; return the answers in order.

        Raises:
            EmulatorError: as the partition raised it.
            Overloaded: a partition did not answer after several attempts.
        """
        # In a thread of its own: Ray refuses to wait in a thread that runs an event loop.
        answers = self._threads.submit(self._call_all, partitions, (method, arguments, dict(frequencies))).result()
        for answer in answers:
            if isinstance(answer, RemoteError):
                raise answer.error_class(answer.message, action=answer.action, reason=answer.reason)
        return answers

    def _call_all(self, partitions: Sequence[int], call: tuple[object, ...]) -> list[object]:
        """Start all calls before waiting for the first one."""
        responses = [self._handles[part].answer.remote(*call) for part in partitions]
        return [self._wait_for_answer(part, call, one) for part, one in zip(partitions, responses, strict=True)]

    def _wait_for_answer(self, partition: int, call: tuple[object, ...], response: PendingAnswer) -> object:
        """Wait for one call, repeating it if the replica was lost. Raises Overloaded after the last attempt."""
        import ray  # optional dependency

        for _ in range(MAX_ATTEMPTS):
            try:
                return response.result(timeout_s=ATTEMPT_SECONDS)
            except (ray.exceptions.RayActorError, ray.exceptions.TaskCancelledError, TimeoutError):
                response = self._handles[partition].answer.remote(*call)
        raise Overloaded(
            f"partition {partition} of the index did not answer {MAX_ATTEMPTS} times", action="retry after a second"
        )


class LedgerActor:
    """Ray actor that records sessions for all server replicas."""

    def __init__(self, config: Config) -> None:
        self._ledger = SessionLedger(config.state_folder / "sessions")

    def write(self, method: str, arguments: tuple[object, ...]) -> object:
        """Call a method of the ledger by its name and return its result."""
        return getattr(self._ledger, method)(*arguments)


class RemoteLedger:
    """The ledger as server replicas see it: every method call is sent to the actor. Raises LedgerError."""

    def __init__(self, config: Config) -> None:
        import ray  # optional dependency

        self._actor = ray.get_actor(_ledger_actor_name(config), namespace=NAME)

    def __getattr__(self, method: str) -> Callable[..., object]:
        return partial(self._call, method)

    def _call(self, method: str, *arguments: object) -> object:
        import ray  # optional dependency

        try:
            return ray.get(self._actor.write.remote(method, arguments))
        except ray.exceptions.RayError as error:
            raise LedgerError(
                "sessions cannot be recorded",
                action="retry after a second",
                location=str(error).strip().splitlines()[-1],
            ) from error


def serve_on_ray(address: str, config: Config, partitions: int | None = None) -> None:
    """Serve `config.workers` replicas on the Ray cluster at `address` until this process is told to stop.

    `partitions` is the number of partitions of the index; None means that every replica opens the complete index.

    Raises:
        EmulatorError: there is no Ray cluster at the address.
        BadRequest: the configuration asks for further ports or DNS, which replicas cannot offer.
    """
    if config.further_ports or config.dns_port:
        raise BadRequest(
            "replicas on a Ray cluster offer HTTP on one port only",
            action="leave out --web-ports and --dns-port, or serve without --ray",
        )
    config = replace(config, root=config.root.resolve())  # Ray's processes have another working directory
    if partitions:
        read_partitions(config.collection_folder, partitions)
    with connect_to_ray(address) as ray:
        from ray import serve  # optional dependency

        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # only now: Ray installs its own handler when it connects
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        start_proxies(serve, config, ray)
        _warn_of_few_processors(config.workers + REPLICAS_PER_PARTITION * (partitions or 0), ray)
        actor = _start_ledger_actor(config, ray)
        try:
            _deploy(serve, config, partitions or 0)
            print(
                f"webemu: {config.collection} by {config.workers} replicas on {config.host}:{config.port}", flush=True
            )
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            serve.delete(NAME)
            ray.kill(actor)
            if not serve.status().applications:
                serve.shutdown()  # its proxies would keep the port in use


def start_proxies(serve: ModuleType, config: Config, ray: ModuleType) -> None:
    """Start Ray Serve with its HTTP proxies.

    On a busy machine, a proxy can need longer than Ray Serve waits for it. Ray Serve then kills it and starts another
    one, but `serve.start` still raises the error of the killed one.

    Raises:
        Overloaded: no proxy came up within several attempts.
    """
    options = {"host": config.host, "port": config.port, "keep_alive_timeout_s": KEEP_ALIVE_SECONDS}
    for _ in range(MAX_PROXY_STARTS):
        try:
            serve.start(http_options=options)
            return
        except (ray.exceptions.RayActorError, TimeoutError) as error:
            last_error = error
    raise Overloaded(
        f"Ray Serve could not start its HTTP proxies: {last_error}",
        action="set RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S=60 where `ray start` runs, or use less busy machines",
    ) from last_error


def _warn_of_few_processors(needed: int, ray: ModuleType) -> None:
    """Print a line if the replicas have to wait for processors that the cluster does not have yet."""
    available = ray.cluster_resources().get("CPU", 0)
    if needed > available:
        print(f"webemu: waiting for {needed} processors; the cluster has {available:.0f}", file=sys.stderr, flush=True)


def _start_ledger_actor(config: Config, ray: ModuleType) -> object:
    """Start the actor that records sessions, or return the one that runs already."""
    make_actor = ray.remote(num_cpus=0, max_restarts=-1, max_concurrency=8)(LedgerActor)
    options = {"name": _ledger_actor_name(config), "namespace": NAME, "lifetime": "detached", "get_if_exists": True}
    actor: object = make_actor.options(**options).remote(config)
    return actor


def _ledger_actor_name(config: Config) -> str:
    """Return the name of the actor that records the sessions of a collection."""
    return f"sessions of {config.collection_folder}"


def _deploy(serve: ModuleType, config: Config, partitions: int) -> None:
    """Deploy the server replicas and, if the index is partitioned, the partition replicas that they query.

    Raises:
        Overloaded: Ray Serve could not start them.
    """
    deployment_options = {
        "max_ongoing_requests": MAX_ONGOING_REQUESTS,
        "graceful_shutdown_timeout_s": SHUTDOWN_SECONDS,
        "logging_config": {"enable_access_log": False},
        "ray_actor_options": {"num_cpus": 1},
    }
    partition_replicas = [
        serve.deployment(name=f"part-{number}", num_replicas=REPLICAS_PER_PARTITION, **deployment_options)(
            PartitionReplica
        ).bind(config, number, partitions)
        for number in range(partitions)
    ]
    server_replicas = serve.deployment(name="copy", num_replicas=config.workers, **deployment_options)(
        serve.ingress()(ServerReplica)
    )
    try:
        serve.run(server_replicas.bind(config, *partition_replicas), name=NAME, route_prefix="/")
    except RuntimeError as error:
        raise Overloaded(
            f"Ray Serve could not start the replicas: {error}",
            action=f"each machine must see {config.collection_folder}; Ray's logs say more: "
            "/tmp/ray/session_latest/logs/serve",
        ) from error
