"""SkyRL-gym: a text environment under the id `webemu`. The model's text is read by
`webemu.rl.adapters.text_tool_calls`.

SkyRL demands a number as reward: a masked episode earns 0, with `masked` set in its metadata and metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from webemu.rl.adapters.environment_config import (
    EnvironmentConfig,
    EpisodeResult,
    pack_task,
    read_seed,
    unpack_task,
)
from webemu.rl.adapters.text_tool_calls import parse_calls, tool_manual
from webemu.rl.arguments import TOOLS
from webemu.rl.chat import answer_rules
from webemu.rl.tasks import Task

ID = "webemu"
"""Id of the environment in SkyRL-gym."""


class SearchTextEnv(BaseTextEnv):
    """Text environment of one episode.

    `env_config` has `server`, `limits`, `policy` and `judge`. `extras` are the row's columns, of which `task` and
    `seed` are read.
    """

    def __init__(self, env_config: Mapping[str, object], extras: Mapping[str, object]) -> None:
        super().__init__()
        self._environment_config = EnvironmentConfig.from_config(env_config)
        self.max_turns = self._environment_config.limits.turns
        self._task, self._seed = unpack_task(extras["task"]), read_seed(extras.get("seed"))
        self._episode = self._environment_config.new_episode()
        self._result: EpisodeResult | None = None

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, object]]:
        """Start the episode; return the prompt with the question appended."""
        observation = self._episode.reset(self._task, self._seed)
        return [*prompt, {"role": "user", "content": observation.text}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Make the calls in a model's text and return their observations."""
        self.turns += 1
        tool_observations = [self._episode.call(one.name, one.arguments) for one in parse_calls(action)]
        if done := self._episode.done:
            self._result = self._result or self._environment_config.score(self._episode.record())
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": one.text} for one in tool_observations],
            reward=(self._result["reward"] if self._result else None) or 0.0,
            done=done,
            metadata=dict(self._result or {}),
            postprocessed_action=None,
        )

    def get_metrics(self) -> dict[str, float]:
        """Return the terms of an ended episode, and `masked`."""
        if self._result is None:
            return {"masked": 0.0}
        term_values = {name: value for name, value in self._result["terms"].items() if value is not None}
        return term_values | {"masked": float(bool(self._result["masked"]))}


def register() -> None:
    """Register the environment; call it in the trainer's process before the trainer starts."""
    if ID not in skyrl_gym.envs.registration.registry:
        skyrl_gym.register(id=ID, entry_point="webemu.rl.adapters.skyrl:SearchTextEnv")


def build_rows(tasks: Iterable[Task], seed: int = 0) -> list[dict[str, object]]:
    """Return rows of SkyRL's dataset."""
    return [{"prompt": _build_prompt(task), "env_class": ID, "task": pack_task(task), "seed": seed} for task in tasks]


def _build_prompt(task: Task) -> list[dict[str, str]]:
    return [{"role": "system", "content": answer_rules(task.answer_type) + tool_manual(TOOLS)}]
