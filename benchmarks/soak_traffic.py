"""Simulated clients of `benchmarks.soak`: their requests, their connections, and what they observe.

A client asks, waits, asks again, and now and then opens a new connection. If a connection ends during a request, it is
replaced and the request sent again, and both are counted. Of an answer a digest of status, type and body is kept.
Pages of the kind `connect` are read as browsers read them through a proxy: CONNECT, TLS, and a request in the tunnel.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from httptools import HttpResponseParser

RETRIES = 40
"""Attempts at one request before it counts as lost."""
RETRY_SECONDS = 0.1
"""Seconds before a request is sent again."""
TIMEOUT_SECONDS = 60.0
"""Seconds to wait for an answer."""
MAX_REQUESTS_PER_CONNECTION = 60
"""Greatest number of requests on one connection."""
SESSION_STEPS = 4
"""Requests of one session."""


class SoakRequest(NamedTuple):
    """A request that any client may send."""

    kind: str
    """Key of `KIND_WEIGHTS`, or `open` or `account` of a session."""
    place_label: str
    """Value of the label `place` under which the server counts it."""
    request_bytes: bytes
    """Bytes of the request."""
    tunnel_host: str = ""
    """Host to which the request goes through CONNECT and TLS; empty for a plain connection."""


class SoakAnswer(NamedTuple):
    """An answer as it is kept."""

    status: int
    snapshot: str
    """Snapshot that the answer names; empty if it names none."""
    digest: bytes
    """Hash of status, content type and body."""
    body: bytes


def build_get(kind: str, place_label: str, target: str, host: str = "webemu") -> SoakRequest:
    """Return a GET request."""
    return SoakRequest(kind, place_label, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


def build_post(kind: str, place_label: str, target: str, body: object) -> SoakRequest:
    """Return a POST request with a JSON body."""
    encoded_body = json.dumps(body).encode()
    head = f"POST {target} HTTP/1.1\r\nHost: webemu\r\nContent-Type: application/json\r\n"
    return SoakRequest(kind, place_label, f"{head}Content-Length: {len(encoded_body)}\r\n\r\n".encode() + encoded_body)


def build_mcp_call(name: str, arguments: dict[str, str]) -> SoakRequest:
    """Return a call of an MCP tool over Streamable HTTP."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return build_post("mcp", "mcp", "/mcp", call)


def build_requests(queries: Sequence[str], urls: Sequence[str]) -> dict[str, list[SoakRequest]]:
    """Return all requests that clients may send, by kind."""
    encoded_queries = [quote(query) for query in queries]
    encoded_urls = [quote(url, safe="") for url in urls]
    groups = [list(queries[start : start + 16]) for start in range(0, len(queries), 16)]
    return {
        "search": [build_get("search", "/v1/search", f"/v1/search?q={query}") for query in encoded_queries],
        "text": [build_get("text", "/v1/fetch", f"/v1/fetch?url={url}") for url in encoded_urls],
        "raw": [build_get("raw", "/v1/fetch", f"/v1/fetch?format=raw&url={url}") for url in encoded_urls],
        "find": [build_get("find", "/v1/find", f"/v1/find?pattern=the&url={url}") for url in encoded_urls],
        "retrieve": [
            build_post("retrieve", "search-r1", "/retrieve", {"queries": group, "topk": 3}) for group in groups
        ],
        "serper": [build_post("serper", "serper", "/serper/search", {"q": query}) for query in queries],
        "tavily": [build_post("tavily", "tavily", "/tavily/search", {"query": query}) for query in queries],
        "web": [build_get("web", "the web", url, urlsplit(url).netloc) for url in urls],
        "mcp": [build_mcp_call("search", {"query": query}) for query in queries]
        + [build_mcp_call("fetch", {"id": url}) for url in urls],
        "proxy": [
            build_get("proxy", "the web", f"http://{urlsplit(url).netloc}{_target(url)}", urlsplit(url).netloc)
            for url in urls
        ],
        "connect": [
            build_get("connect", "the web", _target(url), host)._replace(tunnel_host=host)
            for url in urls
            if (host := urlsplit(url).netloc)
        ],
    }


def _target(url: str) -> str:
    """Return the path and query of a URL."""
    return urlsplit(url)._replace(scheme="", netloc="", fragment="").geturl() or "/"


KIND_WEIGHTS = {
    "search": 25, "text": 20, "raw": 5, "find": 5, "retrieve": 3, "serper": 7, "tavily": 5, "web": 8, "mcp": 12,
    "proxy": 5, "connect": 5,
}  # fmt: skip
"""Weights of the kinds of requests."""
SESSION_PERCENT = 7
"""Percentage of turns that are a whole session."""


class Connection(asyncio.Protocol):
    """A connection that carries one request after the other."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._pending_answer: asyncio.Future[SoakAnswer] | None = None
        self._pending_tunnel: asyncio.Future[bytes] | None = None
        self._reset()
        self.is_open = False
        self.port = 0
        """Client's port, by which the server process at the other end is found."""
        self.answer_count = 0
        """Answers received so far."""
        self.requests_left = MAX_REQUESTS_PER_CONNECTION
        """Requests left until the connection is replaced."""

    async def send(self, request_bytes: bytes) -> SoakAnswer:
        """Send a request and return its answer. Raises ConnectionError and TimeoutError."""
        self._pending_answer = asyncio.get_running_loop().create_future()
        self._transport.write(request_bytes)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self._pending_answer

    async def open_tunnel(self, host: str, tls: ssl.SSLContext) -> None:
        """Open a tunnel to a host, and TLS in it. Raises ConnectionError, TimeoutError and ssl.SSLError."""
        loop = asyncio.get_running_loop()
        self._pending_tunnel = loop.create_future()
        self._transport.write(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        async with asyncio.timeout(TIMEOUT_SECONDS):
            head = await self._pending_tunnel
            if not head.startswith(b"HTTP/1.1 200 "):
                raise ConnectionError(f"CONNECT was answered {head[:80]!r}")
            transport = await loop.start_tls(self._transport, self, tls, server_hostname=host)
        if transport is None:
            raise ConnectionResetError("the connection ended in the handshake")
        self._transport = transport

    def close(self) -> None:
        """Drop the connection."""
        self.is_open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and the client's port."""
        self._transport = transport  # type: ignore[assignment]
        self.port = transport.get_extra_info("sockname")[1]
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Parse what came; the answer to CONNECT comes in one piece."""
        if self._pending_tunnel and not self._pending_tunnel.done():
            self._pending_tunnel.set_result(data)
        else:
            self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending request."""
        self.is_open = False
        for pending in (self._pending_tunnel, self._pending_answer):
            if pending and not pending.done():
                pending.set_exception(ConnectionResetError("the connection ended"))

    def _reset(self) -> None:
        """Forget the last answer."""
        self._snapshot = self._type = b""
        self._body_parts: list[bytes] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are compared. Called by the parser."""
        lower = name.lower()
        if lower == b"x-webemu-snapshot":
            self._snapshot = value
        elif lower == b"content-type":
            self._type = value

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body. Called by the parser."""
        self._body_parts.append(body)

    def on_message_complete(self) -> None:
        """Hand out the answer. Called by the parser."""
        status, body = self._parser.get_status_code(), b"".join(self._body_parts)
        digest = blake2b(b"%d %s " % (status, self._type) + body, digest_size=12).digest()
        answer = SoakAnswer(status, self._snapshot.decode(), digest, body)
        self.is_open = self.is_open and self._parser.should_keep_alive()
        self._reset()
        self.answer_count += 1
        if self._pending_answer and not self._pending_answer.done():
            self._pending_answer.set_result(answer)


async def open_connection(port: int, tunnel_host: str = "", tls: ssl.SSLContext | None = None) -> Connection:
    """Return a new connection to the server, or one through it to a host, if one is given with a TLS context."""
    connection = (await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port))[1]
    if tunnel_host and tls:
        await connection.open_tunnel(tunnel_host, tls)
    return connection


@dataclass
class ClientObservations:
    """Observations of all clients."""

    digests: dict[tuple[SoakRequest, str], set[bytes]] = field(default_factory=dict)
    """Digests of answers, by request and by the snapshot that the answer names.

    More than one digest under a key shows an answer mixed from two snapshots, unless the answer names none.
    """
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of answers by place and status."""
    broken_requests: list[tuple[float, int]] = field(default_factory=list)
    """Requests whose connection ended: (seconds since the epoch, client's port)."""
    lost_requests: list[str] = field(default_factory=list)
    """Requests for which all attempts failed."""
    errors: Counter[str] = field(default_factory=Counter)
    """Answers that report a server error or a refusal, with their number."""
    session_count: int = 0
    """Sessions that were completed."""
    wrong_snapshot_count: int = 0
    """Answers within sessions from a snapshot other than the session's."""
    miscounted_sessions: list[str] = field(default_factory=list)
    """Sessions whose account does not fit their requests."""
    seconds_by_kind: dict[str, array[float]] = field(default_factory=dict)
    """Times of answers by kind of request, retries included."""
    answered_at: array[float] = field(default_factory=lambda: array("d"))
    """Times at which answers came, in seconds since the epoch."""
    answer_seconds: array[float] = field(default_factory=lambda: array("d"))
    """Seconds that each of these answers took, retries included."""
    first_seen_times: dict[str, float] = field(default_factory=dict)
    """Time at which each snapshot was first seen since the last switch to it."""

    def record_answer(self, request: SoakRequest, answer: SoakAnswer, seconds: float) -> None:
        """Record an answer and its time in seconds."""
        self.statuses[request.place_label, answer.status] += 1
        self.seconds_by_kind.setdefault(request.kind, array("d")).append(seconds)
        self.answered_at.append(time.time())
        self.answer_seconds.append(seconds)
        if answer.status >= 500 or answer.status == 429:
            self.errors[f"{answer.status} to {request.kind}: {answer.body[:200]!r}"] += 1
        elif request.kind not in ("open", "account"):
            self.digests.setdefault((request, answer.snapshot), set()).add(answer.digest)
        self.first_seen_times.setdefault(answer.snapshot, time.time())


class SimulatedClient:
    """One of many clients that share their observations."""

    def __init__(
        self,
        number: int,
        port: int,
        requests_by_kind: dict[str, list[SoakRequest]],
        observations: ClientObservations,
        connections: set[Connection],
        tls: ssl.SSLContext,
    ) -> None:
        self._random = Random(number)
        self._port, self._tls, self._requests_by_kind = port, tls, requests_by_kind
        self._observations, self._connections = observations, connections
        self._kinds, self._weights = list(KIND_WEIGHTS), list(KIND_WEIGHTS.values())
        self._connection: Connection | None = None
        self._host = ""
        """Host at the other end of the connection's tunnel."""
        self._retry_count = 0

    async def run(self, is_over: Callable[[], bool], pause: float) -> None:
        """Ask until the run is over, with an average of `pause` seconds between requests."""
        await asyncio.sleep(self._random.random() * pause)
        while not is_over():
            if self._random.random() * 100 < SESSION_PERCENT:
                await self._run_session(pause)
            else:
                await self._send_with_retries(self._draw_request())
            await asyncio.sleep(self._random.expovariate(1 / pause))
        self._close_connection()

    def _draw_request(self) -> SoakRequest:
        """Draw a request. Within a kind, those at the front of the list are drawn more often (Zipf's law)."""
        candidates = self._requests_by_kind[self._random.choices(self._kinds, self._weights)[0]]
        return candidates[int(len(candidates) ** self._random.random()) - 1]

    async def _run_session(self, pause: float) -> None:
        """Open a session, search and read in it, and compare its account with what was asked."""
        opening = await self._send_with_retries(build_post("open", "/v1/sessions", "/v1/sessions", {"task": "soak"}))
        if opening is None or opening.status != 201:
            return
        session, retries, answer_count = json.loads(opening.body)["session"], self._retry_count, 0
        for step in range(SESSION_STEPS):
            request = self._random.choice(self._requests_by_kind["search" if step % 2 == 0 else "text"])
            answer = await self._send_with_retries(
                request, request.request_bytes.replace(b"GET /", b"GET /s/%s/" % session.encode(), 1)
            )
            if answer and answer.status == 200:
                answer_count += 1
                self._observations.wrong_snapshot_count += answer.snapshot != opening.snapshot
            await asyncio.sleep(self._random.expovariate(1 / pause))
        account = await self._send_with_retries(build_get("account", "/v1/sessions", f"/v1/sessions/{session}"))
        self._observations.session_count += 1
        if account and account.status == 200:
            counted_steps = json.loads(account.body)["steps"]
            if not answer_count <= counted_steps <= SESSION_STEPS + self._retry_count - retries:
                self._observations.miscounted_sessions.append(f"{session}: {counted_steps} steps")

    async def _send_with_retries(self, request: SoakRequest, request_bytes: bytes = b"") -> SoakAnswer | None:
        """Send a request until it is answered. Return the answer, or None if all attempts failed."""
        started = time.perf_counter()
        for _ in range(RETRIES):
            try:
                connection = await self._get_connection(request.tunnel_host)
                answer = await connection.send(request_bytes or request.request_bytes)
            except (OSError, TimeoutError) as error:
                self._observations.broken_requests.append(
                    (time.time(), self._connection.port if self._connection else 0)
                )
                self._retry_count += 1
                self._close_connection()
                last_error = repr(error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            connection.requests_left -= 1
            self._observations.record_answer(request, answer, time.perf_counter() - started)
            return answer
        self._observations.lost_requests.append(f"{request.kind}: {last_error}")
        return None

    async def _get_connection(self, tunnel_host: str) -> Connection:
        """Return an open connection, a new one if the current one is used up or leads elsewhere."""
        connection = self._connection
        if connection is not None and connection.is_open and connection.requests_left and self._host == tunnel_host:
            return connection
        self._close_connection()
        self._connection = connection = await open_connection(self._port, tunnel_host, self._tls)
        self._host = tunnel_host
        connection.requests_left = self._random.randint(MAX_REQUESTS_PER_CONNECTION // 3, MAX_REQUESTS_PER_CONNECTION)
        self._connections.add(connection)
        return connection

    def _close_connection(self) -> None:
        """Close the connection, if there is one."""
        if self._connection:
            self._connection.close()
            self._connections.discard(self._connection)
            self._connection = None
