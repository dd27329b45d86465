"""verl: native tools that share one episode per trajectory, the reward of that episode, and dataset rows.

verl makes and releases a tool object for each call, so the episode is attached to the trajectory (`agent_data`). Its
score goes into the trajectory's extra fields, which verl passes to `compute_score`. verl itself answers unknown tools
and broken JSON. A score must be a number: a masked episode scores 0 and sets `masked`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from webemu.rl.adapters.environment_config import EnvironmentConfig, episode_result, pack_task, unpack_task
from webemu.rl.arguments import list_tools
from webemu.rl.chat import answer_rules
from webemu.rl.environment import AsyncEpisode
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import Task

EXTRA_FIELD = "webemu"
"""Extra field of a trajectory that holds the episode's score."""
TERM_NAMES = tuple(dict.fromkeys(term.name for term in (*SHORT.terms, *LONG.terms)))
"""Names of all reward terms; every row reports all of them, because verl wants equal keys."""
_TOOL_SCHEMAS = {tool["function"]["name"]: tool for tool in list_tools(has_user=True)}


class Trajectory:
    """Episode of one trajectory and its score. Parallel calls of a turn share it and are made one after another."""

    def __init__(self, episode: AsyncEpisode, kwargs: Mapping[str, Any]) -> None:
        self._episode, self._kwargs = episode, kwargs
        self._is_started, self._lock = False, asyncio.Lock()
        self.outcome: dict[str, Any] = {}

    async def call(self, name: str, arguments: Any) -> str:
        """Make one tool call, starting the episode at the first one; return the observation's text."""
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                await self._episode.reset(unpack_task(self._kwargs["task"]), int(self._kwargs.get("seed") or 0))
            observation = await self._episode.call(name, arguments)
            if self._episode.done and not self.outcome:
                self.outcome = episode_result(await self._episode.record())
            return observation.text


_TRAJECTORIES: WeakKeyDictionary[Any, Trajectory] = WeakKeyDictionary()
"""Episodes by verl's `AgentData`, dropped together with it."""


class EpisodeTool(BaseTool):
    """Tool of the episode, named by `config["tool"]`; `server`, `limits` and `policy` are those of
    `EnvironmentConfig`.
    """

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None) -> None:
        self._environment_config = EnvironmentConfig.from_config(config)
        schema = tool_schema or OpenAIFunctionToolSchema.model_validate(_TOOL_SCHEMAS[config["tool"]])
        self._create_kwargs: dict[str, Mapping[str, Any]] = {}
        super().__init__(config, schema)

    async def create(self, instance_id: str | None = None, **kwargs: Any) -> tuple[str, ToolResponse]:
        """Remember `create_kwargs`: the `task` and `seed` of the row's `tools_kwargs`."""
        name = instance_id or uuid4().hex
        self._create_kwargs[name] = kwargs["create_kwargs"]
        return name, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Make the call in the trajectory's episode; once it is done, attach its score to the trajectory."""
        agent_data = kwargs["agent_data"]
        trajectory = _TRAJECTORIES.get(agent_data)
        if trajectory is None:
            trajectory = _TRAJECTORIES[agent_data] = Trajectory(
                self._environment_config.new_async_episode(), self._create_kwargs[instance_id]
            )
        text = await trajectory.call(self.name, parameters)
        if trajectory.outcome:
            agent_data.extra_fields[EXTRA_FIELD] = trajectory.outcome
        return ToolResponse(text=text), 0.0, {}

    async def release(self, instance_id: str, **kwargs: Any) -> None:
        """Forget what `create` remembered."""
        self._create_kwargs.pop(instance_id, None)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, float]:
    """Return the episode's reward and terms, with the same keys for every row. An episode that never ended scores 0."""
    outcome = (extra_info or {}).get(EXTRA_FIELD) or {"reward": 0.0, "terms": {}, "masked": "", "end": ""}
    terms = {name: float(outcome["terms"].get(name) or 0.0) for name in TERM_NAMES}
    state = {"masked": float(bool(outcome["masked"])), "ended": float(bool(outcome["end"]))}
    return {"score": float(outcome["reward"] or 0.0)} | terms | state


def build_rows(tasks: Iterable[Task], seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of verl's Parquet files."""
    return [_build_row(number, task, seed) for number, task in enumerate(tasks)]


def _build_row(index: int, task: Task, seed: int) -> dict[str, Any]:
    tool_names = [tool["function"]["name"] for tool in list_tools(bool(task.user))]
    tool_kwargs = {"create_kwargs": {"task": pack_task(task), "seed": seed}}
    return {
        "data_source": "webemu",
        "agent_name": "tool_agent",
        "prompt": [{"role": "system", "content": answer_rules(task.answer_type)},
                   {"role": "user", "content": sanitize(task.question)}],
        "reward_model": {"style": "rule", "ground_truth": task.answers[0]},
        "extra_info": {
            "index": index, "task": pack_task(task), "need_tools_kwargs": True, "tool_selection": tool_names,
            "tools_kwargs": dict.fromkeys(tool_names, tool_kwargs),
        },
    }  # fmt: skip
