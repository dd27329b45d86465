"""The server on the machines of a Ray cluster: copies of it as replicas of one deployment of Ray Serve.

Every copy opens the collection for itself, follows its snapshots, and answers as any server does; Ray Serve's proxies
give requests to the copies, one proxy on each machine that has any. Sessions are written down by one actor for all.
Clients speak HTTP and know nothing of Ray.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

from api.app import App, create_app
from emulator.cluster import joined
from emulator.config import Config
from emulator.errors import BadRequest
from emulator.ledger import Ledger
from index.ledger import LedgerError, SessionLedger

NAME = "webemu"
ONGOING = 256
"""Requests that a copy has in hand at most; others wait at the proxy."""
GRACE = 15
"""Seconds that requests have to end when a copy is told to stop."""
KEEP_ALIVE = 120


class Copy:
    """One copy of the server."""

    def __init__(self, config: Config, scribe: Any) -> None:
        self._config = config
        self._scribe = scribe

    def __serve_build_asgi_app__(self) -> App:
        """What Ray Serve answers with."""
        return create_app(self._config, ledger=cast(Ledger, Written(self._scribe)))


class Scribe:
    """An actor that writes sessions down for all copies."""

    def __init__(self, config: Config) -> None:
        self._ledger = SessionLedger(config.folder / "sessions")

    def write(self, method: str, given: tuple[Any, ...]) -> Any:
        """What a method of the ledger gives."""
        return getattr(self._ledger, method)(*given)


class Written:
    """The ledger as copies have it: every method is asked of the scribe. Raises LedgerError."""

    def __init__(self, scribe: Any) -> None:
        self._scribe = scribe

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._ask, method)

    def _ask(self, method: str, *given: Any) -> Any:
        import ray  # an extra

        try:
            return ray.get(self._scribe.write.remote(method, given))
        except ray.exceptions.RayError as error:
            raise LedgerError(
                f"sessions cannot be written down: {str(error).strip().splitlines()[-1]}", action="retry after a second"
            ) from error


def serve_on(address: str, config: Config) -> None:
    """Serve `config.workers` copies on the cluster at `address` until this process is told to stop.

    Raises EmulatorError where there is no such cluster, BadRequest for what copies cannot do.
    """
    if config.further_ports or config.dns_port:
        raise BadRequest(
            "copies on a cluster are reached over HTTP alone",
            action="leave --web-ports and --dns-port out, or serve without --ray",
        )
    with joined(address) as ray:
        from ray import serve  # an extra

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options={"host": config.host, "port": config.port, "keep_alive_timeout_s": KEEP_ALIVE})
        try:
            serve.run(_copies(ray, serve, config), name=NAME, route_prefix="/")
            print(f"webemu: {config.collection} by {config.workers} copies on {config.host}:{config.port}", flush=True)
            _wait()
        finally:
            serve.delete(NAME)
            if not serve.status().applications:
                serve.shutdown()  # with its proxies, which would keep this port


def _copies(ray: Any, serve: Any, config: Config) -> Any:
    scribe = ray.remote(num_cpus=0, max_restarts=-1, max_concurrency=8)(Scribe).remote(config)
    deployment = serve.deployment(
        name="copy",
        num_replicas=config.workers,
        max_ongoing_requests=ONGOING,
        graceful_shutdown_timeout_s=GRACE,
        ray_actor_options={"num_cpus": 1},
    )(serve.ingress()(Copy))
    return deployment.bind(config, scribe)


def _wait() -> None:
    """Until SIGTERM or Ctrl-C."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    with suppress(KeyboardInterrupt):
        while not told.wait(1.0):
            pass
