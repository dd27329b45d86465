"""Episodes over plain HTTP, for trainers in any language: `POST /reset`, `/step` and `/close` with JSON.

The gold answers of the task file stay in the server; no response contains them. An episode is kept until it is closed,
or unused for too long.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webemu.agent_client.errors import WebError
from webemu.rl.adapters.environment_config import Place, leave, result, unpacked
from webemu.rl.environment import AsyncEpisode
from webemu.rl.state import Observation
from webemu.rl.tasks import Task

MOST, IDLE = 4096, 1800.0
"""Default limit on concurrent episodes, and seconds after which an unused one is dropped."""
BODY = 1 << 20
"""Largest request body, in bytes."""


@dataclass(slots=True)
class Seat:
    """Running episode of a client."""

    episode: AsyncEpisode
    used: float = 0.0
    """Time of the last use (monotonic clock)."""
    earned: dict[str, Any] = field(default_factory=dict)
    """Reward and terms once the episode is done; empty before."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Serialises the calls of one episode."""


class Refused(Exception):
    """Request that cannot be served: the HTTP status, what is wrong, and what to do."""

    def __init__(self, status: int, message: str, action: str) -> None:
        super().__init__(message)
        self.status, self.message, self.action = status, message, action


class Seats:
    """Running episodes by name, with a limit on their number and idle time."""

    def __init__(self, tasks: Sequence[Task], place: Place, most: int = MOST, idle: float = IDLE) -> None:
        self.tasks, self._place, self._most, self._idle = {task.id: task for task in tasks}, place, most, idle
        self.kept: dict[str, Seat] = {}
        """Episodes by name, the least recently used first."""

    async def reset(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Start an episode and return its name, task, tools and first observation. Raises HttpError."""
        task, seed = self._task(asked), _seed(asked)
        name, seat = self._new()
        try:
            async with seat.turn:
                seen = await seat.episode.reset(task, seed)
                told = await _told(seat, seen)
        except BaseException:  # cancellation as well: the client never learns the name of this episode
            self.kept.pop(name, None)
            raise
        return {"episode": name, "task": task.id, "tools": list(seat.episode.tools)} | told

    async def step(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Make one tool call and return its observation. Raises HttpError if there is no such episode."""
        seat = self._seat(asked)
        async with seat.turn:
            return await _told(seat, await seat.episode.call(asked.get("tool"), asked.get("arguments")))

    async def close(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Drop an episode; closing one that is gone is no error."""
        return {"closed": self.kept.pop(str(asked.get("episode")), None) is not None}

    def _seat(self, asked: dict[str, Any]) -> Seat:
        """Return the slot of an episode and mark it as used. Raises HttpError if it is gone."""
        name = str(asked.get("episode"))
        seat = self.kept.pop(name, None)
        if seat is None:
            raise Refused(
                404, f"there is no episode {name[:80]!r}", "start one with POST /reset; idle ones are dropped"
            )
        self._keep(name, seat)
        return seat

    def _new(self) -> tuple[str, Seat]:
        """Drop idle episodes, then open a slot. Raises HttpError if the limit is reached."""
        since = time.monotonic() - self._idle
        # Slots are in order of use, so the idle ones are at the front.
        while self.kept and self.kept[first := next(iter(self.kept))].used < since:
            del self.kept[first]
        if len(self.kept) >= self._most:
            raise Refused(
                503,
                f"the limit of {self._most} concurrent episodes is reached",
                "end one with POST /close, or raise --most",
            )
        name, seat = secrets.token_hex(8), Seat(self._place.async_episode())
        self._keep(name, seat)
        return name, seat

    def _keep(self, name: str, seat: Seat) -> None:
        """Move a slot to the end, as the most recently used."""
        seat.used = time.monotonic()
        self.kept[name] = seat

    def _task(self, asked: dict[str, Any]) -> Task:
        """Return the task given in full or by id. Raises HttpError if it is malformed or unknown."""
        if "task" in asked:
            try:
                return unpacked(asked["task"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Refused(400, f"`task` is malformed ({error})", "send it as a line of a task file") from None
        if (name := str(asked.get("task_id"))) not in self.tasks:
            raise Refused(404, f"there is no task {name[:80]!r}", "GET /tasks lists them")
        return self.tasks[name]


def app(tasks: Sequence[Task], place: Place | None = None, most: int = MOST, idle: float = IDLE) -> Starlette:
    """Return the ASGI application. Run it in one process, because episodes live in its memory."""
    seats = Seats(tasks, place or Place(), most, idle)
    listed = [{"id": task.id, "split": task.split, "recipe": task.recipe, "hops": task.hops} for task in tasks]

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await leave()

    async def listing(_: Request) -> Response:
        return JSONResponse({"tasks": listed})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "episodes": len(seats.kept), "most": most})

    answers = {"/reset": seats.reset, "/step": seats.step, "/close": seats.close}
    posts = [Route(path, _answering(answer), methods=["POST"]) for path, answer in answers.items()]
    return Starlette(routes=[*posts, Route("/tasks", listing), Route("/health", health)], lifespan=life)


def _answering(
    answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a registry method as an endpoint that reads and answers JSON."""

    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await answer(await _asked(request)))
        except Refused as error:
            return JSONResponse({"error": error.message, "action": error.action}, error.status)
        except WebError as error:  # the session policy is invalid
            return JSONResponse({"error": error.message, "action": "correct the file given with --policy"}, 500)

    return respond


async def bounded(request: Request, most: int) -> bytes:
    """Return the body of a request. Raises HttpError if it is larger than `limit` bytes."""
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        parts.append(part)
        if size > most:
            raise Refused(413, f"the body is larger than {most:,} bytes", "send a smaller body")
    return b"".join(parts)


async def _asked(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body. Raises HttpError if there is none."""
    body = await bounded(request, BODY)
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON", 'send {"task_id": …} or {"episode": …, "tool": …}') from None
    if not isinstance(asked, dict):
        raise Refused(400, "the body must be a JSON object", 'send {"task_id": …} or {"episode": …, "tool": …}')
    return asked


def _seed(asked: dict[str, Any]) -> int:
    """Return the `seed` parameter, 0 by default. Raises HttpError if it is no integer."""
    seed = asked.get("seed") or 0
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise Refused(400, "`seed` must be a whole number", "send an integer such as 0, or leave it out")
    return seed


async def _told(seat: Seat, seen: Observation) -> dict[str, Any]:
    """Return an observation as JSON, with reward and terms once the episode is done."""
    if seat.episode.done and not seat.earned:
        seat.earned = result(await seat.episode.record())
    return {"observation": seen.text, "kind": seen.kind, "done": seat.episode.done} | seat.earned
