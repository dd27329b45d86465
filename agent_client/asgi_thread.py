"""Calls an ASGI application without a socket from any thread, on an event loop in a thread of its own.

`webemu.agent_client.asgi` does the same for callers that already run on the event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Mapping
from typing import ClassVar, TypeVar

from webemu.agent_client.asgi import Application, AsgiTransport
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.raw_response import RawResponse

T = TypeVar("T")


class ThreadedAsgiTransport:
    """A client's transport to an ASGI application in this process, for synchronous callers."""

    def __init__(self, app: Application, headers: Mapping[str, str], timeout: float) -> None:
        """Prepare the transport; the first request starts the application. Raises ValueError on invalid headers."""
        self._app, self.accepts_target = app, AsgiTransport.accepts_target
        self._transport = AsgiTransport(app, headers, timeout)
        self._thread: EventLoopThread | None = None
        self._lock = threading.Lock()

    def send(self, path: str, body: bytes | None) -> RawResponse:
        """Return the response. Raises httpx.RequestError, or InfrastructureError if the application does not run."""
        thread = self._thread
        if thread is None:
            with self._lock:
                thread = self._thread = self._thread or EventLoopThread.acquire(self._app)
        return thread.run(self._transport.send(path, body))

    def close(self) -> None:
        """Close the transport; the last one closed stops the application."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread.is_of_this_process:
            thread.run(self._transport.close())
            thread.release()


class EventLoopThread:
    """A thread with an event loop, shared by all clients of one application."""

    _threads: ClassVar[dict[int, EventLoopThread]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, app: Application) -> None:
        self._app, self._clients, self._process = app, 0, os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="webemu-app", daemon=True)
        self._thread.start()
        atexit.register(self._stop)

    @staticmethod
    def acquire(app: Application) -> EventLoopThread:
        """Return the application's thread and count one more client."""
        with EventLoopThread._lock:
            thread = EventLoopThread._threads.get(id(app))
            if thread is None or not thread.is_of_this_process:  # after a fork the child needs a thread of its own
                thread = EventLoopThread._threads[id(app)] = EventLoopThread(app)
            thread._clients += 1
            return thread

    @property
    def is_of_this_process(self) -> bool:
        """True if the thread runs in this process; a forked child inherits the object but not the thread."""
        return self._process == os.getpid()

    def run(self, coroutine: Coroutine[object, None, T]) -> T:
        """Run a coroutine on the loop and return its result. Raises InfrastructureError in a forked process."""
        if not self.is_of_this_process:
            coroutine.close()
            action = "create the app and the client after the fork, or use a server over a Unix socket"
            raise InfrastructureError("the application runs in the parent process", reason="unreachable", action=action)
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:  # KeyboardInterrupt too
            future.cancel()
            raise

    def release(self) -> None:
        """Count one client less; without clients the thread ends."""
        with EventLoopThread._lock:
            self._clients -= 1
            if self._clients:
                return
            del EventLoopThread._threads[id(self._app)]
        self._stop()

    def _stop(self) -> None:
        """Cancel all tasks, which lets them clean up, and end the thread. Also called at process exit."""
        atexit.unregister(self._stop)
        if not self.is_of_this_process or not self._loop.is_running():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    """Cancel all other tasks of the loop and wait for them."""
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    if other_tasks:
        await asyncio.wait(other_tasks)
