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
from typing import Any, NamedTuple, cast

from webemu.api.app import App, create_app
from webemu.emulator.cluster import joined
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, Overloaded
from webemu.emulator.ledger import Ledger
from webemu.index.ledger import LedgerError, SessionLedger
from webemu.index.partitions.engine import Key
from webemu.index.partitions.server import Holder
from webemu.index.partitions.split import home, read_split, split_world

NAME = "webemu"
"""Name of the Ray Serve application and of the namespace of its actor."""
ONGOING = 256
"""Requests that a replica handles at the same time; further ones wait at the proxy."""
GRACE = 15
"""Seconds that running requests have to finish when a replica is stopped."""
KEEP_ALIVE = 120
"""Seconds that the proxies keep an idle connection open."""
REPLICAS = 2
"""Replicas of each partition."""
ASKING = 64
"""Threads of a server replica that may wait for partitions."""
AGAIN, PATIENCE = 5, 10.0
"""Attempts to reach a partition before giving up, and seconds that each may take."""


class Copy:
    """One replica of the server."""

    def __init__(self, config: Config, *parts: Any) -> None:
        """Take the handles of the partitions; without any, every replica opens the complete index."""
        self._config = config
        self._parts = parts

    def __serve_build_asgi_app__(self) -> App:
        """Return the ASGI application. Ray Serve calls this method by its name."""
        world, config = None, self._config
        if self._parts:
            made = read_split(config.folder, len(self._parts))
            world = split_world(config.collection, made, Remote(self._parts))
        return create_app(config, world, cast(Ledger, Written(config)))


class Held:
    """One replica of one partition of the index."""

    def __init__(self, config: Config, number: int, parts: int) -> None:
        made = read_split(config.folder, parts)
        place = home(config.folder, parts, number)
        self._holder = Holder(place, made.snapshots[number], made.statistics())

    def answer(self, method: str, given: tuple[Any, ...], known: dict[Key, int]) -> Any:
        """Return the answer of the partition server; an `EmulatorError` is returned as a `RemoteError` value.

        Ray would wrap a raised error in a class of its own.
        """
        try:
            return self._holder.answer(method, given, known)
        except EmulatorError as error:
            return Failed(type(error), error.message, error.action, error.reason)


class Failed(NamedTuple):
    """An `EmulatorError` as a value that travels between Ray processes."""

    kind: type[EmulatorError]
    message: str
    action: str
    reason: str


class Remote:
    """Client of the partitions, usable from any thread. A request to a lost replica is repeated on another one."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self._handles = handles
        self._threads = ThreadPoolExecutor(ASKING, thread_name_prefix="webemu-parts")

    def ask(self, parts: Sequence[int], method: str, given: tuple[Any, ...], known: Mapping[Key, int]) -> list[Any]:
        """Call a method of the partition server on each of the given partitions; return the answers in order.

        Raises:
            EmulatorError: as the partition raised it.
            Overloaded: a partition did not answer after several attempts.
        """
        # In a thread of its own: Ray refuses to wait in a thread that runs an event loop.
        answers = self._threads.submit(self._ask, parts, (method, given, dict(known))).result()
        for answer in answers:
            if isinstance(answer, Failed):
                raise answer.kind(answer.message, action=answer.action, reason=answer.reason)
        return answers

    def _ask(self, parts: Sequence[int], asked: tuple[Any, ...]) -> list[Any]:
        """Start all calls before waiting for the first one."""
        waiting = [self._handles[part].answer.remote(*asked) for part in parts]
        return [self._answer(part, asked, one) for part, one in zip(parts, waiting, strict=True)]

    def _answer(self, part: int, asked: tuple[Any, ...], waiting: Any) -> Any:
        """Wait for one call, repeating it if the replica was lost. Raises Overloaded after the last attempt."""
        import ray  # optional dependency

        for _ in range(AGAIN):
            try:
                return waiting.result(timeout_s=PATIENCE)
            except (ray.exceptions.RayActorError, ray.exceptions.TaskCancelledError, TimeoutError):
                waiting = self._handles[part].answer.remote(*asked)
        raise Overloaded(f"partition {part} of the index did not answer {AGAIN} times", action="retry after a second")


class Scribe:
    """Ray actor that records sessions for all server replicas."""

    def __init__(self, config: Config) -> None:
        self._ledger = SessionLedger(config.written / "sessions")

    def write(self, method: str, given: tuple[Any, ...]) -> Any:
        """Call a method of the ledger by its name and return its result."""
        return getattr(self._ledger, method)(*given)


class Written:
    """The ledger as server replicas see it: every method call is sent to the actor. Raises LedgerError."""

    def __init__(self, config: Config) -> None:
        import ray  # optional dependency

        self._scribe = ray.get_actor(_scribe(config), namespace=NAME)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._ask, method)

    def _ask(self, method: str, *given: Any) -> Any:
        import ray  # optional dependency

        try:
            return ray.get(self._scribe.write.remote(method, given))
        except ray.exceptions.RayError as error:
            raise LedgerError(
                "sessions cannot be recorded",
                action="retry after a second",
                place=str(error).strip().splitlines()[-1],
            ) from error


def serve_on(address: str, config: Config, parts: int | None = None) -> None:
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
    if parts:
        read_split(config.folder, parts)
    with joined(address) as ray:
        from ray import serve  # optional dependency

        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # only now: Ray installs its own handler when it connects
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options={"host": config.host, "port": config.port, "keep_alive_timeout_s": KEEP_ALIVE})
        wanted, there = config.workers + REPLICAS * (parts or 0), ray.cluster_resources().get("CPU", 0)
        if wanted > there:
            print(f"webemu: waiting for {wanted} processors; the cluster has {there:.0f}", file=sys.stderr, flush=True)
        named = {"name": _scribe(config), "namespace": NAME, "lifetime": "detached", "get_if_exists": True}
        scribe = ray.remote(num_cpus=0, max_restarts=-1, max_concurrency=8)(Scribe).options(**named).remote(config)
        try:
            _run(serve, config, parts or 0)
            print(
                f"webemu: {config.collection} by {config.workers} replicas on {config.host}:{config.port}", flush=True
            )
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            serve.delete(NAME)
            ray.kill(scribe)
            if not serve.status().applications:
                serve.shutdown()  # its proxies would keep the port in use


def _scribe(config: Config) -> str:
    """Return the name of the actor that records the sessions of a collection."""
    return f"sessions of {config.folder}"


def _run(serve: Any, config: Config, parts: int) -> None:
    """Deploy the server replicas and, if the index is partitioned, the partition replicas that they query.

    Raises:
        Overloaded: Ray Serve could not start them.
    """
    usual = {
        "max_ongoing_requests": ONGOING,
        "graceful_shutdown_timeout_s": GRACE,
        "logging_config": {"enable_access_log": False},
        "ray_actor_options": {"num_cpus": 1},
    }
    held = [
        serve.deployment(name=f"part-{number}", num_replicas=REPLICAS, **usual)(Held).bind(config, number, parts)
        for number in range(parts)
    ]
    copies = serve.deployment(name="copy", num_replicas=config.workers, **usual)(serve.ingress()(Copy))
    try:
        serve.run(copies.bind(config, *held), name=NAME, route_prefix="/")
    except RuntimeError as error:
        raise Overloaded(
            f"Ray Serve could not start the replicas: {error}",
            action=f"each machine must see {config.folder}; Ray's logs say more: /tmp/ray/session_latest/logs/serve",
        ) from error
