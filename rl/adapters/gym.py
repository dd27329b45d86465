"""Gymnasium's `reset` and `step` over an episode.

`SearchEnv` itself needs no Gymnasium; `gymnasium_env` turns it into a `gymnasium.Env`.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import ClassVar

from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.adapters.text_tool_calls import TextCall, parse_calls
from webemu.rl.tasks import Task


class SearchEnv:
    """Environment with Gymnasium's interface. An action is `{"tool": …, "arguments": …}` or a model's text;
    observations are text.

    Text actions are read by `webemu.rl.adapters.text_tool_calls`. `info` has the `kind` of the observation, and at the
    end `reward`, `terms`, `masked` and `end`. A masked episode is truncated with reward 0, because a reward must be a
    number: leave it out of training by `info["masked"]`.

        env = SearchEnv(tasks, EnvironmentConfig())
        observation, info = env.reset(seed=0)
    """

    def __init__(self, tasks: Sequence[Task], environment_config: EnvironmentConfig | None = None) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._environment_config = environment_config or EnvironmentConfig()
        self._episode = self._environment_config.new_episode()
        self._random = random.Random("0:tasks")

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[str, dict[str, object]]:
        """Start an episode; return the question and `info`.

        The task is `options["task"]`, an id, or else drawn by the seed. Raises KeyError if there is no such task.
        """
        if seed is not None:
            self._random = random.Random(f"{seed}:tasks")
        task_id = str((options or {}).get("task") or self._random.choice(list(self._tasks)))
        episode_seed = self._random.randrange(2**31) if seed is None else seed
        observation = self._episode.reset(self._tasks[task_id], episode_seed)
        return observation.text, {"kind": observation.kind, "task": task_id, "tools": list(self._episode.tools)}

    def step(self, action: str | Mapping[str, object]) -> tuple[str, float, bool, bool, dict[str, object]]:
        """Return observation, reward, terminated (the agent finished), truncated (no turns left or masked), info."""
        tool_calls = (
            parse_calls(action) if isinstance(action, str) else (TextCall(action.get("tool"), action.get("arguments")),)
        )
        observations = [self._episode.call(one.name, one.arguments) for one in tool_calls]
        text = "\n\n".join(one.text for one in observations)
        info: dict[str, object] = {"kind": observations[-1].kind}
        if not self._episode.done:
            return text, 0.0, False, False, info
        outcome = self._environment_config.score(self._episode.record())
        # What nobody could judge says nothing about the agent, even where the agent finished.
        is_finished = outcome["end"] == "finished" and not outcome["masked"]
        return text, outcome["reward"] or 0.0, is_finished, not is_finished, {**info, **outcome}

    def close(self) -> None:
        """Do nothing: the client is shared by all environments of a server and stays open."""


def gymnasium_env(tasks: Sequence[Task], environment_config: EnvironmentConfig | None = None) -> SearchEnv:
    """Return a `gymnasium.Env` that passes Gymnasium's `check_env`. Needs Gymnasium."""
    import gymnasium  # an optional dependency

    class AnyText(gymnasium.spaces.Text):
        """Space that contains any text; its samples are printable."""

        def contains(self, x: object) -> bool:
            """True for any string (Gymnasium's interface)."""
            return isinstance(x, str)

    class Environment(SearchEnv, gymnasium.Env):
        """`SearchEnv` as a subclass of `gymnasium.Env`."""

        metadata: ClassVar = {"render_modes": ()}
        action_space = AnyText(1_000_000, charset=string.printable)
        observation_space = AnyText(1_000_000, charset=string.printable)

        def reset(
            self, *, seed: int | None = None, options: Mapping[str, object] | None = None
        ) -> tuple[str, dict[str, object]]:
            """Seed Gymnasium's generator as its interface demands, then start an episode."""
            gymnasium.Env.reset(self, seed=seed)
            return SearchEnv.reset(self, seed=seed, options=options)

    return Environment(tasks, environment_config)
