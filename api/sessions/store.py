"""Sessions by name: opened with a policy, looked up again, and told what they did. The ledger is behind a port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from webemu.api.sessions.step import Rules, draws
from webemu.api.sessions.worlds import Worlds
from webemu.emulator.errors import Refused, SnapshotError
from webemu.emulator.keyed_random import Draws
from webemu.emulator.ledger import KINDS, Ledger, Tally
from webemu.emulator.policy import Policy, as_json, identity, make_policy
from webemu.emulator.session import OPENED, Session

MOST = 10_000
"""Steps told at once."""
SHORT = 100
"""Steps whose telling does not hold the event loop."""
_KEPT = 4096
_Known = tuple[Policy, str, Draws]
"""A session's policy, its snapshot, and its draws."""


class Book:
    """Thread-safe."""

    def __init__(self, ledger: Ledger, worlds: Worlds) -> None:
        self._ledger = ledger
        self._worlds = worlds
        self._read: dict[str, _Known] = {}

    def open(self, policy: Policy) -> dict[str, Any]:
        """A new session on the policy's snapshot, else on the one that is served now. Raises SnapshotError."""
        snapshot = self._snapshot(policy)
        record = orjson.dumps({"policy": as_json(policy), "snapshot": snapshot})
        session = self._ledger.open(OPENED + identity(policy), record)
        self._remember(session, (policy, snapshot, draws(policy)))
        return {"session": session, "path": f"/s/{session}", "snapshot": snapshot, "policy": as_json(policy)}

    def opens_at_once(self, policy: Policy) -> bool:
        """Whether no files must be opened for it."""
        return self._worlds.are_open(policy, "")

    def _snapshot(self, policy: Policy) -> str:
        try:
            return self._worlds.of(policy, "").snapshot
        except SnapshotError as error:
            if policy.snapshot:
                raise Refused(error.message, reason="no-such-snapshot", status=404, action=error.action) from error
            raise

    def rules(self, session: Session, wait: bool = True) -> Rules:
        """Raises Refused on a session that nobody opened, SnapshotError where its snapshot is gone; BlockingIOError
        where files must be opened and it must not wait."""
        policy, snapshot, drawn = self._look_up(session.id, session.policy)
        if not wait and not self._worlds.are_open(policy, snapshot):
            raise BlockingIOError
        return Rules(session.id, policy, self._worlds.of(policy, snapshot), drawn)

    def _look_up(self, session: str, carried: Policy | None = None) -> _Known:
        return self._read.get(session) or self._remember(session, self._found(session, carried))

    def _remember(self, session: str, known: _Known) -> _Known:
        if len(self._read) >= _KEPT:
            self._read.clear()
        self._read[session] = known
        return known

    def _found(self, session: str, carried: Policy | None) -> _Known:
        """Of the ledger, which is told of a policy that comes without a call."""
        if carried is not None and not session.startswith(OPENED):
            self._ledger.keep(session, orjson.dumps({"policy": as_json(carried), "snapshot": ""}))
            return carried, "", draws(carried)
        if (record := self._ledger.record(session)) is None:
            raise no_such_session(session)
        told = orjson.loads(record)
        policy = make_policy(told["policy"])
        return policy, told["snapshot"], draws(policy)

    def is_short(self, session: str) -> bool:
        """Whether its account is told in no time."""
        return self._ledger.tally(session).steps <= SHORT

    def account(self, session: str, first: int, limit: int) -> dict[str, Any]:
        """Everything about a session; its steps from `first` on."""
        policy, snapshot, _ = self._look_up(session)
        tally = self._ledger.tally(session)
        steps = [orjson.loads(entry) for entry in self._ledger.entries(session, first, limit)]
        told: dict[str, Any] = {"session": session, "snapshot": snapshot or policy.snapshot, "policy": as_json(policy)}
        told |= {"steps": tally.steps, "spent": {kind: getattr(tally, kind) for kind in KINDS}}
        told |= {"left": _left(policy, tally), "faults": _faults(steps)}
        told["failures"] = sum(step["failed"] for step in steps)
        is_last = not steps or steps[-1]["step"] >= tally.steps or len(steps) < limit
        return {**told, "requests": steps, "next": None if is_last else steps[-1]["step"] + 1}


def _left(policy: Policy, tally: Tally) -> Mapping[str, int | None]:
    limits = {kind: getattr(policy.budget, kind) for kind in KINDS}
    return {kind: None if limit is None else max(0, limit - getattr(tally, kind)) for kind, limit in limits.items()}


def _faults(steps: list[dict[str, Any]]) -> dict[str, int]:
    """Injected ones by kind."""
    counts: dict[str, int] = {}
    for step in steps:
        for kind in step["weather"]:
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def no_such_session(session: str) -> Refused:
    return Refused(
        f"there is no session {session[:80]!r}",
        reason="no-such-session",
        status=404,
        action="open it: POST /v1/sessions",
    )
