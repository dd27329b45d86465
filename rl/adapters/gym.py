"""Gymnasium's `reset` and `step`, which need no Gymnasium; `gymnasium_env` makes it one of its environments."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from webemu.rl.adapters.environment_config import Place, result
from webemu.rl.adapters.text_tool_calls import calls
from webemu.rl.tasks import Task


class SearchEnv:
    """An action is `{"tool": …, "arguments": …}`, or a model's text (`webemu.rl.adapters.text_tool_calls`). Observations are text.

    `info` has the `kind` of the observation, and at the end `reward`, `terms`, `masked` and `end`. A masked episode is
    truncated with reward 0, since a reward must be a number: leave it out by `info["masked"]`.
    """

    def __init__(self, tasks: Sequence[Task], place: Place | None = None) -> None:
        self._tasks, self._episode = {task.id: task for task in tasks}, (place or Place()).episode()
        self._draws = random.Random("0:tasks")

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """The question of `options["task"]`, an id, or else of a task that the seed draws. Raises KeyError."""
        if seed is not None:
            self._draws = random.Random(f"{seed}:tasks")
        chosen = (options or {}).get("task") or self._draws.choice(list(self._tasks))
        number = self._draws.randrange(2**31) if seed is None else seed
        seen = self._episode.reset(self._tasks[chosen], number)
        return seen.text, {"kind": seen.kind, "task": chosen, "tools": list(self._episode.tools)}

    def step(self, action: str | Mapping[str, Any]) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated (it finished), truncated (no turn is left, or masked), info."""
        asked = calls(action) if isinstance(action, str) else ((action.get("tool"), action.get("arguments")),)
        seen = [self._episode.call(name, given) for name, given in asked]
        text, info = "\n\n".join(one.text for one in seen), {"kind": seen[-1].kind}
        if not self._episode.done:
            return text, 0.0, False, False, info
        earned = result(self._episode.record())
        finished = earned["end"] == "finished"
        return text, earned["reward"] or 0.0, finished, not finished, info | earned

    def close(self) -> None:
        """The client is shared by all of one server and stays open."""


def gymnasium_env(tasks: Sequence[Task], place: Place | None = None) -> Any:
    """A `gymnasium.Env` that passes Gymnasium's `check_env`."""
    import gymnasium  # optional

    class Words(gymnasium.spaces.Text):
        """Any text; samples are printable."""

        def contains(self, x: Any) -> bool:
            return isinstance(x, str)

    class Environment(SearchEnv, gymnasium.Env):
        metadata: ClassVar = {"render_modes": ()}
        action_space = Words(1_000_000, charset=string.printable)
        observation_space = Words(1_000_000, charset=string.printable)

        def reset(
            self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
        ) -> tuple[str, dict[str, Any]]:
            gymnasium.Env.reset(self, seed=seed)
            return SearchEnv.reset(self, seed=seed, options=options)

    return Environment(tasks, place)
