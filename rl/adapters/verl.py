"""verl: native tools that share one episode per trajectory, the reward of that episode, and dataset rows.

verl makes and releases a tool object for each call, so the episode is attached to the trajectory (`agent_data`). Its
score goes into the trajectory's extra fields, which verl passes to `compute_score`. verl itself answers unknown tools
and broken JSON. A score must be a number: a masked episode scores 0 and sets `masked`;
`neutralize_batch` then takes it out of the advantages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Final, Protocol, TypedDict
from uuid import uuid4
from weakref import WeakKeyDictionary

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from webemu.rl.adapters.environment_config import (
    EnvironmentConfig,
    EpisodeResult,
    pack_task,
    read_seed,
    unpack_task,
)
from webemu.rl.adapters.masking import neutralize_masked
from webemu.rl.arguments import TOOLS
from webemu.rl.chat import answer_rules
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import Task

EXTRA_FIELD: Final = "webemu"
"""Extra field of a trajectory that holds the episode's score."""
TERM_NAMES = tuple(dict.fromkeys(term.name for term in (*SHORT.terms, *LONG.terms)))
"""Names of all reward terms; every row reports all of them, because verl wants equal keys."""
_TOOL_SCHEMAS = {tool["function"]["name"]: tool for tool in TOOLS}


class AgentData(Protocol):
    """Trajectory of verl, as far as it is used here."""

    extra_fields: MutableMapping[str, object]


class ExtraInfo(TypedDict, total=False):
    """Extra fields of a row, as verl passes them to `compute_score`; the key is `EXTRA_FIELD`."""

    webemu: EpisodeResult


class Batch(Protocol):
    """Batch of verl (`DataProto`), as far as it is used here."""

    batch: MutableMapping[str, Any]
    non_tensor_batch: Mapping[str, Any]


class Trajectory:
    """Episode of one trajectory and its score. Parallel calls of a turn share it and are made one after another."""

    def __init__(self, environment_config: EnvironmentConfig, kwargs: Mapping[str, object]) -> None:
        self._environment_config, self._kwargs = environment_config, kwargs
        self._episode = environment_config.new_async_episode()
        self._is_started, self._lock = False, asyncio.Lock()
        self.outcome: EpisodeResult | None = None
        """Score once the episode is done; None before."""

    async def call(self, name: str, arguments: object) -> str:
        """Make one tool call, starting the episode at the first one; return the observation's text."""
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                await self._episode.reset(unpack_task(self._kwargs["task"]), read_seed(self._kwargs.get("seed")))
            observation = await self._episode.call(name, arguments)
            if self._episode.done and not self.outcome:
                self.outcome = await self._environment_config.score_async(await self._episode.record())
            return observation.text


_TRAJECTORIES: WeakKeyDictionary[AgentData, Trajectory] = WeakKeyDictionary()
"""Episodes by verl's `AgentData`, dropped together with it."""


class EpisodeTool(BaseTool):
    """Tool of the episode, named by `config["tool"]`; `server`, `limits`, `policy` and `judge` are those
    of `EnvironmentConfig`.
    """

    def __init__(self, config: dict[str, object], tool_schema: OpenAIFunctionToolSchema | None) -> None:
        self._environment_config = EnvironmentConfig.from_config(config)
        schema = tool_schema or OpenAIFunctionToolSchema.model_validate(_TOOL_SCHEMAS[str(config["tool"])])
        self._create_kwargs: dict[str, Mapping[str, object]] = {}
        super().__init__(config, schema)

    async def create(
        self, instance_id: str | None = None, *, create_kwargs: Mapping[str, object], **more: object
    ) -> tuple[str, ToolResponse]:
        """Remember `create_kwargs`: the `task` and `seed` of the row's `tools_kwargs`."""
        name = instance_id or uuid4().hex
        self._create_kwargs[name] = create_kwargs
        return name, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, object], *, agent_data: AgentData, **more: object
    ) -> tuple[ToolResponse, float, dict[str, object]]:
        """Make the call in the trajectory's episode; once it is done, attach its score to the trajectory."""
        trajectory = _TRAJECTORIES.get(agent_data)
        if trajectory is None:
            trajectory = _TRAJECTORIES[agent_data] = Trajectory(
                self._environment_config, self._create_kwargs[instance_id]
            )
        text = await trajectory.call(self.name, parameters)
        if trajectory.outcome:
            agent_data.extra_fields[EXTRA_FIELD] = trajectory.outcome
        return ToolResponse(text=text), 0.0, {}

    async def release(self, instance_id: str, **more: object) -> None:
        """Forget what `create` remembered."""
        self._create_kwargs.pop(instance_id, None)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: ExtraInfo | None = None, **more: object
) -> dict[str, float]:
    """Return the episode's reward and terms, with the same keys for every row. An episode that never ended scores 0."""
    never_ended: EpisodeResult = {"reward": 0.0, "terms": {}, "masked": "", "end": ""}
    outcome = (extra_info or {}).get(EXTRA_FIELD) or never_ended
    terms = {name: float(outcome["terms"].get(name) or 0.0) for name in TERM_NAMES}
    state = {"masked": float(bool(outcome["masked"])), "ended": float(bool(outcome["end"]))}
    return {"score": float(outcome["reward"] or 0.0)} | terms | state


def neutralize_batch(data: Batch) -> None:
    """Give masked episodes the mean reward of their group, so that their advantage is 0 (`neutralize_masked`).

    verl 0.9.1 has no mask of its own: call this on the batch before its `compute_advantage`, which reads only the sum
    of `token_level_rewards` of each row.
    """
    rewards, extra = data.batch["token_level_rewards"], data.non_tensor_batch
    scores = [float(score) for score in rewards.sum(dim=-1)]
    levelled = neutralize_masked(scores, extra["masked"].tolist(), extra["uid"].tolist())
    for number, (score, level) in enumerate(zip(scores, levelled, strict=True)):
        rewards[number, 0] += level - score


def build_rows(tasks: Iterable[Task], seed: int = 0, agent_name: str = "tool_agent") -> list[dict[str, object]]:
    """Return rows of verl's Parquet files. `agent_name` is the agent loop that plays them."""
    return [_build_row(number, task, seed, agent_name) for number, task in enumerate(tasks)]


def _build_row(index: int, task: Task, seed: int, agent_name: str) -> dict[str, object]:
    tool_names = [tool["function"]["name"] for tool in TOOLS]
    tool_kwargs = {"create_kwargs": {"task": pack_task(task), "seed": seed}}
    return {
        "data_source": "webemu",
        "agent_name": agent_name,
        "prompt": [{"role": "system", "content": answer_rules(task.answer_type)},
                   {"role": "user", "content": sanitize(task.question)}],
        "reward_model": {"style": "rule", "ground_truth": task.answers[0]},
        "extra_info": {
            "index": index, "task": pack_task(task), "need_tools_kwargs": True, "tool_selection": tool_names,
            "tools_kwargs": dict.fromkeys(tool_names, tool_kwargs),
        },
    }  # fmt: skip
