"""SkyRL-gym: a text environment under the id `webemu`. The model's text is read by `webemu.rl.adapters.text_tool_calls`.

SkyRL demands a number as reward: a masked episode earns 0, with `masked` set in its metadata and metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from webemu.rl.adapters.environment_config import Place, packed, result, unpacked
from webemu.rl.adapters.text_tool_calls import calls, manual
from webemu.rl.arguments import tools
from webemu.rl.chat import rules
from webemu.rl.tasks import Task

ID = "webemu"
"""Id of the environment in SkyRL-gym."""


class SearchTextEnv(BaseTextEnv):
    """Text environment of one episode.

    `env_config` has `server`, `limits` and `policy`. `extras` are the row's columns, of which `task` and `seed` are
    read.
    """

    def __init__(self, env_config: Mapping[str, Any], extras: Mapping[str, Any]) -> None:
        super().__init__()
        place = Place.of(env_config)
        self.max_turns = place.limits.turns
        self._task, self._seed = unpacked(extras["task"]), int(extras.get("seed") or 0)
        self._episode = place.episode()
        self._result: dict[str, Any] = {}

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Start the episode; return the prompt with the question appended."""
        seen = self._episode.reset(self._task, self._seed)
        return [*prompt, {"role": "user", "content": seen.text}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Make the calls in a model's text and return their observations."""
        self.turns += 1
        seen = [self._episode.call(name, given) for name, given in calls(action)]
        if done := self._episode.done:
            self._result = self._result or result(self._episode.record())
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": one.text} for one in seen],
            reward=self._result.get("reward") or 0.0,
            done=done,
            metadata=dict(self._result),
            postprocessed_action=None,
        )

    def get_metrics(self) -> dict[str, float]:
        """Return the terms of an ended episode, and `masked`."""
        known = {name: value for name, value in self._result.get("terms", {}).items() if value is not None}
        return known | {"masked": float(bool(self._result.get("masked")))}


def register() -> None:
    """Register the environment; call it in the trainer's process before the trainer starts."""
    if ID not in skyrl_gym.envs.registration.registry:
        skyrl_gym.register(id=ID, entry_point="webemu.rl.adapters.skyrl:SearchTextEnv")


def rows(tasks: Iterable[Task], seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of SkyRL's dataset."""
    return [{"prompt": _prompt(task), "env_class": ID, "task": packed(task), "seed": seed} for task in tasks]


def _prompt(task: Task) -> list[dict[str, str]]:
    return [{"role": "system", "content": rules(task.answer_type) + manual(tools(bool(task.user)))}]
