"""Configuration from which a trainer's workers make episodes, and the form of tasks and results in trainer tables."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Self, SupportsInt, TypedDict
from weakref import WeakKeyDictionary

from webemu.agent_client import AsyncClient, Client
from webemu.agent_client.client import DEFAULT_URL
from webemu.rl.environment import AsyncEpisode, Episode
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.record import EpisodeRecord
from webemu.rl.rubric import Score
from webemu.rl.scoring import score_episode, score_episode_async, score_episodes
from webemu.rl.state import Limits, parse_limits
from webemu.rl.tasks import Task, parse_task, to_json_line

ANSWER_TIMEOUT_SECONDS = 90.0
"""Seconds to wait for one response of the web, which a session policy may delay on purpose."""


class EpisodeResult(TypedDict):
    """Score of an episode as JSON."""

    reward: float | None
    """Reward; None for a masked episode."""
    terms: dict[str, float | None]
    """Terms of the reward; None for a masked episode, or if a term does not apply."""
    masked: str
    """Reason why the episode is masked; empty if it is not."""
    end: str
    """Reason why the episode ended (`webemu.rl.record.End`)."""


@dataclass(frozen=True, slots=True)
class EnvironmentConfig:
    """Server, limits and session policy of a trainer's episodes.

    Plain data, so that it can be sent to the processes of a trainer; connections are made where it is used.

        config = EnvironmentConfig.from_config({"server": "http://127.0.0.1:8800", "limits": {"turns": 12}})
        config.new_episode().reset(task).text    # the question
    """

    server: str = DEFAULT_URL
    """Address of the running server."""
    limits: Limits = field(default_factory=Limits)
    """Limits of each episode."""
    policy: Mapping[str, object] = field(default_factory=dict)
    """Session policy of every episode (docs/sessions.md)."""
    judge: JudgeSpec | None = None
    """Judge of what the rules leave open; None if they alone decide."""

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Self:
        """Read `server`, `limits`, `policy` and `judge`, each of which may be missing; other keys are ignored.

        Raises ValueError on an unknown or invalid limit or key of the judge, or if one of them is not an object.
        """
        limits, policy, judge = (_to_plain(config.get(name) or {}) for name in ("limits", "policy", "judge"))
        if not isinstance(limits, dict):
            raise ValueError('`limits` must be an object such as {"turns": 12}')
        if not isinstance(policy, dict):
            raise ValueError("`policy` must be an object with the rules of a session")
        if not isinstance(judge, dict):
            raise ValueError("`judge` must be an object with base_url and model")
        spec = JudgeSpec.from_config(judge) if judge else None
        return cls(str(config.get("server") or DEFAULT_URL), parse_limits(limits), policy, spec)

    def new_episode(self) -> Episode:
        """Return a new episode for use in threads. All episodes of one server share a client."""
        return Episode(_shared_client(self.server), self.limits, self.policy)

    def new_async_episode(self) -> AsyncEpisode:
        """Return a new episode for the running event loop, in which all episodes of one server share a client."""
        return AsyncEpisode(_shared_async_client(self.server), self.limits, self.policy)

    def score(self, record: EpisodeRecord) -> EpisodeResult:
        """Return the score of an episode as JSON. With a judge, this thread waits for its verdicts."""
        return _to_result(record, score_episode(record, self.judge))

    def score_all(self, records: Sequence[EpisodeRecord]) -> list[EpisodeResult]:
        """Return the scores of episodes as JSON, in order. A judge is asked about all of them concurrently."""
        scores = score_episodes(records, self.judge)
        return [_to_result(record, score) for record, score in zip(records, scores, strict=True)]

    async def score_async(self, record: EpisodeRecord) -> EpisodeResult:
        """Return the score of an episode as JSON, without blocking the running event loop."""
        return _to_result(record, await score_episode_async(record, self.judge))


def pack_task(task: Task) -> str:
    """Return a task as one column of text for a trainer's table; as nested objects, tables would fill it with nulls."""
    return to_json_line(task)


def unpack_task(column: object) -> Task:
    """Return the task of such a column, or of a JSON object. Raises ValueError, KeyError or TypeError if it is
    malformed.
    """
    return parse_task(json.loads(column) if isinstance(column, str) else column)


def read_seed(column: object) -> int:
    """Return the seed in a column of a trainer's table, which may be another library's integer; 0 if it is empty.

    Raises TypeError or ValueError if it is no number.
    """
    if not isinstance(column, str | SupportsInt | None):
        raise TypeError(f"the seed must be a whole number, got {column!r}")
    return int(column or 0)


def _to_result(record: EpisodeRecord, score: Score) -> EpisodeResult:
    return {"reward": score.reward, "terms": dict(score.terms), "masked": score.mask, "end": record.end}


def _to_plain(config_value: object) -> object:
    """Return nested values without OmegaConf's containers, in which trainers keep their configurations."""
    if isinstance(config_value, Mapping):
        return {str(name): _to_plain(one) for name, one in config_value.items()}
    if isinstance(config_value, Sequence) and not isinstance(config_value, str):
        return [_to_plain(one) for one in config_value]
    return config_value


@cache
def _shared_client(server: str) -> Client:
    return Client(server, retries=0, timeout=ANSWER_TIMEOUT_SECONDS)


os.register_at_fork(after_in_child=_shared_client.cache_clear)  # a forked worker must not share the parent's connection

_CLIENTS_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncClient]] = WeakKeyDictionary()
"""Clients by event loop and server; a client must not be used in another loop."""


async def close_clients() -> None:
    """Close the clients of the running event loop."""
    for client in _CLIENTS_BY_LOOP.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def _shared_async_client(server: str) -> AsyncClient:
    clients = _CLIENTS_BY_LOOP.setdefault(asyncio.get_running_loop(), {})
    if server not in clients:
        clients[server] = AsyncClient(server, retries=0, timeout=ANSWER_TIMEOUT_SECONDS)
    return clients[server]
