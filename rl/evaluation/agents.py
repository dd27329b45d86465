"""Who answers: a policy, what the manifest says of it, and what it holds open."""

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
    """Of a policy that needs no model."""

    oracle = "oracle"
    scripted = "scripted"
    rag = "rag"
    closed_book = "closed-book"
    random = "random"


class Spoken(StrEnum):
    """Of a protocol (`webemu.rl.chat.PROTOCOLS`)."""

    native = "native"
    react = "react"


class NobodyError(ValueError):
    """Nobody answers; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


@dataclass(frozen=True, slots=True)
class Who:
    policy: Policy
    told: Mapping[str, Any]
    held: AbstractAsyncContextManager[Any] = field(default_factory=nullcontext)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it was asked for."""

    name: str
    base_url: str
    key: str = "none"
    protocol: Spoken = Spoken.native
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def without_model(name: Name | None, known: Sequence[Task]) -> Who:
    """Raises NobodyError."""
    if name is None:
        raise NobodyError("nobody was named to answer", "name a --model with its --base-url, or a --policy")
    plays = {Name.oracle: oracle, Name.scripted: scripted, Name.rag: rag, Name.random: chance}
    return Who(plays.get(name) or closed_book(known), {"model": "", "protocol": "", "policy": name.value})


def with_model(asked: Model, name: Name | None) -> Who:
    """A model as an agent, or under one of the policies that take one. Raises NobodyError, EndpointError."""
    from webemu.rl.endpoint import Endpoint  # `openai` takes 0.6 s to import, is of an extra, and only models need it
    from webemu.rl.policies import model  # as heavy

    if not asked.base_url:
        raise NobodyError(f"no address was given for the model {asked.name}", "name its endpoint with --base-url …/v1")
    plays = {Name.rag: model.rag, Name.closed_book: model.closed_book}
    if name and name not in plays:
        raise NobodyError(f"the policy {name.value} takes no model", "leave out --model, or --policy")
    endpoint = Endpoint(asked.base_url, asked.name, asked.key, extra=asked.extra)
    speaker = model.Speaker(endpoint, asked.temperature, asked.max_tokens)
    policy = plays[name](speaker) if name else model.agent(speaker, PROTOCOLS[asked.protocol.value])
    told = {
        **{"model": asked.name, "endpoint": asked.base_url, "policy": name.value if name else ""},
        **{"protocol": "" if name else asked.protocol.value, "temperature": asked.temperature},
        **{"max_tokens": asked.max_tokens, "extra": dict(asked.extra)},
    }
    return Who(policy, told, endpoint)
