"""uvicorn's server and its supervisor of workers, extended to log what happens and to find hung workers soon."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import threading
import time
from pickle import UnpicklingError

import uvicorn
from uvicorn.supervisors import Multiprocess, multiprocess
from uvicorn.supervisors.multiprocess import Process

from webemu.api.runtime.process_activity import UNKNOWN, read_activity
from webemu.emulator.logs import event_extra

log = logging.getLogger("webemu.serve")

LOOK_SECONDS = 0.5
"""Seconds between two looks of the supervisor at its workers: those of uvicorn."""
STOPPED_SECONDS = 5.0
"""Seconds after which a worker that was stopped by a signal is replaced."""
ASLEEP_SECONDS = 10.0
"""Seconds after which a worker is replaced that neither answers nor does anything: it is deadlocked. More than for one
that was stopped, since others may sleep until that one gives back the lock of the ledger.
"""


LAST_READ_SECONDS = 0.1
"""Seconds in which a server that stops reads what clients had sent before. Its idle connections are closed then, and
one with bytes that were not read would be reset.
"""


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which answers what waits when it is told to stop."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept and read what waits, then stop."""
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)  # the event loop sets up those that were accepted
        if self.server_state.connections:
            await asyncio.sleep(LAST_READ_SECONDS)
        await super().shutdown(sockets)


class Server(DrainingServer):
    """Server for a single serving process."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the server; log how much was in flight and how long it took to drain."""
        open_now, in_flight = len(self.server_state.connections), len(self.server_state.tasks)
        message = "draining: %d requests in flight on %d connections"
        log.info(message, in_flight, open_now, extra=event_extra("draining", connections=open_now, in_flight=in_flight))
        started = time.monotonic()
        await super().shutdown(sockets)
        seconds = round(time.monotonic() - started, 3)
        log.info("drained in %.3f s", seconds, extra=event_extra("drained", seconds=seconds))


class TickingServer(DrainingServer):
    """Server in a worker, which shows that its event loop turns."""

    ticks = 0
    """Number that grows ten times a second while the event loop turns."""

    async def on_tick(self, counter: int) -> bool:
        """Do what uvicorn does ten times a second, and count it."""
        self.ticks = counter
        return await super().on_tick(counter)


class Worker(Process):
    """A worker process that is found out when it is stopped or deadlocked, and left alone while it is busy.

    The supervisor sends a ping at each look, unless one is unanswered. uvicorn would wait for each answer, and see
    neither other workers nor signals meanwhile. Looks are counted, not seconds: while the supervisor is stopped
    together with its workers, as by Ctrl-Z, time passes but nobody looks.
    """

    hang = ""
    """Why this worker was found to be hung; empty if it was not."""
    _silent_looks = 0
    """Looks since the last ping was sent."""
    _asleep_looks = 0
    """Looks in a row that found the worker asleep and silent."""
    _activity = UNKNOWN

    @property
    def server(self) -> TickingServer:
        """The server of this worker, in its own process."""
        if self._server is None:
            self._server = TickingServer(config=self.config)
        assert isinstance(self._server, TickingServer)
        return self._server

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve, in the process of the worker."""
        _ = self.server  # exists before the thread that answers pings asks for it
        super().target(sockets)

    def pong(self) -> None:
        """Answer a ping as soon as the event loop turns, or something is going on in this process."""
        self.child_conn.recv()
        server, ticks, answering_thread = self.server, self.server.ticks, (threading.get_native_id(),)
        before = read_activity(os.getpid(), answering_thread)
        while server.started and not server.should_exit and server.ticks == ticks:
            time.sleep(LOOK_SECONDS / 2)
            now = read_activity(os.getpid(), answering_thread)
            if not now.is_asleep_since(before):
                break
            before = now
        self.child_conn.send(server.started)

    def is_alive(self, timeout: float = 5) -> bool:
        """Return False if the worker is dead, or hung and to be killed. `timeout` is the longest silence in seconds."""
        if not self.process.is_alive():
            return False
        try:
            if self._silent_looks and self.parent_conn.poll():
                self.parent_conn.recv()
                self._silent_looks = 0
            if not self._silent_looks:
                self.parent_conn.send(b"ping")
        except (OSError, EOFError, UnpicklingError) as error:
            self.hang = f"its pipe is broken: {error!r}"
        else:
            self.hang = self.find_hang(ASLEEP_SECONDS, timeout)
        return not self.hang

    def find_hang(self, asleep_seconds: float, silent_seconds: float) -> str:
        """Look at a worker that owes an answer; return why it counts as hung, or an empty string.

        Call it every `LOOK_SECONDS`. A worker may be asleep, and silent whatever it does, for so many seconds.
        """
        self._silent_looks += 1
        if self._silent_looks == 1:
            self._asleep_looks, self._activity = 0, UNKNOWN
            return ""
        before, self._activity = self._activity, read_activity(self.pid or 0)
        self._asleep_looks = self._asleep_looks + 1 if self._activity.is_asleep_since(before) else 0
        asleep, silent = self._asleep_looks * LOOK_SECONDS, self._silent_looks * LOOK_SECONDS
        if self._activity.is_stopped and asleep >= STOPPED_SECONDS:
            return f"it was stopped by a signal (SIGSTOP) for {asleep:g} s"
        if asleep >= asleep_seconds:
            return f"it did nothing and did not answer for {asleep:g} s"
        return f"it did not answer for {silent:g} s" if silent > silent_seconds else ""


multiprocess.Process = Worker  # type: ignore[misc]  # uvicorn offers no other way to choose the class of its processes


class Supervisor(Multiprocess):
    """uvicorn's supervisor of several workers, which replaces those that die or hang."""

    def keep_subprocess_alive(self) -> None:
        """Replace dead and hung workers, and log each replacement."""
        old_processes = list(self.processes)
        super().keep_subprocess_alive()
        for old, new in zip(old_processes, self.processes, strict=False):
            if old is not new:
                _log_death(old)
                log_fields = event_extra("worker_replaced", worker=old.pid, by=new.pid)
                log.info("worker %s was replaced by %s", old.pid, new.pid, extra=log_fields)

    def terminate_all(self) -> None:
        """Tell all workers to stop."""
        log.info("draining %d workers", len(self.processes), extra=event_extra("draining", workers=len(self.processes)))
        self._drain_started = time.monotonic()
        super().terminate_all()

    def join_all(self) -> None:
        """Wait until all workers have stopped; kill those that hang, which would keep the server from ending."""
        for process in self.processes:
            assert isinstance(process, Worker)
            hung_seconds = self.config.timeout_worker_healthcheck
            while process.process.is_alive():
                process.process.join(LOOK_SECONDS)
                process.hang = process.find_hang(hung_seconds, math.inf)
                if process.hang:
                    process.process.kill()
                    process.process.join()
                    _log_death(process)
        seconds = round(time.monotonic() - self._drain_started, 3)
        log.info("drained in %.3f s", seconds, extra=event_extra("drained", seconds=seconds))


def _log_death(process: Process) -> None:
    """Log how a worker ended."""
    end = _describe_end(process)
    log.warning("worker %s died: %s", process.pid, end, extra=event_extra("worker_died", worker=process.pid, how=end))


def _describe_end(process: Process) -> str:
    """Return how a worker ended: why it was killed here, or the name of the signal, or its exit status."""
    if isinstance(process, Worker) and process.hang:
        return f"killed, since {process.hang}"
    code = process.exitcode
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"status {code}"
