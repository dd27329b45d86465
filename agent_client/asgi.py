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
from webemu.agent_client.concurrency import ConcurrencyLimiter
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.raw_response import HeaderList, RawResponse

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
"""An ASGI application, such as `webemu.api.app.create_app` returns."""
ASGI_ADDRESS = Address("asgi://localhost", "asgi://localhost")
"""Address of every application in this process."""
SHUTDOWN_SECONDS = 15.0
"""Seconds that running requests have to end when the application is stopped."""
_MAX_PATH_CHARS = 65_536 - len(ASGI_ADDRESS.url)
"""Longest path that httpx accepts, in characters; it reports the error for longer ones."""
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_SCOPE = {"type": "http", "asgi": _ASGI, "http_version": "1.1", "scheme": "http", "root_path": "", "client": None}


class AsgiTransport:
    """A client's transport to an ASGI application; bound to the event loop of its first request."""

    def __init__(self, app: Application, headers: Mapping[str, str], timeout: float) -> None:
        """Prepare the transport; the first request starts the application. Raises ValueError on invalid headers."""
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError(f"a header value is not printable ASCII: {[*headers.values()]}; check `session`")
        self._app, self._timeout = app, timeout
        self._fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._lifespan: AppLifespan | None = None
        self._limiter = ConcurrencyLimiter()
        self._exchanges: set[_AsgiExchange] = set()

    @staticmethod
    def accepts_target(path: str) -> bool:
        """True if a path is short enough to be sent."""
        return len(path) <= _MAX_PATH_CHARS

    async def send(self, path: str, body: bytes | None) -> RawResponse:
        """Return the response. Raises httpx.RequestError, or InfrastructureError if the application does not run."""
        lifespan = self._lifespan
        if lifespan is None or lifespan.loop is not asyncio.get_running_loop():
            lifespan = self._lifespan = await AppLifespan.acquire(self._app, self)
        async with self._limiter:
            exchange = _AsgiExchange(lifespan.loop, body, self._timeout)
            self._exchanges.add(exchange)
            lifespan.start_request(self._scope(path, body, lifespan.state), exchange)
            try:
                status, fields, content = await exchange.response
            finally:
                exchange.disconnect()
                self._exchanges.discard(exchange)
        return RawResponse(ASGI_ADDRESS.name + path, status, fields, content)

    async def close(self) -> None:
        """Fail running requests and release the application; the last client stops it."""
        for exchange in self._exchanges:
            exchange.fail(httpx.ReadError("the client was closed"))
        lifespan, self._lifespan = self._lifespan, None
        if lifespan is not None and lifespan.loop is asyncio.get_running_loop():
            await lifespan.release(self)

    def _scope(self, path: str, body: bytes | None, state: dict[str, object]) -> Message:
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


class AppLifespan:
    """An application that runs in one event loop, from the first request of its first client until its last client
    closes.
    """

    _instances: ClassVar[dict[int, AppLifespan]] = {}

    def __init__(self, app: Application, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self.loop = app, loop
        self.state: dict[str, object] = {}
        """Lifespan state, which every request gets a copy of."""
        self._clients: set[object] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lifespan_messages: asyncio.Queue[Message] = asyncio.Queue()
        self._lifespan_messages.put_nowait({"type": "lifespan.startup"})
        self._started: asyncio.Future[None] = loop.create_future()
        self._lifespan_task = loop.create_task(self._run_lifespan())

    @staticmethod
    async def acquire(app: Application, client: object) -> AppLifespan:
        """Return the started application and count one more client.

        Raises InfrastructureError if it does not start or runs in another event loop.
        """
        loop = asyncio.get_running_loop()
        lifespan = AppLifespan._instances.get(id(app))
        if lifespan is None or lifespan.loop.is_closed():
            lifespan = AppLifespan._instances[id(app)] = AppLifespan(app, loop)
        elif lifespan.loop is not loop:
            action = "use it from one event loop, or from any thread with Client(app=...)"
            raise InfrastructureError("the application runs in another event loop", reason="unreachable", action=action)
        lifespan._clients.add(client)
        await asyncio.shield(lifespan._started)  # one caller's cancellation must not stop the start for the others
        return lifespan

    def start_request(self, scope: Message, exchange: _AsgiExchange) -> None:
        """Run a request in a task of its own: the caller may give up while others wait for the same work."""
        task = self.loop.create_task(exchange.run(self._app, scope))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def release(self, client: object) -> None:
        """Count one client less; without clients the application is stopped."""
        self._clients.discard(client)
        if self._clients or AppLifespan._instances.get(id(self._app)) is not self:
            return
        del AppLifespan._instances[id(self._app)]
        if self._tasks:
            _, late_tasks = await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
            for task in late_tasks:
                task.cancel()
        self._lifespan_messages.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._lifespan_task])

    async def _run_lifespan(self) -> None:
        """Run the lifespan protocol. An application that returns at once or fails does not support it and works
        without.
        """
        with suppress(Exception):
            await self._app(
                {"type": "lifespan", "asgi": _ASGI, "state": self.state},
                self._lifespan_messages.get,
                self._on_lifespan_message,
            )
        if not self._started.done():
            self._started.set_result(None)

    async def _on_lifespan_message(self, message: Message) -> None:
        """Handle a lifespan message of the application."""
        if self._started.done():
            return
        if message["type"] == "lifespan.startup.failed":
            AppLifespan._instances.pop(id(self._app), None)
            last_line = message.get("message", "").strip().rpartition("\n")[2]
            self._started.set_exception(
                InfrastructureError(f"the application does not start: {last_line}", reason="failed")
            )
        else:
            self._started.set_result(None)


class _AsgiExchange:
    """One request and its response, as the application sees them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: bytes | None, timeout: float) -> None:
        self._loop, self._timeout = loop, timeout
        self._body: bytes | None = body or b""
        self._disconnected = asyncio.Event()
        self._status, self._pieces = 0, list[bytes]()
        self._fields: HeaderList = []
        self.response: asyncio.Future[tuple[int, HeaderList, bytes]] = loop.create_future()
        """Future of status, headers and body; its exception is an httpx error."""
        self._deadline = loop.time() + timeout
        self._timer = loop.call_at(self._deadline, self._check_deadline)

    async def run(self, app: Application, scope: Message) -> None:
        """Run the application for this request."""
        try:
            await app(scope, self._receive, self._send)
            self.fail(httpx.RemoteProtocolError("the application returned before its response was complete"))
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            self.fail(httpx.ReadError("the application was stopped"))
            raise
        except BaseException as error:  # a panic of a Rust library is not an `Exception`
            failure = httpx.RemoteProtocolError(f"the application failed: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self.fail(failure)

    def disconnect(self) -> None:
        """Tell the application that the client has disconnected."""
        self._timer.cancel()
        self._disconnected.set()

    def fail(self, error: httpx.RequestError) -> None:
        """End the request with an error unless it has a response."""
        if not self.response.done():
            self.response.set_exception(error)

    async def _receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self._deadline = self._loop.time() + self._timeout
        if message["type"] == "http.response.start":
            self._status, self._fields = message["status"], list(message.get("headers", ()))
            return
        self._pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            self._disconnected.set()
            if not self.response.done():
                self.response.set_result((self._status, self._fields, b"".join(self._pieces)))

    def _check_deadline(self) -> None:
        """Fail the request if nothing was sent until the deadline, else check again at the new deadline."""
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)
        else:
            self.fail(httpx.ReadTimeout(f"no data for {self._timeout:g} seconds"))
