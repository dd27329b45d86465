"""OpenEnv: an environment whose session lasts as long as a WebSocket, thousands of them in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from webemu.rl.adapters.environment_config import Place, result
from webemu.rl.tasks import Task

MOST = 4096
"""Default limit on concurrent sessions; OpenEnv's own default is 1."""


class SearchAction(Action):
    """Tool call of a model."""

    tool: Any = None
    """Name of the tool; the episode answers an unknown one."""
    arguments: Any = None
    """Arguments as the model wrote them, an object or JSON text; the episode answers malformed ones."""


class SearchObservation(Observation):
    """Observation of an episode.

    When `done`, `metadata` has `terms`, `masked` and `end`. `reward` is None before that, and for a masked episode.
    """

    text: str
    kind: str
    tools: list[dict[str, Any]] = Field(default_factory=list)
    """Tools in OpenAI's function format; filled by `reset` only."""


class SearchState(State):
    """State of a session: the task's id, and True in `done` once the episode is over."""

    task: str = ""
    done: bool = False


class SearchEnvironment(Environment[SearchAction, SearchObservation, SearchState]):
    """OpenEnv environment of one session."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, tasks: Sequence[Task], place: Place) -> None:
        super().__init__()
        self._tasks, self._place = {task.id: task for task in tasks}, place
        self._state = SearchState()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, task: str = "", **more: Any
    ) -> SearchObservation:
        """Start an episode of a task by its id and return the question. Raises KeyError if there is no such task."""
        chosen = self._tasks[task]
        self._episode = self._place.async_episode()
        self._state = SearchState(episode_id=episode_id, task=task)
        seen = await self._episode.reset(chosen, seed or 0)
        return await self._told(seen.text, seen.kind, list(self._episode.tools))

    async def step_async(self, action: SearchAction, timeout_s: float | None = None, **more: Any) -> SearchObservation:
        """Make one tool call and return its observation."""
        self._state.step_count += 1
        seen = await self._episode.call(action.tool, action.arguments)
        return await self._told(seen.text, seen.kind, [])

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> SearchObservation:
        """Refuse: the environment is asynchronous. Raises NotImplementedError."""
        raise NotImplementedError("call reset_async, as OpenEnv's server does")

    def step(self, action: SearchAction, timeout_s: float | None = None, **more: Any) -> SearchObservation:
        """Refuse: the environment is asynchronous. Raises NotImplementedError."""
        raise NotImplementedError("call step_async, as OpenEnv's server does")

    @property
    def state(self) -> SearchState:
        """State of the session."""
        return self._state

    async def _told(self, text: str, kind: str, tools: list[dict[str, Any]]) -> SearchObservation:
        self._state.done = self._episode.done
        if not self._episode.done:
            return SearchObservation(text=text, kind=kind, tools=tools)
        earned = result(await self._episode.record())
        return SearchObservation(
            text=text, kind=kind, tools=tools, done=True, reward=earned.pop("reward"), metadata=earned
        )


def app(tasks: Sequence[Task], place: Place | None = None, most: int = MOST) -> Any:
    """Return the ASGI application with `/ws`, `/schema` and `/health`.

    uvicorn.run(build_app(load("tasks.jsonl"), EnvironmentConfig("http://127.0.0.1:8800")))
    """
    where = place or Place()
    return create_app(
        lambda: SearchEnvironment(tasks, where),
        SearchAction,
        SearchObservation,
        env_name="webemu",
        max_concurrent_envs=most,
        state_cls=SearchState,
    )
