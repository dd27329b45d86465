"""verl: native tools that share one episode per trajectory, the reward of that episode, and rows.

verl makes and releases a tool for each call, so the episode lives with the trajectory (`agent_data`); what it earned
stands in the trajectory's extra fields, which `compute_score` is given. verl itself answers unknown tools and broken
JSON. A score must be a number: a masked episode scores 0 and says `masked`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from webemu.rl.adapters.environment_config import Place, packed, result, unpacked
from webemu.rl.arguments import tools
from webemu.rl.chat import rules
from webemu.rl.environment import AsyncEpisode
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.sanitizing import neutral
from webemu.rl.tasks import Task

FIELD = "webemu"
TERMS = tuple(dict.fromkeys(term.name for term in (*SHORT.terms, *LONG.terms)))
_LAWS = {tool["function"]["name"]: tool for tool in tools(has_user=True)}


class Trajectory:
    """One episode and what it earned. One call goes at a time: parallel calls of a turn share it."""

    def __init__(self, episode: AsyncEpisode, kwargs: Mapping[str, Any]) -> None:
        self._episode, self._kwargs = episode, kwargs
        self._begun, self._turn = False, asyncio.Lock()
        self.earned: dict[str, Any] = {}

    async def call(self, name: str, given: Any) -> str:
        async with self._turn:
            if not self._begun:
                self._begun = True
                await self._episode.reset(unpacked(self._kwargs["task"]), int(self._kwargs.get("seed") or 0))
            seen = await self._episode.call(name, given)
            if self._episode.done and not self.earned:
                self.earned = result(await self._episode.record())
            return seen.text


_TRAJECTORIES: WeakKeyDictionary[Any, Trajectory] = WeakKeyDictionary()
"""By verl's `AgentData`; gone with it."""


class EpisodeTool(BaseTool):
    """One of the episode's tools: `config["tool"]` names it. `server`, `limits` and `policy` are those of `Place`."""

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None) -> None:
        self._place = Place.of(config)
        schema = tool_schema or OpenAIFunctionToolSchema.model_validate(_LAWS[config["tool"]])
        self._given: dict[str, Mapping[str, Any]] = {}
        super().__init__(config, schema)

    async def create(self, instance_id: str | None = None, **kwargs: Any) -> tuple[str, ToolResponse]:
        """`create_kwargs`: the `task` and the `seed`, from the row's `tools_kwargs`."""
        name = instance_id or uuid4().hex
        self._given[name] = kwargs["create_kwargs"]
        return name, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        agent_data = kwargs["agent_data"]
        trajectory = _TRAJECTORIES.get(agent_data)
        if trajectory is None:
            trajectory = _TRAJECTORIES[agent_data] = Trajectory(self._place.async_episode(), self._given[instance_id])
        text = await trajectory.call(self.name, parameters)
        if trajectory.earned:
            agent_data.extra_fields[FIELD] = trajectory.earned
        return ToolResponse(text=text), 0.0, {}

    async def release(self, instance_id: str, **kwargs: Any) -> None:
        self._given.pop(instance_id, None)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, float]:
    """The episode's reward and terms, the same keys for every row. An episode that never ended earned nothing."""
    earned = (extra_info or {}).get(FIELD) or {"reward": 0.0, "terms": {}, "masked": "", "end": ""}
    terms = {name: float(earned["terms"].get(name) or 0.0) for name in TERMS}
    state = {"masked": float(bool(earned["masked"])), "ended": float(bool(earned["end"]))}
    return {"score": float(earned["reward"] or 0.0)} | terms | state


def rows(tasks: Iterable[Task], seed: int = 0) -> list[dict[str, Any]]:
    """Rows of verl's Parquet files."""
    return [_row(number, task, seed) for number, task in enumerate(tasks)]


def _row(number: int, task: Task, seed: int) -> dict[str, Any]:
    named = [tool["function"]["name"] for tool in tools(bool(task.user))]
    given = {"create_kwargs": {"task": packed(task), "seed": seed}}
    return {
        "data_source": "webemu",
        "agent_name": "tool_agent",
        "prompt": [{"role": "system", "content": rules(task.answer_type)},
                   {"role": "user", "content": neutral(task.question)}],
        "reward_model": {"style": "rule", "ground_truth": task.answers[0]},
        "extra_info": {
            "index": number, "task": packed(task), "need_tools_kwargs": True, "tool_selection": named,
            "tools_kwargs": dict.fromkeys(named, given),
        },
    }  # fmt: skip
