"""The server on the machines of a Ray cluster: copies of it as replicas of one deployment of Ray Serve.

Every copy opens the collection for itself, follows its snapshots, and answers as any server does; where the index is in
parts, the copies ask them, each part being a deployment of its own with two replicas. Ray Serve's proxies give requests
to the copies, one proxy on each machine that has any. Sessions are written down by one actor for all. Clients speak
HTTP and know nothing of Ray.
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
ONGOING = 256
"""Requests that a copy has in hand at most; others wait at the proxy."""
GRACE = 15
"""Seconds that requests have to end when a copy is told to stop."""
KEEP_ALIVE = 120
REPLICAS = 2
"""Copies of each part."""
ASKING = 64
"""Threads of a copy that may wait for parts."""
AGAIN, PATIENCE = 5, 10.0
"""So often a part is asked, and seconds that it may take."""


class Copy:
    """One copy of the server."""

    def __init__(self, config: Config, *parts: Any) -> None:
        """`parts`: handles of the parts, none where every copy has the whole."""
        self._config = config
        self._parts = parts

    def __serve_build_asgi_app__(self) -> App:
        """What Ray Serve answers with."""
        world, config = None, self._config
        if self._parts:
            made = read_split(config.folder, len(self._parts))
            world = split_world(config.collection, made, Remote(self._parts))
        return create_app(config, world, cast(Ledger, Written(config)))


class Held:
    """A copy of one part."""

    def __init__(self, config: Config, number: int, parts: int) -> None:
        made = read_split(config.folder, parts)
        place = home(config.folder, parts, number)
        self._holder = Holder(place, made.snapshots[number], made.statistics())

    def answer(self, method: str, given: tuple[Any, ...], known: dict[Key, int]) -> Any:
        """As the holder says; an error of ours is a value, since Ray would make another of it."""
        try:
            return self._holder.answer(method, given, known)
        except EmulatorError as error:
            return Failed(type(error), error.message, error.action, error.reason)


class Failed(NamedTuple):
    """An error of ours on its way."""

    kind: type[EmulatorError]
    message: str
    action: str
    reason: str


class Remote:
    """The parts as copies ask them, out of any thread; a copy of a part that is lost is asked again elsewhere."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self._handles = handles
        self._threads = ThreadPoolExecutor(ASKING, thread_name_prefix="webemu-parts")

    def ask(self, parts: Sequence[int], method: str, given: tuple[Any, ...], known: Mapping[Key, int]) -> list[Any]:
        """What the holders answer. Raises what they raise, Overloaded where a part does not answer."""
        # In a thread, since Ray lets nobody wait in a thread that has an event loop.
        answers = self._threads.submit(self._ask, parts, (method, given, dict(known))).result()
        for answer in answers:
            if isinstance(answer, Failed):
                raise answer.kind(answer.message, action=answer.action, reason=answer.reason)
        return answers

    def _ask(self, parts: Sequence[int], asked: tuple[Any, ...]) -> list[Any]:
        waiting = [self._handles[part].answer.remote(*asked) for part in parts]
        return [self._answer(part, asked, one) for part, one in zip(parts, waiting, strict=True)]

    def _answer(self, part: int, asked: tuple[Any, ...], waiting: Any) -> Any:
        import ray  # an extra

        for _ in range(AGAIN):
            try:
                return waiting.result(timeout_s=PATIENCE)
            except (ray.exceptions.RayActorError, ray.exceptions.TaskCancelledError, TimeoutError):
                waiting = self._handles[part].answer.remote(*asked)
        raise Overloaded(f"part {part} of the index does not answer", action="retry after a second")


class Scribe:
    """An actor that writes sessions down for all copies."""

    def __init__(self, config: Config) -> None:
        self._ledger = SessionLedger(config.written / "sessions")

    def write(self, method: str, given: tuple[Any, ...]) -> Any:
        """What a method of the ledger gives."""
        return getattr(self._ledger, method)(*given)


class Written:
    """The ledger as copies have it: every method is asked of the scribe. Raises LedgerError."""

    def __init__(self, config: Config) -> None:
        import ray  # an extra

        self._scribe = ray.get_actor(_scribe(config), namespace=NAME)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._ask, method)

    def _ask(self, method: str, *given: Any) -> Any:
        import ray  # an extra

        try:
            return ray.get(self._scribe.write.remote(method, given))
        except ray.exceptions.RayError as error:
            raise LedgerError(
                "sessions cannot be written down",
                action="retry after a second",
                place=str(error).strip().splitlines()[-1],
            ) from error


def serve_on(address: str, config: Config, parts: int | None = None) -> None:
    """Serve `config.workers` copies on the cluster at `address` until this process is told to stop.

    `parts`: of how many parts the index is; none is a whole one in every copy.

    Raises EmulatorError where there is no such cluster, BadRequest for what copies cannot do.
    """
    if config.further_ports or config.dns_port:
        raise BadRequest(
            "copies on a cluster are reached over HTTP alone",
            action="leave --web-ports and --dns-port out, or serve without --ray",
        )
    config = replace(config, root=config.root.resolve())  # Ray's processes run elsewhere
    if parts:
        read_split(config.folder, parts)
    with joined(address) as ray:
        from ray import serve  # an extra

        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # not before: Ray sets its own
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options={"host": config.host, "port": config.port, "keep_alive_timeout_s": KEEP_ALIVE})
        wanted, there = config.workers + REPLICAS * (parts or 0), ray.cluster_resources().get("CPU", 0)
        if wanted > there:
            print(f"webemu: waiting for {wanted} processors, the cluster has {there:.0f}", file=sys.stderr, flush=True)
        named = {"name": _scribe(config), "namespace": NAME, "lifetime": "detached", "get_if_exists": True}
        scribe = ray.remote(num_cpus=0, max_restarts=-1, max_concurrency=8)(Scribe).options(**named).remote(config)
        try:
            _run(serve, config, parts or 0)
            print(f"webemu: {config.collection} by {config.workers} copies on {config.host}:{config.port}", flush=True)
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            serve.delete(NAME)
            ray.kill(scribe)
            if not serve.status().applications:
                serve.shutdown()  # with its proxies, which would keep this port


def _scribe(config: Config) -> str:
    """Name of the actor that writes down the sessions of a collection."""
    return f"sessions of {config.folder}"


def _run(serve: Any, config: Config, parts: int) -> None:
    """The application: copies, and where there are any, the parts that they ask. Raises Overloaded."""
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
            f"Ray Serve could not start the copies: {error}",
            action=f"each machine must see {config.folder}; Ray's logs say more: /tmp/ray/session_latest/logs/serve",
        ) from error
