"""Agent behind an OpenAI-compatible address, for trainers that give their agents such an address and record the tokens
themselves: AReaL (`WebAgent` is a workflow of it), rLLM's gateway, and verifiers.

Nothing of any trainer is imported here. A masked episode raises `MaskedEpisodeError`, by which these trainers reject
the trajectory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from webemu.rl import chat
from webemu.rl.adapters.environment_config import (
    EnvironmentConfig,
    EpisodeResult,
    pack_task,
    read_seed,
    unpack_task,
)
from webemu.rl.endpoint import Endpoint
from webemu.rl.policies.attempt import Attempt
from webemu.rl.policies.model import SampledModel, tool_calling_policy
from webemu.rl.reply import Reply
from webemu.rl.tasks import Task
from webemu.rl.tool_schema import ToolSchema


class MaskedEpisodeError(RuntimeError):
    """Episode without a reward, because of an outage of the web, its judge, or the model."""


class _SeedlessEndpoint(Endpoint):
    """Endpoint without a seed: trainers set sampling themselves, and one seed for all would make every sample of a
    group equal.
    """

    async def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[ToolSchema] | None = None,
        *,
        seed: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> Reply:
        # `seed` is dropped on purpose.
        return await super().chat(messages, tools, temperature=temperature, max_tokens=max_tokens, stop=stop)


async def play(
    environment_config: EnvironmentConfig,
    task: Task,
    seed: int,
    base_url: str,
    model: str = "default",
    api_key: str = "none",
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> EpisodeResult:
    """Play an episode with the model at an address, as `webemu eval` does, and return its score.

    An outage of the address masks it. `max_tokens` is the limit of one turn; None leaves sampling to the server.
    """
    attempt = Attempt(environment_config.new_async_episode(), task, seed)
    await attempt.begin()
    async with _SeedlessEndpoint(base_url, model, api_key, retries=0) as endpoint:
        await tool_calling_policy(SampledModel(endpoint, temperature, max_tokens), chat.NATIVE)(attempt)
    result = await environment_config.score_async(await attempt.record())
    if attempt.endpoint_outage:
        return {**result, "reward": None, "masked": attempt.endpoint_outage}
    return result


class WebAgent:
    """Agent whose `run` AReaL calls for each row of `build_rows`; the keys of `config` are `server`, `limits`,
    `policy` and `judge` of `EnvironmentConfig`, and `temperature` and `max_tokens` of a turn.

        WebAgent(server="http://127.0.0.1:8800", limits={"turns": 12}, max_tokens=512)
    """

    def __init__(
        self,
        *,
        model: str = "default",
        temperature: float | None = None,
        max_tokens: int | None = None,
        **config: object,
    ) -> None:
        self._environment_config = EnvironmentConfig.from_config(config)
        self._model, self._temperature, self._max_tokens = model, temperature, max_tokens

    async def run(self, data: Mapping[str, object], **extra_kwargs: object) -> float:
        """Play the task of a row at the address that the trainer names, and return the reward.

        Raises: MaskedEpisodeError if the episode is masked.
        """
        base_url = str(extra_kwargs.get("base_url") or os.environ["OPENAI_BASE_URL"])
        api_key = str(extra_kwargs.get("api_key") or os.environ.get("OPENAI_API_KEY", "none"))
        task, seed = unpack_task(data["task"]), read_seed(data.get("seed"))
        sampling = self._model, api_key, self._temperature, self._max_tokens
        result = await play(self._environment_config, task, seed, base_url, *sampling)
        if result["reward"] is None:
            raise MaskedEpisodeError(f"masked: {result['masked']}")
        return float(result["reward"])


def build_rows(tasks: Sequence[Task], seed: int = 0) -> list[dict[str, object]]:
    """Return rows of a trainer's data set: each holds a task, and the seed that its samples share."""
    return [{"task": pack_task(task), "seed": seed, "question": task.question} for task in tasks]
