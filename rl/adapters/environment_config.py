"""Where the episodes of a trainer take place, from its configuration; and what its rows, prompts and results hold."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self
from weakref import WeakKeyDictionary

from webemu.agent_client import AsyncClient, Client
from webemu.agent_client.client import DEFAULT_URL
from webemu.rl.environment import AsyncEpisode, Episode
from webemu.rl.record import Record
from webemu.rl.rewards import rubric_of
from webemu.rl.state import Limits, limits_of
from webemu.rl.tasks import Task, from_row, line

PATIENCE = 90.0
"""Seconds for one answer of the web, which a policy's weather may hold back."""


@dataclass(frozen=True, slots=True)
class Place:
    """Plain data, so that it travels to the processes of a trainer; connections are made where it is used."""

    server: str = DEFAULT_URL
    limits: Limits = field(default_factory=Limits)
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Of every session (docs/sessions.md)."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """From `server`, `limits` and `policy`, each of which may be missing. Raises ValueError on an unknown name."""
        limits = limits_of(_plain(config.get("limits") or {}))
        policy = _plain(config.get("policy") or {})
        if not isinstance(policy, dict):
            raise ValueError("`policy` must be an object with the rules of a session")
        return cls(str(config.get("server") or DEFAULT_URL), limits, policy)

    def episode(self) -> Episode:
        """For threads. All of one server share a client."""
        return Episode(_client(self.server), self.limits, self.policy)

    def async_episode(self) -> AsyncEpisode:
        """For the running event loop, whose episodes of one server share a client."""
        return AsyncEpisode(_async_client(self.server), self.limits, self.policy)


def packed(task: Task) -> str:
    """A task as one column of a trainer's table: as objects, columns would be filled up with nulls."""
    return line(task)


def unpacked(column: str | Mapping[str, Any]) -> Task:
    """The task of such a column. Raises ValueError, KeyError or TypeError."""
    return from_row(json.loads(column) if isinstance(column, str) else column)


def result(record: Record) -> dict[str, Any]:
    """What an episode earned, as JSON: `reward` and `terms` are None where `masked` says why."""
    score = rubric_of(record.task).score(record)
    return {"reward": score.reward, "terms": dict(score.terms), "masked": score.mask, "end": record.end}


def _plain(value: Any) -> Any:
    """Without the containers of OmegaConf, in which trainers keep their configurations."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


@cache
def _client(server: str) -> Client:
    return Client(server, retries=0, timeout=PATIENCE)


os.register_at_fork(after_in_child=_client.cache_clear)  # a connection cannot be shared with the parent

_CLIENTS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncClient]] = WeakKeyDictionary()


async def leave() -> None:
    """Close the clients of the running event loop."""
    for client in _CLIENTS.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def _async_client(server: str) -> AsyncClient:
    clients = _CLIENTS.setdefault(asyncio.get_running_loop(), {})
    if server not in clients:
        clients[server] = AsyncClient(server, retries=0, timeout=PATIENCE)
    return clients[server]
