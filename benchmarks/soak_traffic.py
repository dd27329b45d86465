"""Simulated clients of `benchmarks.soak`: their requests, their connections, and what they observe.

A client asks, waits, asks again, and now and then opens a new connection. If a connection ends during a request, it is
replaced and the request sent again, and both are counted. Of an answer a digest of status, type and body is kept.
"""

from __future__ import annotations

import asyncio
import json
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
PAUSE = 0.1
"""Seconds before a request is sent again."""
TIMEOUT = 60.0
"""Seconds to wait for an answer."""
RENEWED = 60
"""Greatest number of requests on one connection."""
STEPS = 4
"""Requests of one session."""


class Ask(NamedTuple):
    """A request that any client may send."""

    kind: str
    """Key of `KIND_WEIGHTS`, or `open` or `account` of a session."""
    place: str
    """Value of the label `place` under which the server counts it."""
    sent: bytes
    """Bytes of the request."""


class Answered(NamedTuple):
    """An answer as it is kept."""

    status: int
    snapshot: str
    """Snapshot that the answer names; empty if it names none."""
    digest: bytes
    """Hash of status, content type and body."""
    body: bytes


def get(kind: str, place: str, target: str, host: str = "webemu") -> Ask:
    """Return a GET request."""
    return Ask(kind, place, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


def post(kind: str, place: str, target: str, body: object) -> Ask:
    """Return a POST request with a JSON body."""
    told = json.dumps(body).encode()
    head = f"POST {target} HTTP/1.1\r\nHost: webemu\r\nContent-Type: application/json\r\n"
    return Ask(kind, place, f"{head}Content-Length: {len(told)}\r\n\r\n".encode() + told)


def asks(queries: Sequence[str], urls: Sequence[str]) -> dict[str, list[Ask]]:
    """Return all requests that clients may send, by kind."""
    searched = [quote(query) for query in queries]
    named = [quote(url, safe="") for url in urls]
    groups = [list(queries[at : at + 16]) for at in range(0, len(queries), 16)]
    return {
        "search": [get("search", "/v1/search", f"/v1/search?q={query}") for query in searched],
        "text": [get("text", "/v1/fetch", f"/v1/fetch?url={url}") for url in named],
        "raw": [get("raw", "/v1/fetch", f"/v1/fetch?format=raw&url={url}") for url in named],
        "find": [get("find", "/v1/find", f"/v1/find?pattern=the&url={url}") for url in named],
        "retrieve": [post("retrieve", "search-r1", "/retrieve", {"queries": group, "topk": 3}) for group in groups],
        "serper": [post("serper", "serper", "/serper/search", {"q": query}) for query in queries],
        "tavily": [post("tavily", "tavily", "/tavily/search", {"query": query}) for query in queries],
        "web": [get("web", "the web", url, urlsplit(url).netloc) for url in urls],
    }


SHARES = {"search": 30, "text": 25, "raw": 5, "find": 5, "retrieve": 3, "serper": 5, "tavily": 5, "web": 15}
"""Weights of the kinds of requests."""
SESSIONS = 7
"""Percentage of turns that are a whole session."""


class Line(asyncio.Protocol):
    """A connection that carries one request after the other."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._waiting: asyncio.Future[Answered] | None = None
        self._begin()
        self.is_open = False
        self.port = 0
        """Client's port, by which the server process at the other end is found."""
        self.answered = 0
        """Answers received so far."""
        self.left = RENEWED
        """Requests left until the connection is replaced."""

    async def ask(self, sent: bytes) -> Answered:
        """Send a request and return its answer. Raises ConnectionError and TimeoutError."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(sent)
        async with asyncio.timeout(TIMEOUT):
            return await self._waiting

    def close(self) -> None:
        """Drop the connection."""
        self.is_open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and the client's port."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.port = transport.get_extra_info("sockname")[1]
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending request."""
        self.is_open = False
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError("the connection ended"))

    def _begin(self) -> None:
        """Forget the last answer."""
        self._snapshot = self._type = b""
        self._pieces: list[bytes] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are compared. Called by the parser."""
        lower = name.lower()
        if lower == b"x-webemu-snapshot":
            self._snapshot = value
        elif lower == b"content-type":
            self._type = value

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body. Called by the parser."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Hand out the answer. Called by the parser."""
        status, body = self._parser.get_status_code(), b"".join(self._pieces)
        digest = blake2b(b"%d %s " % (status, self._type) + body, digest_size=12).digest()
        answered = Answered(status, self._snapshot.decode(), digest, body)
        self.is_open = self.is_open and self._parser.should_keep_alive()
        self._begin()
        self.answered += 1
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(answered)


async def opened(port: int) -> Line:
    """Return a new connection to the server."""
    return (await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port))[1]


@dataclass
class Seen:
    """Observations of all clients."""

    digests: dict[tuple[Ask, str], set[bytes]] = field(default_factory=dict)
    """Digests of answers, by request and by the snapshot that the answer names.

    More than one digest under a key shows an answer mixed from two snapshots, unless the answer names none.
    """
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of answers by place and status."""
    resets: list[tuple[float, int]] = field(default_factory=list)
    """Requests whose connection ended: (seconds since the epoch, client's port)."""
    lost: list[str] = field(default_factory=list)
    """Requests for which all attempts failed."""
    errors: Counter[str] = field(default_factory=Counter)
    """Answers that report a server error or a refusal, with their number."""
    sessions: int = 0
    """Sessions that were completed."""
    moved: int = 0
    """Answers within sessions from a snapshot other than the session's."""
    miscounted: list[str] = field(default_factory=list)
    """Sessions whose account does not fit their requests."""
    seconds: dict[str, array[float]] = field(default_factory=dict)
    """Times of answers by kind of request, retries included."""
    met: dict[str, float] = field(default_factory=dict)
    """Time at which each snapshot was first seen since the last switch to it."""

    def note(self, ask: Ask, answered: Answered, seconds: float) -> None:
        """Record an answer and its time in seconds."""
        self.statuses[ask.place, answered.status] += 1
        self.seconds.setdefault(ask.kind, array("d")).append(seconds)
        if answered.status >= 500 or answered.status == 429:
            self.errors[f"{answered.status} to {ask.kind}: {answered.body[:200]!r}"] += 1
        elif ask.kind not in ("open", "account"):
            self.digests.setdefault((ask, answered.snapshot), set()).add(answered.digest)
        self.met.setdefault(answered.snapshot, time.time())


class Guest:
    """One of many clients that share their observations."""

    def __init__(self, number: int, port: int, mix: dict[str, list[Ask]], seen: Seen, lines: set[Line]) -> None:
        self._random = Random(number)
        self._port, self._mix, self._seen, self._lines = port, mix, seen, lines
        self._kinds, self._shares = list(SHARES), list(SHARES.values())
        self._line: Line | None = None
        self._retries = 0

    async def stay(self, is_over: Callable[[], bool], pause: float) -> None:
        """Ask until the run is over, with an average of `pause` seconds between requests."""
        await asyncio.sleep(self._random.random() * pause)
        while not is_over():
            if self._random.random() * 100 < SESSIONS:
                await self._session(pause)
            else:
                await self._ask(self._drawn())
            await asyncio.sleep(self._random.expovariate(1 / pause))
        self._leave()

    def _drawn(self) -> Ask:
        """Draw a request. Within a kind, those at the front of the list are drawn more often (Zipf's law)."""
        of_kind = self._mix[self._random.choices(self._kinds, self._shares)[0]]
        return of_kind[int(len(of_kind) ** self._random.random()) - 1]

    async def _session(self, pause: float) -> None:
        """Open a session, search and read in it, and compare its account with what was asked."""
        told = await self._ask(post("open", "/v1/sessions", "/v1/sessions", {"task": "soak"}))
        if told is None or told.status != 201:
            return
        session, retries, answers = json.loads(told.body)["session"], self._retries, 0
        for step in range(STEPS):
            ask = self._random.choice(self._mix["search" if step % 2 == 0 else "text"])
            answered = await self._ask(ask, ask.sent.replace(b"GET /", b"GET /s/%s/" % session.encode(), 1))
            if answered and answered.status == 200:
                answers += 1
                self._seen.moved += answered.snapshot != told.snapshot
            await asyncio.sleep(self._random.expovariate(1 / pause))
        account = await self._ask(get("account", "/v1/sessions", f"/v1/sessions/{session}"))
        self._seen.sessions += 1
        if account and account.status == 200:
            counted = json.loads(account.body)["steps"]
            if not answers <= counted <= STEPS + self._retries - retries:
                self._seen.miscounted.append(f"{session}: {counted} steps")

    async def _ask(self, ask: Ask, sent: bytes = b"") -> Answered | None:
        """Send a request until it is answered. Return the answer, or None if all attempts failed."""
        started = time.perf_counter()
        for _ in range(RETRIES):
            try:
                line = await self._ready()
                answered = await line.ask(sent or ask.sent)
            except (OSError, TimeoutError) as error:
                self._seen.resets.append((time.time(), self._line.port if self._line else 0))
                self._retries += 1
                self._leave()
                last = repr(error)
                await asyncio.sleep(PAUSE)
                continue
            line.left -= 1
            self._seen.note(ask, answered, time.perf_counter() - started)
            return answered
        self._seen.lost.append(f"{ask.kind}: {last}")
        return None

    async def _ready(self) -> Line:
        """Return an open connection, a new one if the current one is used up."""
        if self._line is None or not self._line.is_open or not self._line.left:
            self._leave()
            self._line = await opened(self._port)
            self._line.left = self._random.randint(RENEWED // 3, RENEWED)
            self._lines.add(self._line)
        return self._line

    def _leave(self) -> None:
        """Close the connection, if there is one."""
        if self._line:
            self._line.close()
            self._lines.discard(self._line)
            self._line = None
