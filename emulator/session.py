"""Who asks, and by which rules: what a client carries in its proxy user name or in `X-Webemu-Session`.

    NAME[;at=DATE][;marks=off]

`NAME` is free: it names the rollout. `at` is the day the web is seen on, `marks=off` leaves out `X-Webemu-*` headers.
`ws-…` names a session that was opened with a policy, `wp-…` is a policy itself, as base64url of its JSON.
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
    """One client's rules."""

    name: str = ""
    at: datetime | None = None
    """The capture nearest to this moment (UTC) answers; None is the latest."""
    marks: bool = True
    """Whether answers bear our `X-Webemu-*` headers."""
    id: str = ""
    """Under which its requests are written down; empty for one without a policy."""
    policy: Policy | None = None
    """None as well for one whose policy was not looked up yet."""

    def ruled(self, policy: Policy) -> Session:
        """The session under a policy, which has the last word."""
        days = [day for day in (self.at, policy.as_of) if day is not None]
        return replace(self, at=min(days, default=None), marks=self.marks and policy.marks, policy=policy)


@lru_cache(1024)
def parse(text: str) -> Session:
    """Read a session. Raises BadRequest on a setting that is unknown or has no such value, and on a bad policy."""
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
                f"{setting[:80]!r} is no setting of a session",
                reason="bad-session",
                action="use NAME;at=DATE;marks=off",
            )
    session = Session(name, at, marks, name if name.startswith(OPENED) else "")
    if not name.startswith(INLINE):
        return session
    policy = read_policy(_decoded(name.removeprefix(INLINE)))
    return replace(session.ruled(policy), id=INLINE + identity(policy))


def is_session(text: str) -> bool:
    """Whether a key or a name is that of a session with a policy."""
    return text.startswith((OPENED, INLINE))


def inline(policy: bytes) -> str:
    """The name that carries a policy, given as JSON."""
    return INLINE + urlsafe_b64encode(policy).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest("the policy is no base64url", reason="bad-policy", action="see docs/sessions.md") from error
