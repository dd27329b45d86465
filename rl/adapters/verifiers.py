"""verifiers v1: a task file as a taskset, and a harness that plays the episode in process.

verifiers finds plugins as top-level modules, so a file of two lines names these (docs/trainers.md). Every model call
goes through the endpoint that verifiers gives, so its traces hold tokens; a masked episode is an error of the rollout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

from webemu.agent_client.client import DEFAULT_URL
from webemu.rl import chat
from webemu.rl.adapters.environment_config import Place, packed, result, unpacked
from webemu.rl.endpoint import Endpoint
from webemu.rl.policies.attempt import Attempt
from webemu.rl.policies.model import Speaker, agent
from webemu.rl.reply import Reply
from webemu.rl.sanitizing import neutral
from webemu.rl.tasks import load

INFO = "webemu"
"""Where a trace keeps what the episode earned."""


class WebConfig(vf.TasksetConfig):
    tasks: Path = Path("tasks.jsonl")
    split: str = ""
    """Only this one; empty for all."""


class WebData(vf.TaskData):
    task: str
    """As in a task file."""


class WebTask(vf.Task[WebData]):
    @property
    def key(self) -> str:
        return str(self.data.id)

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """Gates and factors multiplied; terms are metrics."""
        return float(trace.info[INFO]["reward"])

    @vf.metric
    async def terms(self, trace: vf.Trace) -> Mapping[str, float]:
        return dict(trace.info[INFO]["terms"])


class WebTaskset(vf.Taskset[WebTask, WebConfig]):
    def load(self) -> Iterator[WebTask]:
        for task in load(self.config.tasks):
            if not self.config.split or task.split == self.config.split:
                data = WebData(id=task.id, prompt=neutral(task.question), task=packed(task))
                yield WebTask(data, self.config.task)


class _Intercepted(Endpoint):
    """verifiers puts its own sampling into every call; one seed for all would make a group of equal samples."""

    async def chat(self, *given: Any, seed: int | None = None, **more: Any) -> Reply:
        return await super().chat(*given, **more)


class WebHarnessConfig(vf.HarnessConfig):
    server: str = DEFAULT_URL
    seed: int = 0
    limits: dict[str, int] = Field(default_factory=dict)
    policy: dict[str, Any] = Field(default_factory=dict)


class WebHarness(vf.Harness[WebHarnessConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: WebData,
        **more: Any,
    ) -> vf.ProgramResult:
        """One episode. Raises RuntimeError where it is masked, so that verifiers counts it as failed."""
        place = Place.of(self.config.model_dump())
        attempt = Attempt(place.async_episode(), unpacked(data.task), self.config.seed)
        await attempt.begin()
        async with _Intercepted(endpoint, ctx.model, secret, retries=0) as model:
            await agent(Speaker(model), chat.NATIVE)(attempt)
        trace.info[INFO] = earned = result(await attempt.record())
        if outage := attempt.outage or earned["masked"]:
            raise RuntimeError(f"masked: {outage}")
        return vf.ProgramResult(0, "", "")


__all__ = ["WebHarness", "WebTaskset"]
