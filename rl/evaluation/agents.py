"""Agents that can be evaluated: a policy, its entries in the manifest, and the resources it needs open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from webemu.rl.chat import PROTOCOLS
from webemu.rl.policies import Policy
from webemu.rl.policies.closed_book import closed_book
from webemu.rl.policies.oracle import oracle
from webemu.rl.policies.rag import rag
from webemu.rl.policies.random_policy import chance
from webemu.rl.policies.scripted import scripted
from webemu.rl.tasks import Task


class Name(StrEnum):
    """Policies that can be chosen by name."""

    oracle = "oracle"
    scripted = "scripted"
    rag = "rag"
    closed_book = "closed-book"
    random = "random"


class Spoken(StrEnum):
    """Protocols between a model and an episode (`webemu.rl.chat.PROTOCOLS`)."""

    native = "native"
    react = "react"


class NobodyError(ValueError):
    """The options name no agent that can answer; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


@dataclass(frozen=True, slots=True)
class Who:
    """Agent to evaluate."""

    policy: Policy
    told: Mapping[str, Any]
    """Entries of the manifest."""
    held: AbstractAsyncContextManager[Any] = field(default_factory=nullcontext)
    """Context that must be open while the agent answers, such as a model's connections."""


@dataclass(frozen=True, slots=True)
class Model:
    """Model behind an OpenAI-compatible endpoint, with its sampling parameters."""

    name: str
    base_url: str
    key: str = "none"
    protocol: Spoken = Spoken.native
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of each request."""


def without_model(name: Name | None, known: Sequence[Task]) -> Who:
    """Return a baseline, which needs no model.

    `training_tasks` are those that the closed-book baseline guesses from. Raises NoAgentError if no name is given.
    """
    if name is None:
        raise NobodyError("no agent was given", "give a --model with its --base-url, or a --policy")
    plays = {Name.oracle: oracle, Name.scripted: scripted, Name.rag: rag, Name.random: chance}
    return Who(plays.get(name) or closed_book(known), {"model": "", "protocol": "", "policy": name.value})


def with_model(asked: Model, name: Name | None) -> Who:
    """Return a model as an agent, or under one of the baselines that use a model.

    Raises NoAgentError if options are missing or do not fit together, EndpointError if the endpoint is bad.
    """
    from webemu.rl.endpoint import Endpoint  # imports `openai`: 0.6 s, an extra, needed by models only
    from webemu.rl.policies import model  # as slow to import

    if not asked.base_url:
        raise NobodyError(f"no address was given for the model {asked.name}", "give its endpoint with --base-url …/v1")
    plays = {Name.rag: model.rag, Name.closed_book: model.closed_book}
    if name and name not in plays:
        raise NobodyError(f"the policy {name.value} uses no model", "leave out --model, or --policy")
    endpoint = Endpoint(asked.base_url, asked.name, asked.key, extra=asked.extra)
    speaker = model.Speaker(endpoint, asked.temperature, asked.max_tokens)
    policy = plays[name](speaker) if name else model.agent(speaker, PROTOCOLS[asked.protocol.value])
    told = {
        **{"model": asked.name, "endpoint": asked.base_url, "policy": name.value if name else ""},
        **{"protocol": "" if name else asked.protocol.value, "temperature": asked.temperature},
        **{"max_tokens": asked.max_tokens, "extra": dict(asked.extra)},
    }
    return Who(policy, told, endpoint)
