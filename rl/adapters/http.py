"""Episodes over plain HTTP, for trainers in any language: `POST /reset`, `/step` and `/close`, with JSON.

Knows the gold of its task file and tells none of it. Episodes are kept until they are closed, or idle for too long.
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
"""Episodes that are kept at once, and the seconds after which one that nobody asks for is forgotten."""
BODY = 1 << 20


@dataclass(slots=True)
class Seat:
    episode: AsyncEpisode
    used: float = 0.0
    """When, by the monotonic clock."""
    earned: dict[str, Any] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One call goes at a time."""


class Refused(Exception):
    """A request that cannot be served: status, what is wrong, what to do."""

    def __init__(self, status: int, message: str, action: str) -> None:
        super().__init__(message)
        self.status, self.message, self.action = status, message, action


class Seats:
    """The episodes that go on."""

    def __init__(self, tasks: Sequence[Task], place: Place, most: int = MOST, idle: float = IDLE) -> None:
        self.tasks, self._place, self._most, self._idle = {task.id: task for task in tasks}, place, most, idle
        self.kept: dict[str, Seat] = {}
        """By name, the one used longest ago first."""

    async def reset(self, asked: dict[str, Any]) -> dict[str, Any]:
        task, seed = self._task(asked), _seed(asked)
        name, seat = self._new()
        try:
            async with seat.turn:
                seen = await seat.episode.reset(task, seed)
                told = await _told(seat, seen)
        except BaseException:
            self.kept.pop(name, None)
            raise
        return {"episode": name, "task": task.id, "tools": list(seat.episode.tools)} | told

    async def step(self, asked: dict[str, Any]) -> dict[str, Any]:
        seat = self._seat(asked)
        async with seat.turn:
            return await _told(seat, await seat.episode.call(asked.get("tool"), asked.get("arguments")))

    async def close(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Closing twice is no error."""
        return {"closed": self.kept.pop(str(asked.get("episode")), None) is not None}

    def _seat(self, asked: dict[str, Any]) -> Seat:
        name = str(asked.get("episode"))
        seat = self.kept.pop(name, None)
        if seat is None:
            raise Refused(404, f"there is no episode {name[:80]!r}", "POST /reset begins one; idle ones are forgotten")
        self._keep(name, seat)
        return seat

    def _new(self) -> tuple[str, Seat]:
        since = time.monotonic() - self._idle
        while self.kept and self.kept[first := next(iter(self.kept))].used < since:
            del self.kept[first]
        if len(self.kept) >= self._most:
            raise Refused(503, f"{self._most} episodes go on", "POST /close ends one; --most allows more")
        name, seat = secrets.token_hex(8), Seat(self._place.async_episode())
        self._keep(name, seat)
        return name, seat

    def _keep(self, name: str, seat: Seat) -> None:
        seat.used = time.monotonic()
        self.kept[name] = seat

    def _task(self, asked: dict[str, Any]) -> Task:
        if "task" in asked:
            try:
                return unpacked(asked["task"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Refused(400, f"`task` is not a task ({error})", "give it as a line of a task file") from None
        if (name := str(asked.get("task_id"))) not in self.tasks:
            raise Refused(404, f"there is no task {name[:80]!r}", "GET /tasks lists them")
        return self.tasks[name]


def app(tasks: Sequence[Task], place: Place | None = None, most: int = MOST, idle: float = IDLE) -> Starlette:
    """The application, for one worker of uvicorn."""
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
    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await answer(await _asked(request)))
        except Refused as error:
            return JSONResponse({"error": error.message, "action": error.action}, error.status)
        except WebError as error:  # a policy that is none
            return JSONResponse({"error": error.message, "action": "see the policy that the command was given"}, 500)

    return respond


async def bounded(request: Request, most: int) -> bytes:
    """The body of a request. Raises Refused where it is larger than `most` bytes."""
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        parts.append(part)
        if size > most:
            raise Refused(413, f"the body is larger than {most:,} bytes", "send less")
    return b"".join(parts)


async def _asked(request: Request) -> dict[str, Any]:
    body = await bounded(request, BODY)
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON", 'send {"task_id": …} or {"episode": …, "tool": …}') from None
    if not isinstance(asked, dict):
        raise Refused(400, "the body must be a JSON object", 'send {"task_id": …} or {"episode": …, "tool": …}')
    return asked


def _seed(asked: dict[str, Any]) -> int:
    seed = asked.get("seed") or 0
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise Refused(400, "`seed` must be a whole number", "the same seed gives the same weather")
    return seed


async def _told(seat: Seat, seen: Observation) -> dict[str, Any]:
    if seat.episode.done and not seat.earned:
        seat.earned = result(await seat.episode.record())
    return {"observation": seen.text, "kind": seen.kind, "done": seat.episode.done} | seat.earned
