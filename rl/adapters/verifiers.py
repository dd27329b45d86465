"""verifiers v1: a task file as a taskset, and a harness that plays the episode in process.

verifiers finds plugins as top-level modules, so a file of two lines must import these classes (docs/trainers.md).
Every model call goes through the endpoint that verifiers provides, so its traces hold tokens. A masked episode is an
error of the rollout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import verifiers.v1 as vf
from pydantic import Field

from webemu.agent_client.client import DEFAULT_URL
from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError, play
from webemu.rl.adapters.environment_config import EnvironmentConfig, pack_task, unpack_task
from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import load

INFO = "webemu"
"""Key under which a trace keeps the episode's score."""


class WebConfig(vf.TasksetConfig):
    """Configuration of the taskset."""

    tasks: Path = Path("tasks.jsonl")
    """Path of the task file."""
    split: str = ""
    """Split to use; empty for all."""


class WebData(vf.TaskData):
    """Data of one task."""

    task: str
    """Task as one line of a task file."""


class WebTask(vf.Task[WebData]):
    """Task of the taskset, whose reward and metrics come from the trace."""

    @property
    def key(self) -> str:
        """Id of the task."""
        return str(self.data.id)

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """Return the reward of the episode: gates and factors multiplied; the terms are metrics."""
        return float(trace.info[INFO]["reward"])

    @vf.metric
    async def terms(self, trace: vf.Trace) -> Mapping[str, float]:
        """Return every term of the reward as a metric."""
        return dict(trace.info[INFO]["terms"])


class WebTaskset(vf.Taskset[WebTask, WebConfig]):
    """Tasks of a file, as verifiers loads them."""

    def load(self) -> Iterator[WebTask]:
        """Yield the tasks of the configured split."""
        for task in load(self.config.tasks):
            if not self.config.split or task.split == self.config.split:
                data = WebData(id=task.id, prompt=sanitize(task.question), task=pack_task(task))
                yield WebTask(data, self.config.task)


class WebHarnessConfig(vf.HarnessConfig):
    """Configuration of the harness; `server`, `limits`, `policy` and `judge` are those of `EnvironmentConfig`."""

    server: str = DEFAULT_URL
    seed: int = 0
    limits: dict[str, int] = Field(default_factory=dict)
    policy: dict[str, object] = Field(default_factory=dict)
    judge: dict[str, object] = Field(default_factory=dict)


class WebHarness(vf.Harness[WebHarnessConfig]):
    """Harness that plays one episode with a model."""

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
        **more: object,
    ) -> vf.ProgramResult:
        """Play one episode.

        Raises: MaskedEpisodeError if it is masked, so that verifiers counts the rollout as failed.
        """
        environment_config = EnvironmentConfig.from_config(self.config.model_dump())
        task, seed = unpack_task(data.task), self.config.seed
        trace.info[INFO] = result = await play(environment_config, task, seed, endpoint, ctx.model, secret)
        if result["masked"]:
            raise MaskedEpisodeError(f"masked: {result['masked']}")
        return vf.ProgramResult(0, "", "")


__all__ = ["WebHarness", "WebTaskset"]
