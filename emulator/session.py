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
from webemu.emulator.policy import Policy, identity, read_policy

OPENED, INLINE = "ws-", "wp-"
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Session:
    """The rules under which one client's requests are answered."""

    name: str = ""
    at: datetime | None = None
    """Answer with the capture nearest to this moment (UTC); None answers with the latest."""
    marks: bool = True
    """True if responses carry the `X-Webemu-*` headers."""
    id: str = ""
    """Id under which its requests are recorded; empty if it has no policy."""
    policy: Policy | None = None
    """Policy of the session; None if it has none, or if it has not been looked up yet."""

    def ruled(self, policy: Policy) -> Session:
        """Return the session under a policy, which can only restrict it further."""
        # The earlier moment wins: a client must not see past its policy's cutoff.
        days = [day for day in (self.at, policy.as_of) if day is not None]
        return replace(self, at=min(days, default=None), marks=self.marks and policy.marks, policy=policy)


@lru_cache(1024)
def parse(text: str) -> Session:
    """Return the session that a credential names.

    Raises BadRequest for an unknown setting, a bad value or a bad policy.

        parse_session("run-7;at=2024-11-30")
    """
    name, *settings = text.split(";")
    at, marks = None, True
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "at":
            at = parse_time(value)
        elif key == "marks" and value in _SWITCH:
            marks = _SWITCH[value]
        else:
            raise BadRequest(
                f"{setting[:80]!r} is not a session setting",
                reason="bad-session",
                action="write the session as NAME;at=DATE;marks=off",
            )
    session = Session(name, at, marks, name if name.startswith(OPENED) else "")
    if not name.startswith(INLINE):
        return session
    policy = read_policy(_decoded(name.removeprefix(INLINE)))
    return replace(session.ruled(policy), id=INLINE + identity(policy))


def is_session(text: str) -> bool:
    """True if a key or user name is that of a session with a policy."""
    return text.startswith((OPENED, INLINE))


def inline(policy: bytes) -> str:
    """Return the session name that carries a policy, given as JSON."""
    return INLINE + urlsafe_b64encode(policy).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    """Return the bytes of base64url with or without padding. Raises BadRequest."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest(
            "the policy is not valid base64url", reason="bad-policy", action="see docs/sessions.md"
        ) from error
