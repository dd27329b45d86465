"""The rules of one session: what its web does not hold, how much it may use, what weather it has.

A policy is a value: it says nothing of what happened. Two sessions with the same policy see the same web and the same
weather. It is read from JSON, strictly: a name that is not known is refused, since a misspelled rule guards nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from typing import Any

from webemu.emulator import json_text
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest
from webemu.emulator.surrogates import is_whole
from webemu.emulator.weather import FAIR, RATES, Latency, Weather

MAX_TEXT = 200
"""Characters of a name."""
LATENCIES = ("constant", "uniform", "lognormal")


@dataclass(frozen=True, slots=True)
class Blocked:
    """What the session's web does not hold, in any spelling, on any way."""

    domains: tuple[str, ...] = ()
    """Hosts, with all names under them."""
    urls: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Whole URLs with `*` for anything, in any case of letters; without a scheme, of any scheme."""
    texts: tuple[str, ...] = ()
    """Pages that say one of them, whatever their case and spaces."""
    ngrams: tuple[str, ...] = ()
    """Pages with a run of 13 words of such a hash (`webemu.emulator.ngrams`)."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be used; None is without end."""

    searches: int | None = None
    fetches: int | None = None
    bytes: int | None = None
    """Of answers: what is over it is answered in whole, and nothing after."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One session's rules."""

    task: str = ""
    rollout: str = ""
    snapshot: str = ""
    """Id; empty for the one that is served when the session begins."""
    as_of: datetime | None = None
    """What was captured later does not exist."""
    engine: str = ""
    """Way of searching by name; empty for the snapshot's own."""
    seed: int = 0
    marks: bool = True
    """Whether answers bear our `X-Webemu-*` headers."""
    blocked: Blocked = Blocked()
    budget: Budget = Budget()
    weather: Weather = FAIR

    @property
    def guards(self) -> bool:
        """Whether its web holds less than the crawl."""
        return self.as_of is not None or self.blocked != Blocked()


def read_policy(text: bytes | str) -> Policy:
    """A policy from a JSON object. Raises BadRequest."""
    try:
        value = json_text.read_once(text)
    except ValueError as error:
        raise _bad(f"is no JSON: {error}") from error
    return make_policy(value)


def make_policy(value: Any) -> Policy:
    """A policy from a JSON object's value; what is null is as not given. Raises BadRequest."""
    given = _members(value, "", {field.name for field in fields(Policy)})
    made: dict[str, Any] = {name: _text(given, name) for name in ("task", "rollout", "snapshot", "engine")}
    made["as_of"] = parse_time(_text(given, "as_of")) if given.get("as_of") else None
    made["seed"] = _whole(given, "seed", 0)
    made["marks"] = _switch(given, "marks")
    made["blocked"] = _blocked(given.get("blocked") or {})
    made["budget"] = _budget(given.get("budget") or {})
    made["weather"] = _weather(given.get("weather") or {})
    return Policy(**made)


def _blocked(value: Any) -> Blocked:
    names = [field.name for field in fields(Blocked)]
    given = _members(value, "blocked.", set(names))
    return Blocked(**{name: _texts(given.get(name) or [], f"blocked.{name}") for name in names})


def _budget(value: Any) -> Budget:
    names = [field.name for field in fields(Budget)]
    given = _members(value, "budget.", set(names))
    return Budget(**{name: _whole(given, name, 0) if name in given else None for name in names})


def _weather(value: Any) -> Weather:
    given = _members(value, "weather.", {field.name for field in fields(Weather)})
    made: dict[str, Any] = {name: _number(given, name, 1.0) for name in RATES if name in given}
    made |= {name: _number(given, name, 600_000.0) for name in ("hold_ms",) if name in given}
    made |= {name: _whole(given, name, 0) for name in ("retry_after",) if name in given}
    latency = _members(given.get("latency") or {}, "weather.latency.", {"kind", "ms", "spread"})
    kind = _text(latency, "kind") or "constant"
    if kind not in LATENCIES:
        raise _bad(f"has no latency {kind!r}", f"one of {', '.join(LATENCIES)}")
    numbers = {name: _number(latency, name, 60_000.0) for name in ("ms", "spread") if name in latency}
    weather = Weather(latency=Latency(kind, **numbers), **made)
    if weather.timeouts + weather.errors + weather.rate_limits + weather.resets + weather.truncated > 1 + 1e-9:
        raise _bad("has rates of faults that are over 1 together")
    return weather


def _members(value: Any, where: str, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _bad(f"has no object at {where.rstrip('.') or 'its root'}")
    if unknown := sorted(value.keys() - known):
        raise _bad(f"has no {where}{unknown[0][:60]}", f"known ones: {', '.join(sorted(known))}")
    return {name: member for name, member in value.items() if member is not None}


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise _bad(f"has a {name} that is no text of at most {MAX_TEXT} characters")
    if not is_whole(value):
        raise _bad(f"has a {name} with half of a character (a lone surrogate) in it")
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise _bad(f"has a {name} that is no list of texts that say something")
    if not all(map(is_whole, value)):
        raise _bad(f"has a {name} with half of a character (a lone surrogate) in it")
    return tuple(sorted(set(value)))


def _whole(given: Mapping[str, Any], name: str, least: int) -> int:
    value = given.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise _bad(f"has a {name} that is no whole number from {least}")
    return value


def _number(given: Mapping[str, Any], name: str, most: float) -> float:
    value = given[name]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (isfinite(value) and 0 <= value <= most):
        raise _bad(f"has a {name} that is no number from 0 to {most:g}")
    return float(value)


def _switch(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, True)
    if not isinstance(value, bool):
        raise _bad(f"has a {name} that is neither true nor false")
    return value


def _bad(what: str, action: str = "see docs/sessions.md") -> BadRequest:
    return BadRequest(f"the policy {what}", reason="bad-policy", action=action)


_USUAL = Policy()


def as_json(policy: Policy) -> dict[str, Any]:
    """The policy as JSON has it, without what is as ever."""
    value = _unusual(policy, _USUAL)
    if policy.as_of:
        value["as_of"] = policy.as_of.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return value


def _unusual(value: Any, usual: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as usual."""
    pairs = ((field.name, getattr(value, field.name), getattr(usual, field.name)) for field in fields(value))
    return {name: _told(of, as_ever) for name, of, as_ever in pairs if of != as_ever}


def _told(value: Any, usual: Any) -> Any:
    if is_dataclass(value):
        return _unusual(value, usual)
    return list(value) if isinstance(value, tuple) else value


def identity(policy: Policy) -> str:
    """What its draws are about: the same for the same rules, whatever order or spelling they were given in."""
    text = json.dumps(as_json(policy), sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=10).hexdigest()
