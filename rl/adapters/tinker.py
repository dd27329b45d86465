"""Tinker's cookbook: environments that play episodes token by token, in groups of one task, and a data set of them.

Tokens are only ever joined, so that each trajectory becomes one `Datum`. A masked episode raises `MaskedEpisodeError`:
the cookbook's `RetryOnFailure` plays another one in its place, and leaves the group out if outages go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import ActionExtra, Env, EnvGroupBuilder, RLDataset, StepResult

from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.tasks import Task
from webemu.rl.train.chat_model import load_tokenizer
from webemu.rl.train.chat_templates import AUTO
from webemu.rl.train.messages import RULES_KEYWORD
from webemu.rl.train.rollout import Rollout, append_turn, run_tools
from webemu.rl.train.sampling import ChatCodec


@dataclass(frozen=True, slots=True)
class Encoding:
    """Model whose tokenizer renders the episodes, and the length of one."""

    model: str
    """Folder or hub id of the model that Tinker trains."""
    template: str = AUTO
    """Chat template (`webemu.rl.train.chat_templates.prepare_tokenizer`)."""
    token_budget: int = 8_000
    """Token limit of an episode after its prompt, observations included."""


class SearchEnv(Env):
    """Environment of one episode. Its last step has the whole reward, and the terms as metrics."""

    def __init__(self, environment_config: EnvironmentConfig, encoding: Encoding, task: Task, seed: int) -> None:
        self._environment_config, self._encoding, self._task, self._seed = environment_config, encoding, task, seed
        self._codec = _shared_codec(encoding.model, encoding.template)

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        """Open the session, and return the tokens of the prompt. Raises: MaskedEpisodeError in an outage."""
        self._episode = self._environment_config.new_async_episode()
        await self._episode.reset(self._task, self._seed)
        if self._episode.masked:
            raise MaskedEpisodeError(f"masked: {self._episode.mask_reason}")
        self._rollout = Rollout(self._task, self._seed, self._codec.encode_prompt(self._task, self._episode.tools))
        return self._observe()

    async def step(self, action: list[int], *, extra: ActionExtra | None = None) -> StepResult:
        """Make the calls of a turn. Raises: MaskedEpisodeError in an outage, as soon as it is met."""
        rollout = self._rollout
        append_turn(rollout, action)
        await run_tools(self._codec, rollout, self._episode, self._encoding.token_budget)
        if self._episode.masked:
            raise MaskedEpisodeError(f"masked: {self._episode.mask_reason}")
        observation, stop = self._observe()
        if not rollout.end_reason:
            return StepResult(0.0, False, observation, stop)
        result = await self._environment_config.score_async(await self._episode.record())
        if result["reward"] is None:
            raise MaskedEpisodeError(f"masked: {result['masked']}")
        metrics: dict[str, float | int] = {name: value for name, value in result["terms"].items() if value is not None}
        return StepResult(result["reward"], True, observation, stop, metrics | {f"over/{rollout.end_reason}": 1.0})

    def _observe(self) -> tuple[tinker.ModelInput, StopCondition]:
        ids = self._rollout.prompt_ids + self._rollout.ids
        return tinker.ModelInput.from_ints(ids), [self._codec.end_id]


@dataclass(frozen=True, slots=True)
class SearchGroup(EnvGroupBuilder):
    """Group of environments of one task with one seed, so that all have the same weather. It can be pickled."""

    environment_config: EnvironmentConfig
    encoding: Encoding
    task: Task
    size: int = 8
    seed: int = 0

    async def make_envs(self) -> Sequence[Env]:
        """Return new environments of the task."""
        return [SearchEnv(self.environment_config, self.encoding, self.task, self.seed) for _ in range(self.size)]

    def logging_tags(self) -> list[str]:
        """Return the recipe of the task, by which Tinker's logs are grouped."""
        return [self.task.recipe]


@dataclass(frozen=True, slots=True)
class SearchDataset(RLDataset):
    """Groups of tasks in batches, for an `RLDatasetBuilder` of the cookbook's training loop."""

    groups: Sequence[SearchGroup]
    batch_size: int

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """Return the groups of a batch."""
        return self.groups[index * self.batch_size : (index + 1) * self.batch_size]

    def __len__(self) -> int:
        """Return the number of whole batches."""
        return len(self.groups) // self.batch_size


@cache
def _shared_codec(model: str, template: str) -> ChatCodec:
    """Return the codec of a model, whose tokenizer is read once in each process."""
    return ChatCodec(load_tokenizer(model, template), RULES_KEYWORD)
