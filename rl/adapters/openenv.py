"""OpenEnv: an environment whose session lasts as long as a WebSocket, thousands of them in one process."""

from __future__ import annotations

from collections.abc import Sequence

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field
from starlette.applications import Starlette

from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.tasks import Task

MAX_SESSIONS = 4096
"""Default limit on concurrent sessions; OpenEnv's own default is 1."""


class SearchAction(Action):
    """Tool call of a model."""

    tool: object = None
    """Name of the tool; the episode answers an unknown one."""
    arguments: object = None
    """Arguments as the model wrote them, an object or JSON text; the episode answers malformed ones."""


class SearchObservation(Observation):
    """Observation of an episode.

    When `done`, `metadata` has `terms`, `masked` and `end`. `reward` is None before that, and for a masked episode.
    """

    text: str
    kind: str
    tools: list[dict[str, object]] = Field(default_factory=list)
    """Tools in OpenAI's function format; filled by `reset` only."""


class SearchState(State):
    """State of a session: the task's id, and True in `done` once the episode is over."""

    task: str = ""
    done: bool = False


class SearchEnvironment(Environment[SearchAction, SearchObservation, SearchState]):
    """OpenEnv environment of one session."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, tasks: Sequence[Task], environment_config: EnvironmentConfig) -> None:
        super().__init__()
        self._tasks, self._environment_config = {task.id: task for task in tasks}, environment_config
        self._state = SearchState()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, task: str = "", **more: object
    ) -> SearchObservation:
        """Start an episode of a task by its id and return the question. Raises KeyError if there is no such task."""
        selected_task = self._tasks[task]
        self._episode = self._environment_config.new_async_episode()
        self._state = SearchState(episode_id=episode_id, task=task)
        observation = await self._episode.reset(selected_task, seed or 0)
        return await self._make_observation(
            observation.text, observation.kind, [dict(one) for one in self._episode.tools]
        )

    async def step_async(
        self, action: SearchAction, timeout_s: float | None = None, **more: object
    ) -> SearchObservation:
        """Make one tool call and return its observation."""
        self._state.step_count += 1
        observation = await self._episode.call(action.tool, action.arguments)
        return await self._make_observation(observation.text, observation.kind, [])

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: object) -> SearchObservation:
        """Refuse: the environment is asynchronous. Raises NotImplementedError."""
        raise NotImplementedError("call reset_async, as OpenEnv's server does")

    def step(self, action: SearchAction, timeout_s: float | None = None, **more: object) -> SearchObservation:
        """Refuse: the environment is asynchronous. Raises NotImplementedError."""
        raise NotImplementedError("call step_async, as OpenEnv's server does")

    @property
    def state(self) -> SearchState:
        """State of the session."""
        return self._state

    async def _make_observation(self, text: str, kind: str, tools: list[dict[str, object]]) -> SearchObservation:
        self._state.done = self._episode.done
        if not self._episode.done:
            return SearchObservation(text=text, kind=kind, tools=tools)
        outcome = await self._environment_config.score_async(await self._episode.record())
        metadata = {name: value for name, value in outcome.items() if name != "reward"}
        return SearchObservation(
            text=text, kind=kind, tools=tools, done=True, reward=outcome["reward"], metadata=metadata
        )


def build_app(
    tasks: Sequence[Task], environment_config: EnvironmentConfig | None = None, max_sessions: int = MAX_SESSIONS
) -> Starlette:
    """Return the ASGI application with `/ws`, `/schema` and `/health`.

    uvicorn.run(build_app(load("tasks.jsonl"), EnvironmentConfig("http://127.0.0.1:8800")))
    """
    shared_config = environment_config or EnvironmentConfig()
    app: Starlette = create_app(
        lambda: SearchEnvironment(tasks, shared_config),
        SearchAction,
        SearchObservation,
        env_name="webemu",
        max_concurrent_envs=max_sessions,
        state_cls=SearchState,
    )
    return app
