"""uvicorn's server and its supervisor of workers, extended to log what happens to them."""

from __future__ import annotations

import logging
import signal
import socket
import time
from multiprocessing.connection import wait
from pickle import UnpicklingError

import uvicorn
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from webemu.emulator.logs import event_extra

log = logging.getLogger("webemu.serve")


class Server(uvicorn.Server):
    """uvicorn's server for a single serving process."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the server; log how much was in flight and how long it took to drain."""
        open_now, in_flight = len(self.server_state.connections), len(self.server_state.tasks)
        message = "draining: %d requests in flight on %d connections"
        log.info(message, in_flight, open_now, extra=event_extra("draining", connections=open_now, in_flight=in_flight))
        started = time.monotonic()
        await super().shutdown(sockets)
        seconds = round(time.monotonic() - started, 3)
        log.info("drained in %.3f s", seconds, extra=event_extra("drained", seconds=seconds))


class Worker(Process):
    """A worker process whose death is noticed immediately.

    uvicorn waits for the answer of a dead worker as long as for that of a busy one, since both ends of the pipe are
    open in the parent.
    """

    def _healthcheck(self, timeout: float) -> bool | None:
        try:
            self.parent_conn.send(b"ping")
            # The sentinel becomes ready as soon as the process is dead.
            if self.parent_conn in wait([self.parent_conn, self.process.sentinel], timeout):
                return bool(self.parent_conn.recv())
        except (OSError, EOFError, UnpicklingError):
            pass
        return None


class Supervisor(Multiprocess):
    """uvicorn's supervisor of several workers, which replaces those that die."""

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers, and log each replacement."""
        for process in self.processes:
            process.__class__ = Worker  # uvicorn offers no way to choose the class of its processes
        old_processes = list(self.processes)
        super().keep_subprocess_alive()
        for old, new in zip(old_processes, self.processes, strict=False):
            if old is not new:
                exit_reason = _describe_exit(old.exitcode)
                log.warning(
                    "worker %s died: %s",
                    old.pid,
                    exit_reason,
                    extra=event_extra("worker_died", worker=old.pid, how=exit_reason),
                )
                log_fields = event_extra("worker_replaced", worker=old.pid, by=new.pid)
                log.info("worker %s was replaced by %s", old.pid, new.pid, extra=log_fields)

    def terminate_all(self) -> None:
        """Tell all workers to stop."""
        log.info("draining %d workers", len(self.processes), extra=event_extra("draining", workers=len(self.processes)))
        self._drain_started = time.monotonic()
        super().terminate_all()

    def join_all(self) -> None:
        """Wait until all workers have stopped."""
        super().join_all()
        seconds = round(time.monotonic() - self._drain_started, 3)
        log.info("drained in %.3f s", seconds, extra=event_extra("drained", seconds=seconds))


def _describe_exit(code: int | None) -> str:
    """Return how a process ended: the name of the signal, or its exit status."""
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"status {code}"
