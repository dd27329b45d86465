"""Calls an ASGI application without a socket, on the caller's event loop.

A request behaves as over HTTP: it runs to its end even if the caller gives up (it is told about the disconnect),
silence ends in a timeout, and failures are httpx errors. Messages and lifespan follow ASGI 3.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.concurrency import Turns
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.raw_response import Fields, Received

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
"""An ASGI application, such as `webemu.api.app.create_app` returns."""
HERE = Address("asgi://localhost", "asgi://localhost")
"""Address of every application in this process."""
LEAVE = 15.0
"""Seconds that running requests have to end when the application is stopped."""
_LONGEST = 65_536 - len(HERE.url)
"""Longest path that httpx accepts, in characters; it reports the error for longer ones."""
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_SCOPE = {"type": "http", "asgi": _ASGI, "http_version": "1.1", "scheme": "http", "root_path": "", "client": None}


class Inside:
    """A client's transport to an ASGI application; bound to the event loop of its first request."""

    def __init__(self, app: Application, headers: Mapping[str, str], timeout: float) -> None:
        """Prepare the transport; the first request starts the application. Raises ValueError on invalid headers."""
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError(f"a header value is not printable ASCII: {[*headers.values()]}; check `session`")
        self._app, self._timeout = app, timeout
        self._fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._running: Running | None = None
        self._turns = Turns()
        self._busy: set[_Exchange] = set()

    @staticmethod
    def bears(path: str) -> bool:
        """True if a path is short enough to be sent."""
        return len(path) <= _LONGEST

    async def ask(self, path: str, body: bytes | None) -> Received:
        """Return the response. Raises httpx.RequestError, or InfrastructureError if the application does not run."""
        running = self._running
        if running is None or running.loop is not asyncio.get_running_loop():
            running = self._running = await Running.of(self._app, self)
        async with self._turns:
            exchange = _Exchange(running.loop, body, self._timeout)
            self._busy.add(exchange)
            running.begin(self._scope(path, body, running.state), exchange)
            try:
                status, fields, content = await exchange.answered
            finally:
                exchange.leave()
                self._busy.discard(exchange)
        return Received(HERE.name + path, status, fields, content)

    async def close(self) -> None:
        """Fail running requests and release the application; the last client stops it."""
        for exchange in self._busy:
            exchange.fail(httpx.ReadError("the client was closed"))
        running, self._running = self._running, None
        if running is not None and running.loop is asyncio.get_running_loop():
            await running.leave(self)

    def _scope(self, path: str, body: bytes | None, state: dict[str, Any]) -> dict[str, Any]:
        """Return the ASGI scope of a request."""
        target, _, query = path.partition("?")
        length = [] if body is None else [(b"content-length", b"%d" % len(body))]
        return {
            **_SCOPE,
            "method": "GET" if body is None else "POST",
            "path": unquote(target),
            "raw_path": target.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), *self._fields, *length],
            "server": ("localhost", 80),
            "state": state.copy(),  # shallow, as ASGI 3.0 asks for
        }


class Running:
    """An application that runs in one event loop, from the first request of its first client until its last client
    closes.
    """

    _all: ClassVar[dict[int, Running]] = {}

    def __init__(self, app: Application, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self.loop = app, loop
        self.state: dict[str, Any] = {}
        """Lifespan state, which every request gets a copy of."""
        self._clients: set[object] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._told.put_nowait({"type": "lifespan.startup"})
        self._started: asyncio.Future[None] = loop.create_future()
        self._life = loop.create_task(self._live())

    @staticmethod
    async def of(app: Application, client: object) -> Running:
        """Return the started application and count one more client.

        Raises InfrastructureError if it does not start or runs in another event loop.
        """
        loop = asyncio.get_running_loop()
        running = Running._all.get(id(app))
        if running is None or running.loop.is_closed():
            running = Running._all[id(app)] = Running(app, loop)
        elif running.loop is not loop:
            action = "use it from one event loop, or from any thread with Client(app=...)"
            raise InfrastructureError("the application runs in another event loop", reason="unreachable", action=action)
        running._clients.add(client)
        await asyncio.shield(running._started)  # one caller's cancellation must not stop the start for the others
        return running

    def begin(self, scope: dict[str, Any], exchange: _Exchange) -> None:
        """Run a request in a task of its own: the caller may give up while others wait for the same work."""
        task = self.loop.create_task(exchange.run(self._app, scope))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def leave(self, client: object) -> None:
        """Count one client less; without clients the application is stopped."""
        self._clients.discard(client)
        if self._clients or Running._all.get(id(self._app)) is not self:
            return
        del Running._all[id(self._app)]
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LEAVE)
            for task in late:
                task.cancel()
        self._told.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._life])

    async def _live(self) -> None:
        """Run the lifespan protocol. An application that returns at once or fails does not support it and works
        without.
        """
        with suppress(Exception):
            await self._app({"type": "lifespan", "asgi": _ASGI, "state": self.state}, self._told.get, self._hear)
        if not self._started.done():
            self._started.set_result(None)

    async def _hear(self, message: Message) -> None:
        """Handle a lifespan message of the application."""
        if self._started.done():
            return
        if message["type"] == "lifespan.startup.failed":
            Running._all.pop(id(self._app), None)
            said = message.get("message", "").strip().rpartition("\n")[2]
            self._started.set_exception(InfrastructureError(f"the application does not start: {said}", reason="failed"))
        else:
            self._started.set_result(None)


class _Exchange:
    """One request and its response, as the application sees them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: bytes | None, timeout: float) -> None:
        self._loop, self._timeout = loop, timeout
        self._body: bytes | None = body or b""
        self._gone = asyncio.Event()
        self._status, self._pieces = 0, list[bytes]()
        self._fields: Fields = []
        self.answered: asyncio.Future[tuple[int, Fields, bytes]] = loop.create_future()
        """Future of status, headers and body; its exception is an httpx error."""
        self._deadline = loop.time() + timeout
        self._timer = loop.call_at(self._deadline, self._look)

    async def run(self, app: Application, scope: dict[str, Any]) -> None:
        """Run the application for this request."""
        try:
            await app(scope, self._receive, self._send)
            self.fail(httpx.RemoteProtocolError("the application returned before its response was complete"))
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            self.fail(httpx.ReadError("the application was stopped"))
            raise
        except BaseException as error:  # a panic of a Rust library is not an `Exception`
            failed = httpx.RemoteProtocolError(f"the application failed: {type(error).__name__}: {error}")
            failed.__cause__ = error
            self.fail(failed)

    def leave(self) -> None:
        """Tell the application that the client has disconnected."""
        self._timer.cancel()
        self._gone.set()

    def fail(self, error: httpx.RequestError) -> None:
        """End the request with an error unless it has a response."""
        if not self.answered.done():
            self.answered.set_exception(error)

    async def _receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self._deadline = self._loop.time() + self._timeout
        if message["type"] == "http.response.start":
            self._status, self._fields = message["status"], list(message.get("headers", ()))
            return
        self._pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            self._gone.set()
            if not self.answered.done():
                self.answered.set_result((self._status, self._fields, b"".join(self._pieces)))

    def _look(self) -> None:
        """Fail the request if nothing was sent until the deadline, else check again at the new deadline."""
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look)
        else:
            self.fail(httpx.ReadTimeout(f"no data for {self._timeout:g} seconds"))
