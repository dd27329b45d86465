"""Episodes over plain HTTP, for trainers in any language: `POST /reset`, `/step` and `/close` with JSON.

The gold answers of the task file stay in the server; no response contains them. An episode is kept until it is closed,
or unused for too long.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webemu.agent_client.errors import WebError
from webemu.rl.adapters.environment_config import (
    EnvironmentConfig,
    EpisodeResult,
    close_clients,
    unpack_task,
)
from webemu.rl.environment import AsyncEpisode
from webemu.rl.state import Observation
from webemu.rl.tasks import Task

MAX_EPISODES, IDLE_SECONDS = 4096, 1800.0
"""Default limit on concurrent episodes, and seconds after which an unused one is dropped."""
MAX_BODY_BYTES = 1 << 20
"""Largest request body, in bytes."""


@dataclass(slots=True)
class EpisodeSlot:
    """Running episode of a client."""

    episode: AsyncEpisode
    environment_config: EnvironmentConfig
    last_used: float = 0.0
    """Time of the last use (monotonic clock)."""
    outcome: EpisodeResult | None = None
    """Reward and terms once the episode is done; None before."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Serialises the calls of one episode."""


class HttpError(Exception):
    """Request that cannot be served: the HTTP status, what is wrong, and what to do."""

    def __init__(self, status: int, message: str, action: str) -> None:
        super().__init__(message)
        self.status, self.message, self.action = status, message, action


class EpisodeRegistry:
    """Running episodes by name, with a limit on their number and idle time."""

    def __init__(
        self,
        tasks: Sequence[Task],
        environment_config: EnvironmentConfig,
        max_episodes: int = MAX_EPISODES,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.tasks, self._environment_config, self._max_episodes, self._idle_seconds = (
            {task.id: task for task in tasks},
            environment_config,
            max_episodes,
            idle_seconds,
        )
        self.slots: dict[str, EpisodeSlot] = {}
        """Episodes by name, the least recently used first."""

    async def reset(self, params: Mapping[str, object]) -> dict[str, object]:
        """Start an episode and return its name, task, tools and first observation. Raises HttpError."""
        task, seed = self._find_task(params), _read_seed(params)
        name, slot = self._open_slot()
        try:
            async with slot.lock:
                observation = await slot.episode.reset(task, seed)
                observation_fields = await _observation_fields(slot, observation)
        except BaseException:  # cancellation as well: the client never learns the name of this episode
            self.slots.pop(name, None)
            raise
        return {"episode": name, "task": task.id, "tools": list(slot.episode.tools)} | observation_fields

    async def step(self, params: Mapping[str, object]) -> dict[str, object]:
        """Make one tool call and return its observation. Raises HttpError if there is no such episode."""
        slot = self._use_slot(params)
        async with slot.lock:
            return await _observation_fields(slot, await slot.episode.call(params.get("tool"), params.get("arguments")))

    async def close(self, params: Mapping[str, object]) -> dict[str, object]:
        """Drop an episode; closing one that is gone is no error."""
        return {"closed": self.slots.pop(str(params.get("episode")), None) is not None}

    def _use_slot(self, params: Mapping[str, object]) -> EpisodeSlot:
        """Return the slot of an episode and mark it as used. Raises HttpError if it is gone."""
        name = str(params.get("episode"))
        slot = self.slots.pop(name, None)
        if slot is None:
            raise HttpError(
                404, f"there is no episode {name[:80]!r}", "start one with POST /reset; idle ones are dropped"
            )
        self._mark_used(name, slot)
        return slot

    def _open_slot(self) -> tuple[str, EpisodeSlot]:
        """Drop idle episodes, then open a slot. Raises HttpError if the limit is reached."""
        oldest_allowed = time.monotonic() - self._idle_seconds
        # Slots are in order of use, so the idle ones are at the front.
        while self.slots and self.slots[oldest := next(iter(self.slots))].last_used < oldest_allowed:
            del self.slots[oldest]
        if len(self.slots) >= self._max_episodes:
            raise HttpError(
                503,
                f"the limit of {self._max_episodes} concurrent episodes is reached",
                "end one with POST /close, or raise --most",
            )
        name, slot = (
            secrets.token_hex(8),
            EpisodeSlot(self._environment_config.new_async_episode(), self._environment_config),
        )
        self._mark_used(name, slot)
        return name, slot

    def _mark_used(self, name: str, slot: EpisodeSlot) -> None:
        """Move a slot to the end, as the most recently used."""
        slot.last_used = time.monotonic()
        self.slots[name] = slot

    def _find_task(self, params: Mapping[str, object]) -> Task:
        """Return the task given in full or by id. Raises HttpError if it is malformed or unknown."""
        if "task" in params:
            try:
                return unpack_task(params["task"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise HttpError(400, f"`task` is malformed ({error})", "send it as a line of a task file") from None
        if (name := str(params.get("task_id"))) not in self.tasks:
            raise HttpError(404, f"there is no task {name[:80]!r}", "GET /tasks lists them")
        return self.tasks[name]


def build_app(
    tasks: Sequence[Task],
    environment_config: EnvironmentConfig | None = None,
    max_episodes: int = MAX_EPISODES,
    idle_seconds: float = IDLE_SECONDS,
) -> Starlette:
    """Return the ASGI application. Run it in one process, because episodes live in its memory."""
    registry = EpisodeRegistry(tasks, environment_config or EnvironmentConfig(), max_episodes, idle_seconds)
    task_rows = [{"id": task.id, "split": task.split, "recipe": task.recipe, "hops": task.hops} for task in tasks]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await close_clients()

    async def list_tasks(_: Request) -> Response:
        return JSONResponse({"tasks": task_rows})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "episodes": len(registry.slots), "most": max_episodes})

    handlers = {"/reset": registry.reset, "/step": registry.step, "/close": registry.close}
    posts = [Route(path, _json_endpoint(answer), methods=["POST"]) for path, answer in handlers.items()]
    return Starlette(routes=[*posts, Route("/tasks", list_tasks), Route("/health", health)], lifespan=lifespan)


def _json_endpoint(
    handler: Callable[[Mapping[str, object]], Awaitable[dict[str, object]]],
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a registry method as an endpoint that reads and answers JSON."""

    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await handler(await _read_params(request)))
        except HttpError as error:
            return JSONResponse({"error": error.message, "action": error.action}, error.status)
        except WebError as error:  # the session policy is invalid
            return JSONResponse({"error": error.message, "action": "correct the file given with --policy"}, 500)

    return respond


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of a request. Raises HttpError if it is larger than `limit` bytes."""
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        parts.append(part)
        if size > limit:
            raise HttpError(413, f"the body is larger than {limit:,} bytes", "send a smaller body")
    return b"".join(parts)


async def _read_params(request: Request) -> dict[str, object]:
    """Return the JSON object in the body. Raises HttpError if there is none."""
    body = await read_body(request, MAX_BODY_BYTES)
    try:
        params = json.loads(body)
    except (ValueError, RecursionError):
        raise HttpError(400, "the body is not JSON", 'send {"task_id": …} or {"episode": …, "tool": …}') from None
    if not isinstance(params, dict):
        raise HttpError(400, "the body must be a JSON object", 'send {"task_id": …} or {"episode": …, "tool": …}')
    return params


def _read_seed(params: Mapping[str, object]) -> int:
    """Return the `seed` parameter, 0 by default. Raises HttpError if it is no integer."""
    seed = params.get("seed") or 0
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise HttpError(400, "`seed` must be a whole number", "send an integer such as 0, or leave it out")
    return seed


async def _observation_fields(slot: EpisodeSlot, observation: Observation) -> dict[str, object]:
    """Return an observation as JSON, with reward and terms once the episode is done."""
    if slot.episode.done and slot.outcome is None:
        slot.outcome = await slot.environment_config.score_async(await slot.episode.record())
    observation_fields = {"observation": observation.text, "kind": observation.kind, "done": slot.episode.done}
    return {**observation_fields, **(slot.outcome or {})}
