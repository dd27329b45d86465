"""Session credentials: what a client sends as proxy user name or in the header `X-Webemu-Session`.

    NAME[;at=DATE][;marks=off]

`NAME` is free and identifies the rollout. `at` is the day on which the web is seen; `marks=off` suppresses the
`X-Webemu-*` headers. `ws-…` is a session that was opened with a policy, `wp-…` is a policy itself, as base64url of its
JSON.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest
from webemu.emulator.policy import Policy, parse_policy, policy_fingerprint

OPENED_PREFIX, INLINE_PREFIX = "ws-", "wp-"
_SWITCH_VALUES = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Session:
    """The rules under which one client's requests are answered."""

    name: str = ""
    at_time: datetime | None = None
    """Answer with the capture nearest to this moment (UTC); None answers with the latest."""
    sends_debug_headers: bool = True
    """True if responses carry the `X-Webemu-*` headers."""
    id: str = ""
    """Id under which its requests are recorded; empty if it has no policy."""
    policy: Policy | None = None
    """Policy of the session; None if it has none, or if it has not been looked up yet."""
    limits_id: str = ""
    """Id of the session whose policy holds besides its own; empty if none does."""

    def limited_by(self, limits: Session) -> Session:
        """Return the session as it is answered where the policy of another session holds for every request."""
        return replace(self, id=self.id or limits.id, limits_id="" if self.id in ("", limits.id) else limits.id)

    def with_policy(self, policy: Policy) -> Session:
        """Return the session under a policy, which can only restrict it further."""
        # The earlier moment wins: a client must not see past its policy's cutoff.
        moments = [day for day in (self.at_time, policy.as_of) if day is not None]
        return replace(
            self,
            at_time=min(moments, default=None),
            sends_debug_headers=self.sends_debug_headers and policy.marks,
            policy=policy,
        )


@lru_cache(1024)
def parse_session(text: str) -> Session:
    """Return the session that a credential names.

    Raises BadRequest for an unknown setting, a bad value or a bad policy.

        parse_session("run-7;at=2024-11-30")
    """
    name, *settings = text.split(";")
    at_time, sends_debug_headers = None, True
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "at":
            at_time = parse_time(value)
        elif key == "marks" and value in _SWITCH_VALUES:
            sends_debug_headers = _SWITCH_VALUES[value]
        else:
            raise BadRequest(
                f"{setting[:80]!r} is not a session setting",
                reason="bad-session",
                action="write the session as NAME;at=DATE;marks=off",
            )
    session = Session(name, at_time, sends_debug_headers, name if name.startswith(OPENED_PREFIX) else "")
    if not name.startswith(INLINE_PREFIX):
        return session
    policy = parse_policy(_decode_base64(name.removeprefix(INLINE_PREFIX)))
    return replace(session.with_policy(policy), id=INLINE_PREFIX + policy_fingerprint(policy))


def has_policy_prefix(text: str) -> bool:
    """True if a key or user name is that of a session with a policy."""
    return text.startswith((OPENED_PREFIX, INLINE_PREFIX))


def encode_inline_policy(policy: bytes) -> str:
    """Return the session name that carries a policy, given as JSON."""
    return INLINE_PREFIX + urlsafe_b64encode(policy).decode().rstrip("=")


def _decode_base64(text: str) -> bytes:
    """Return the bytes of base64url with or without padding. Raises BadRequest."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest(
            "the policy is not valid base64url", reason="bad-policy", action="see docs/sessions.md"
        ) from error
