"""The server on a Ray cluster: several copies of it as replicas of one Ray Serve deployment.

Every replica opens the collection for itself, follows its snapshots and answers like any other server. If the index is
partitioned, actors have the partitions (`webemu.api.runtime.ray_partitions`), and the server replicas ask these. Ray
Serve runs one HTTP proxy on each machine that has a replica. One actor records the sessions of all replicas. Clients
speak HTTP and need not know about Ray.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import cast

from webemu.api.app import App, create_app
from webemu.api.runtime.live_partitions import LivePartitions
from webemu.api.runtime.ray_partitions import REPLICAS, Partitioning, RayPartitions, start_partition_actors
from webemu.emulator.cluster import connect_to_ray
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, Overloaded
from webemu.emulator.ledger import Ledger
from webemu.index.ledger import LedgerError, SessionLedger
from webemu.index.partitions.split import read_partitions

NAME = "webemu"
"""Name of the Ray Serve application and of the namespace of its actor."""
MAX_ONGOING_REQUESTS = 256
"""Requests that a replica handles at the same time; further ones wait at the proxy."""
SHUTDOWN_SECONDS = 15
"""Seconds that running requests have to finish when a replica is stopped."""
KEEP_ALIVE_SECONDS = 120
"""Seconds that the proxies keep an idle connection open."""
MAX_PROXY_STARTS = 4
"""Attempts to start the HTTP proxies; Ray Serve gives each of them 5 seconds more than the one before."""


class ServerReplica:
    """One replica of the server."""

    def __init__(self, config: Config, partitioning: Partitioning | None) -> None:
        """Take how the index is partitioned; with None, every replica opens the complete index."""
        self._config = config
        self._partitioning = partitioning

    def __serve_build_asgi_app__(self) -> App:
        """Return the ASGI application. Ray Serve calls this method by its name."""
        # Copies may share a file system, over which the locks of LMDB do not hold.
        config, ledger = replace(self._config, views_mb=0), cast(Ledger, RemoteLedger(self._config))
        if self._partitioning is None:
            return create_app(config, ledger=ledger)
        parts, _, is_strict = self._partitioning
        transport = RayPartitions(config, self._partitioning)
        live_partitions = LivePartitions(config.collection_folder, parts, transport, transport.figures, is_strict)
        return create_app(config, ledger=ledger, live_snapshot=live_partitions)


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


def serve_on_ray(
    address: str, config: Config, parts: int | None = None, processes: int | None = None, is_strict: bool = False
) -> None:
    """Serve `config.workers` replicas on the Ray cluster at `address` until this process is told to stop.

    - parts: number of partitions of the index; None means that every replica opens the complete index
    - processes: number of processes that have the partitions; None means a quarter of the cluster's processors
    - is_strict: True to refuse searches while a partition is lost

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
    if parts:
        read_partitions(config.collection_folder, parts)
    with connect_to_ray(address) as ray:
        from ray import serve  # optional dependency

        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # only now: Ray installs its own handler when it connects
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        start_proxies(serve, config, ray)
        partitioning = None
        if parts:
            default_processes = max(1, int(ray.cluster_resources().get("CPU", 0)) // (2 * REPLICAS))
            partitioning = Partitioning(parts, min(parts, processes or default_processes), is_strict)
        needed = config.workers + (REPLICAS * partitioning.processes if partitioning else 0)
        _warn_of_few_processors(needed, ray)
        actor = _start_ledger_actor(config, ray)
        partition_actors = start_partition_actors(config, partitioning, ray) if partitioning else []
        try:
            _deploy(serve, config, partitioning)
            print(
                f"webemu: {config.collection} by {config.workers} replicas on {config.host}:{config.port}", flush=True
            )
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            serve.delete(NAME)
            for started_actor in (actor, *partition_actors):
                ray.kill(started_actor)
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


def _deploy(serve: ModuleType, config: Config, partitioning: Partitioning | None) -> None:
    """Deploy the server replicas.

    Raises:
        Overloaded: Ray Serve could not start them.
    """
    server_replicas = serve.deployment(
        name="copy",
        num_replicas=config.workers,
        max_ongoing_requests=MAX_ONGOING_REQUESTS,
        graceful_shutdown_timeout_s=SHUTDOWN_SECONDS,
        logging_config={"enable_access_log": False},
        ray_actor_options={"num_cpus": 1},
    )(serve.ingress()(ServerReplica))
    try:
        serve.run(server_replicas.bind(config, partitioning), name=NAME, route_prefix="/")
    except RuntimeError as error:
        raise Overloaded(
            f"Ray Serve could not start the replicas: {error}",
            action=f"each machine must see {config.collection_folder}; Ray's logs say more: "
            "/tmp/ray/session_latest/logs/serve",
        ) from error
