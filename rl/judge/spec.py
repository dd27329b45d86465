"""Plain description of a judge, which recipes, adapters and commands share and which can be sent to other processes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from webemu.rl.judge.judge import Judge
from webemu.rl.judge.verdicts import MAX_CONCURRENT_REQUESTS

TIMEOUT_SECONDS = 60.0
"""Seconds to wait for one verdict."""


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """Model that judges, behind an OpenAI-compatible endpoint.

    JudgeSpec("http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B")
    """

    base_url: str
    """Address of the endpoint, ending in `/v1`."""
    model: str
    key_env: str = ""
    """Name of the environment variable that holds the endpoint's API key; empty if it needs none."""
    timeout: float = TIMEOUT_SECONDS
    """Seconds to wait for one verdict."""
    concurrency: int = MAX_CONCURRENT_REQUESTS
    """Requests that run at the same time."""
    compare: int = 0
    """Right and wrong answers each, of those scored together, that the judge is asked about although the rules decide
    them: their term `judge_agrees` is 1 where both say the same. They change no reward.
    """
    cache: str = ""
    """File in which verdicts are kept, so that a resumed run gives the same rewards; empty for memory alone."""

    def __post_init__(self) -> None:
        if not self.base_url or not self.model:
            raise ValueError(
                "a judge needs base_url and model, such as http://127.0.0.1:8000/v1 and Qwen/Qwen3-8B;"
                f" got {self.base_url!r} and {self.model!r}"
            )

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Self:
        """Return the judge of a trainer's configuration. Raises ValueError or TypeError on an unknown key or value."""
        keys = [one.name for one in fields(cls)]
        if unknown := [name for name in config if name not in keys]:
            raise ValueError(f"judge: unknown key {unknown[0]!r}; known keys: {', '.join(keys)}")
        return cls(**config)  # type: ignore[arg-type]

    def read_key(self) -> str:
        """Return the API key; `none` if there is none. Raises ValueError if its variable is not set."""
        if self.key_env and not os.environ.get(self.key_env):
            raise ValueError(
                f"the environment variable {self.key_env}, which holds the judge's API key, is not set: export"
                f" {self.key_env}=…, or leave out key_env"
            )
        return os.environ[self.key_env] if self.key_env else "none"


@asynccontextmanager
async def open_judge(spec: JudgeSpec) -> AsyncIterator[Judge]:
    """Yield a judge whose verdicts count in the reward.

    Raises: EndpointError if its address is no HTTP URL, ValueError if its key is missing.
    """
    from webemu.rl.endpoint import Endpoint  # imports `openai`: 0.6 s, an extra, needed by models only

    cache = Path(spec.cache) if spec.cache else None
    async with Endpoint(spec.base_url, spec.model, spec.read_key(), timeout=spec.timeout) as endpoint:
        yield Judge(endpoint, as_factors=True, max_concurrent=spec.concurrency, cache=cache)
