"""Agents that can be evaluated: a policy, its entries in the manifest, and the resources it needs open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum

from webemu.rl.chat import PROTOCOLS
from webemu.rl.policies import AgentPolicy
from webemu.rl.policies.closed_book import closed_book_policy
from webemu.rl.policies.oracle import play_with_gold
from webemu.rl.policies.rag import play_rag
from webemu.rl.policies.random_policy import play_randomly
from webemu.rl.policies.scripted import play_by_script
from webemu.rl.policies.snippet_only import play_by_snippets
from webemu.rl.tasks import Task


class BaselineName(StrEnum):
    """Policies that can be chosen by name."""

    oracle = "oracle"
    scripted = "scripted"
    rag = "rag"
    snippet_only = "snippet-only"
    closed_book = "closed-book"
    random = "random"


POLICIES: Mapping[str, AgentPolicy] = {
    BaselineName.oracle: play_with_gold,
    BaselineName.scripted: play_by_script,
    BaselineName.rag: play_rag,
    BaselineName.snippet_only: play_by_snippets,
    BaselineName.random: play_randomly,
}
"""Policies that need neither a model nor training tasks."""


class ProtocolName(StrEnum):
    """Protocols between a model and an episode (`webemu.rl.chat.PROTOCOLS`)."""

    native = "native"
    react = "react"


class NoAgentError(ValueError):
    """The options name no agent that can answer; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


@dataclass(frozen=True, slots=True)
class Agent:
    """Agent to evaluate."""

    policy: AgentPolicy
    manifest_fields: Mapping[str, object]
    """Entries of the manifest."""
    resources: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)
    """Context that must be open while the agent answers, such as a model's connections."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Model behind an OpenAI-compatible endpoint, with its sampling parameters."""

    name: str
    base_url: str
    key: str = "none"
    protocol: ProtocolName = ProtocolName.native
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further parameters of each request."""


def baseline_agent(name: BaselineName | None, training_tasks: Sequence[Task]) -> Agent:
    """Return a baseline, which needs no model.

    `training_tasks` are those that the closed-book baseline guesses from. Raises NoAgentError if no name is given.
    """
    if name is None:
        raise NoAgentError("no agent was given", "give a --model with its --base-url, or a --baseline")
    return Agent(
        POLICIES.get(name) or closed_book_policy(training_tasks), {"model": "", "protocol": "", "policy": name.value}
    )


def model_agent(spec: ModelSpec, name: BaselineName | None) -> Agent:
    """Return a model as an agent, or under one of the baselines that use a model.

    Raises NoAgentError if options are missing or do not fit together, EndpointError if the endpoint is bad.
    """
    from webemu.rl.endpoint import Endpoint  # imports `openai`: 0.6 s, an extra, needed by models only
    from webemu.rl.policies import model  # as slow to import

    if not spec.base_url:
        raise NoAgentError(f"no address was given for the model {spec.name}", "give its endpoint with --base-url …/v1")
    policies = {BaselineName.rag: model.rag_policy, BaselineName.closed_book: model.closed_book_policy}
    if name and name not in policies:
        raise NoAgentError(f"the baseline {name.value} uses no model", "leave out --model, or --baseline")
    endpoint = Endpoint(spec.base_url, spec.name, spec.key, extra=spec.extra)
    speaker = model.SampledModel(endpoint, spec.temperature, spec.max_tokens)
    policy = policies[name](speaker) if name else model.tool_calling_policy(speaker, PROTOCOLS[spec.protocol.value])
    manifest_fields = {
        **{"model": spec.name, "endpoint": spec.base_url, "policy": name.value if name else ""},
        **{"protocol": "" if name else spec.protocol.value, "temperature": spec.temperature},
        **{"max_tokens": spec.max_tokens, "extra": dict(spec.extra)},
    }
    return Agent(policy, manifest_fields, endpoint)
