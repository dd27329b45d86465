"""An ASGI application asked without a socket, from any thread: it has a thread and an event loop of its own."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar, TypeVar

from webemu.agent_client.asgi import Application, Inside
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.raw_response import Received

T = TypeVar("T")


class Beside:
    """One client's way to an application."""

    def __init__(self, app: Application, headers: Mapping[str, str], timeout: float) -> None:
        """Raises ValueError on headers that are none."""
        self._app, self.bears = app, Inside.bears
        self._inside = Inside(app, headers, timeout)
        self._thread: _Thread | None = None
        self._lock = threading.Lock()

    def ask(self, path: str, body: bytes | None) -> Received:
        """The answer. Raises httpx.RequestError, or InfrastructureError where the application does not run."""
        thread = self._thread
        if thread is None:
            with self._lock:
                thread = self._thread = self._thread or _Thread.of(self._app)
        return thread.run(self._inside.ask(path, body))

    def close(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread.is_ours:
            thread.run(self._inside.close())
            thread.leave()


class _Thread:
    """An event loop in a thread, for the clients of one application."""

    _all: ClassVar[dict[int, _Thread]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, app: Application) -> None:
        self._app, self._clients, self._process = app, 0, os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="webemu-app", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    @staticmethod
    def of(app: Application) -> _Thread:
        """The application's thread, with one client more."""
        with _Thread._lock:
            thread = _Thread._all.get(id(app))
            if thread is None or not thread.is_ours:
                thread = _Thread._all[id(app)] = _Thread(app)
            thread._clients += 1
            return thread

    @property
    def is_ours(self) -> bool:
        """A forked process has what its parent knew of its threads, but not the threads."""
        return self._process == os.getpid()

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        """What the loop makes of it."""
        if not self.is_ours:
            asked.close()
            action = "make app and client after the fork, or ask a server over a Unix socket"
            raise InfrastructureError("the application runs in the parent process", reason="unreachable", action=action)
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except BaseException:  # also where somebody presses Control-C
            future.cancel()
            raise

    def leave(self) -> None:
        """The last client's leaving ends the thread."""
        with _Thread._lock:
            self._clients -= 1
            if self._clients:
                return
            del _Thread._all[id(self._app)]
        self._end()

    def _end(self) -> None:
        """Also at the end of the process, when clients were not closed: what runs is cancelled, and so cleans up."""
        atexit.unregister(self._end)
        if not self.is_ours or not self._loop.is_running():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others)
