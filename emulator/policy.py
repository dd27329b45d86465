"""The rules of one session: what its web does not contain, how much it may use, and which faults it suffers.

A policy is a value without history: two sessions with the same policy see the same web and the same weather. It is
parsed from JSON strictly; an unknown name is an error, because a misspelled rule would protect nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from typing import Literal

from webemu.emulator import json_text
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest
from webemu.emulator.similar_pages import check_similar
from webemu.emulator.snippet_style import SNIPPET_STYLES, SnippetStyle, find_snippet_style
from webemu.emulator.surrogates import is_utf8_encodable
from webemu.emulator.weather import FAIR, LATENCY_KINDS, RATES, Latency, Weather

MAX_TEXT_CHARS = 200
"""Maximum length of a name, in characters."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Pages that the session's web does not contain, however they are addressed."""

    domains: tuple[str, ...] = ()
    """Blocked hosts, including their subdomains."""
    urls: tuple[str, ...] = ()
    """Blocked URLs, in any equivalent spelling."""
    patterns: tuple[str, ...] = ()
    """Blocked whole URLs, with `*` for anything; case is ignored; a pattern without a scheme matches any scheme."""
    texts: tuple[str, ...] = ()
    """Block pages that contain one of these texts; case and whitespace are ignored."""
    similar: tuple[str, ...] = ()
    """Block pages that hold half of one of these texts or more; a URL stands for the pages that were captured there
    (`webemu.emulator.similar_pages`).
    """
    ngrams: tuple[str, ...] = ()
    """Block pages that contain a run of 13 words with one of these hashes (`webemu.emulator.ngrams`)."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a session; None is unlimited."""

    searches: int | None = None
    fetches: int | None = None
    bytes: int | None = None
    """Limit of response bytes. The response that exceeds it is still sent whole; later requests are refused."""


UNLIMITED = Budget()
"""Budget without limits."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one session."""

    task: str = ""
    rollout: str = ""
    snapshot: str = ""
    """Snapshot id; empty for the one that is being served when the session begins."""
    as_of: datetime | None = None
    """Pages captured after this moment do not exist; None for no limit."""
    engine: str = ""
    """Name of a ranker; empty for the snapshot's default."""
    seed: int = 0
    """Seed of all random values of the session."""
    marks: bool = True
    """True if responses carry the `X-Webemu-*` headers."""
    strict: bool = False
    """True if phrases and `+word` bind in every search, and every dash excludes (`webemu.emulator.types.Query`)."""
    snippet: SnippetStyle | Literal[""] = ""
    """Length of the snippets of every search, whatever the request asks for; empty to leave it to the request."""
    blocked: Blocked = Blocked()
    budget: Budget = Budget()
    weather: Weather = FAIR

    @property
    def restricts_content(self) -> bool:
        """True if the session's web contains less than the crawl."""
        return self.as_of is not None or self.blocked != Blocked()


def parse_policy(text: bytes | str) -> Policy:
    """Return the policy in a JSON text. Raises BadRequest.

    parse_policy('{"blocked": {"domains": ["example.org"]}, "budget": {"searches": 5}}')
    """
    try:
        value = json_text.parse_json_unique_names(text)
    except ValueError as error:
        raise _policy_error(f"is not valid JSON: {error}") from error
    return policy_from_json(value)


def policy_from_json(value: object) -> Policy:
    """Return the policy of a decoded JSON object; null members count as absent. Raises BadRequest."""
    members = _check_members(value, "", {field.name for field in fields(Policy)})
    names = {name: _text_member(members, name) for name in ("task", "rollout", "snapshot", "engine")}
    return Policy(
        **names,
        as_of=parse_time(_text_member(members, "as_of")) if members.get("as_of") else None,
        seed=_integer_member(members, "seed", 0),
        marks=_boolean_member(members, "marks", True),
        strict=_boolean_member(members, "strict", False),
        snippet=_parse_snippet(members),
        blocked=_parse_blocked(members.get("blocked") or {}),
        budget=_parse_budget(members.get("budget") or {}),
        weather=_parse_weather(members.get("weather") or {}),
    )


def _parse_snippet(members: Mapping[str, object]) -> SnippetStyle | Literal[""]:
    """Return the style of the snippets; empty if the policy names none."""
    name = _text_member(members, "snippet")
    style = find_snippet_style(name)
    if name and style is None:
        raise _policy_error(f"has no snippet style {name[:40]!r}: use one of {', '.join(SNIPPET_STYLES)}")
    return style or ""


def _parse_blocked(value: object) -> Blocked:
    """Return the block rules of a JSON object."""
    names = [field.name for field in fields(Blocked)]
    members = _check_members(value, "blocked.", set(names))
    blocked = Blocked(**{name: _check_texts(members.get(name) or [], f"blocked.{name}") for name in names})
    check_similar(blocked.similar)
    return blocked


def _parse_budget(value: object) -> Budget:
    """Return the budget of a JSON object; absent limits are unlimited."""
    names = [field.name for field in fields(Budget)]
    members = _check_members(value, "budget.", set(names))
    return Budget(**{name: _integer_member(members, name, 0) if name in members else None for name in names})


def _parse_weather(value: object) -> Weather:
    """Return the weather of a JSON object. Raises BadRequest if the fault rates add up to more than 1."""
    members = _check_members(value, "weather.", {field.name for field in fields(Weather)})
    rates = {name: _number_member(members, name, 1.0) for name in RATES if name in members}
    weather = Weather(
        **rates,
        hold_ms=_number_member(members, "hold_ms", 600_000.0) if "hold_ms" in members else FAIR.hold_ms,
        retry_after=_integer_member(members, "retry_after", 0) if "retry_after" in members else FAIR.retry_after,
        latency=_parse_latency(members.get("latency") or {}),
    )
    # The tolerance allows for rates whose floating-point sum is a little above 1.
    if weather.timeouts + weather.errors + weather.rate_limits + weather.resets + weather.truncated > 1 + 1e-9:
        raise _policy_error(
            "has fault rates (timeouts, errors, rate_limits, resets, truncated) that add up to more than 1"
        )
    return weather


def _parse_latency(value: object) -> Latency:
    """Return the added delay of a JSON object. Raises BadRequest."""
    members = _check_members(value, "weather.latency.", {"kind", "ms", "spread"})
    text = _text_member(members, "kind") or "constant"
    kind = next((known_kind for known_kind in LATENCY_KINDS if known_kind == text), None)
    if kind is None:
        raise _policy_error(f"has an unknown weather.latency.kind {text!r}", f"use one of {', '.join(LATENCY_KINDS)}")
    numbers = {name: _number_member(members, name, 60_000.0) for name in ("ms", "spread") if name in members}
    return Latency(kind, **numbers)


def _check_members(value: object, where: str, known_names: set[str]) -> Mapping[str, object]:
    """Return the members of an object that are not null. Raises BadRequest for a non-object and for unknown names."""
    if not isinstance(value, dict):
        raise _policy_error(f"must have an object at {where.rstrip('.') or 'its root'}, got {type(value).__name__}")
    if unknown := sorted(value.keys() - known_names):
        raise _policy_error(
            f"has an unknown member {where}{unknown[0][:60]}", f"the members are {', '.join(sorted(known_names))}"
        )
    return {name: member for name, member in value.items() if member is not None}


def _text_member(members: Mapping[str, object], name: str) -> str:
    """Return a string member, or an integer member as a string; empty if absent. Raises BadRequest."""
    value = members.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise _policy_error(f"must have a string of at most {MAX_TEXT_CHARS} characters as {name}")
    if not is_utf8_encodable(value):
        raise _policy_error(f"has a lone surrogate in {name}, which UTF-8 cannot encode")
    return value


def _check_texts(value: object, name: str) -> tuple[str, ...]:
    """Return a list of strings, sorted and without repetitions. Raises BadRequest."""
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise _policy_error(f"must have a list of non-empty strings as {name}")
    if not all(map(is_utf8_encodable, value)):
        raise _policy_error(f"has a lone surrogate in {name}, which UTF-8 cannot encode")
    return tuple(sorted(set(value)))


def _integer_member(members: Mapping[str, object], name: str, minimum: int) -> int:
    """Return an integer member of at least `minimum`; 0 if absent. Raises BadRequest."""
    value = members.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value < 2**63:
        raise _policy_error(f"must have an integer of {minimum} or more as {name}, got {str(value)[:60]}")
    return value


def _number_member(members: Mapping[str, object], name: str, maximum: float) -> float:
    """Return a number member from 0 to `maximum`. Raises BadRequest."""
    value = members[name]
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or not (isfinite(value) and 0 <= value <= maximum)
    ):
        raise _policy_error(f"must have a number from 0 to {maximum:g} as {name}, got {str(value)[:60]}")
    return float(value)


def _boolean_member(members: Mapping[str, object], name: str, default: bool) -> bool:
    """Return a boolean member. Raises BadRequest."""
    value = members.get(name, default)
    if not isinstance(value, bool):
        raise _policy_error(f"must have true or false as {name}")
    return value


def _policy_error(problem: str, action: str = "see docs/sessions.md") -> BadRequest:
    """Return the error for a problem of the policy."""
    return BadRequest(f"the policy {problem}", reason="bad-policy", action=action)


_DEFAULT_POLICY = Policy()
_PolicyPart = Blocked | Budget | Weather | Latency
"""Field of a policy that has fields of its own."""


def policy_to_json(policy: Policy) -> dict[str, object]:
    """Return the policy as JSON values, without the fields that have their default."""
    value = _changed_fields(policy, _DEFAULT_POLICY)
    if policy.as_of:
        value["as_of"] = policy.as_of.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return value


def _changed_fields(value: Policy | _PolicyPart, default: object) -> dict[str, object]:
    """Return the fields of a dataclass that differ from the default, as JSON values."""
    pairs = ((field.name, getattr(value, field.name), getattr(default, field.name)) for field in fields(value))
    return {
        name: _to_json(field_value, default_value)
        for name, field_value, default_value in pairs
        if field_value != default_value
    }


def _to_json(value: object, default: object) -> object:
    """Return a field as a JSON value."""
    if isinstance(value, _PolicyPart):
        return _changed_fields(value, default)
    return list(value) if isinstance(value, tuple) else value


def policy_fingerprint(policy: Policy) -> str:
    """Return a hash of the rules that does not depend on the order or spelling in which they were given.

    It is the key of the session's random values.
    """
    text = json.dumps(policy_to_json(policy), sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=10).hexdigest()
