"""The policy of a request for which two policies hold: the listener's, and that of the session which it names."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from webemu.emulator.errors import BadRequest
from webemu.emulator.policy import Blocked, Policy
from webemu.emulator.weather import FAIR, NO_LATENCY, RATES, Latency, Weather

Value = TypeVar("Value")


def join_policies(limits: Policy, named: Policy) -> Policy:
    """Return the policy under which both hold: what either hides is hidden, and the worse weather of both prevails.

    `limits` is the listener's policy. `named`, the session's, names task and rollout, and has the budget: that of
    `limits` is charged separately, since all sessions of the listener share it.

    Raises:
        BadRequest: no web could keep both, because they name different snapshots, engines, seeds, styles of snippets
            or delays, or because their faults together strike more than every request.
    """
    moments = [policy.as_of for policy in (limits, named) if policy.as_of is not None]
    return replace(
        named,
        task=named.task or limits.task,
        rollout=named.rollout or limits.rollout,
        snapshot=_choose("snapshot", limits.snapshot, named.snapshot, ""),
        as_of=min(moments, default=None),
        engine=_choose("engine", limits.engine, named.engine, ""),
        seed=_choose("seed", limits.seed, named.seed, 0),
        marks=limits.marks and named.marks,
        strict=limits.strict or named.strict,
        snippet=_choose("snippet", limits.snippet, named.snippet, ""),
        blocked=_join_blocked(limits.blocked, named.blocked),
        weather=_join_weather(limits.weather, named.weather),
    )


def _choose(name: str, limit: Value, named: Value, default: Value) -> Value:
    """Return the one of two values that is set. Raises BadRequest if both are, and differ."""
    if default not in (limit, named) and limit != named:
        raise _conflict(f"its {name} is {str(named)[:60]!r}, and the listener's is {str(limit)[:60]!r}")
    return named if limit == default else limit


def _join_blocked(limits: Blocked, named: Blocked) -> Blocked:
    """Return what either blocks."""
    return Blocked(
        domains=_union(limits.domains, named.domains),
        urls=_union(limits.urls, named.urls),
        patterns=_union(limits.patterns, named.patterns),
        texts=_union(limits.texts, named.texts),
        similar=_union(limits.similar, named.similar),
        ngrams=_union(limits.ngrams, named.ngrams),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of both, sorted, as those of a parsed policy are."""
    return tuple(sorted({*first, *second})) if first and second else first or second


def _join_weather(limits: Weather, named: Weather) -> Weather:
    """Return the weather with the higher rate of each fault. Raises BadRequest if they exceed one together."""
    if FAIR in (limits, named):
        return named if limits == FAIR else limits
    rates = {name: max(getattr(limits, name), getattr(named, name)) for name in RATES}
    latency: Latency = _choose("weather.latency", limits.latency, named.latency, NO_LATENCY)
    weather = Weather(
        **rates,
        latency=latency,
        hold_ms=_choose("weather.hold_ms", limits.hold_ms, named.hold_ms, FAIR.hold_ms),
        retry_after=_choose("weather.retry_after", limits.retry_after, named.retry_after, FAIR.retry_after),
    )
    if weather.timeouts + weather.errors + weather.rate_limits + weather.resets + weather.truncated > 1 + 1e-9:
        raise _conflict("their fault rates add up to more than 1")
    return weather


def _conflict(problem: str) -> BadRequest:
    """Return the error for a session that cannot hold at its listener."""
    return BadRequest(
        f"the session cannot be used at this listener: {problem}",
        reason="session-conflict",
        action="leave it out of the session's policy, or use another listener (docs/sessions.md)",
    )
