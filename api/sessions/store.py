"""Sessions by name: opened with a policy, looked up again, and reported. They are stored behind the `Ledger` port."""

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
"""Most steps in one report."""
SHORT = 100
"""Steps of a session that can be reported without holding the event loop for long."""
_KEPT = 4096
"""Sessions that are remembered in memory; beyond them all are forgotten and read again."""
_Known = tuple[Policy, str, Draws]
"""Policy of a session, its snapshot (empty for the one that is served), and its randomness."""


class Book:
    """Thread-safe store of sessions."""

    def __init__(self, ledger: Ledger, worlds: Worlds) -> None:
        self._ledger = ledger
        self._worlds = worlds
        self._read: dict[str, _Known] = {}

    def open(self, policy: Policy) -> dict[str, Any]:
        """Open a session on the policy's snapshot, else on the one that is served now; return what `POST /v1/sessions`
        answers.

        Raises:
            SnapshotError: no snapshot is open.
            ServiceRefusal: the policy names a snapshot that cannot be opened.
        """
        snapshot = self._snapshot(policy)
        record = orjson.dumps({"policy": as_json(policy), "snapshot": snapshot})
        session = self._ledger.open(OPENED + identity(policy), record)
        self._remember(session, (policy, snapshot, draws(policy)))
        return {"session": session, "path": f"/s/{session}", "snapshot": snapshot, "policy": as_json(policy)}

    def opens_at_once(self, policy: Policy) -> bool:
        """True if no files must be opened for a session with this policy."""
        return self._worlds.are_open(policy, "")

    def _snapshot(self, policy: Policy) -> str:
        """Return the id of the snapshot for a new session, opening it."""
        try:
            return self._worlds.of(policy, "").snapshot
        except SnapshotError as error:
            if policy.snapshot:
                raise Refused(error.message, reason="no-such-snapshot", status=404, action=error.action) from error
            raise

    def rules(self, session: Session, wait: bool = True) -> Rules:
        """Return the session with its policy, world and randomness.

        Raises:
            ServiceRefusal: nobody opened the session.
            SnapshotError: its snapshot is gone.
            BlockingIOError: `wait` is False, and files must be opened.
        """
        policy, snapshot, drawn = self._look_up(session.id, session.policy)
        if not wait and not self._worlds.are_open(policy, snapshot):
            raise BlockingIOError
        return Rules(session.id, policy, self._worlds.of(policy, snapshot), drawn)

    def _look_up(self, session: str, carried: Policy | None = None) -> _Known:
        """Return a session from memory, else from the ledger. `inline_policy` is the policy in its name, if any."""
        return self._read.get(session) or self._remember(session, self._found(session, carried))

    def _remember(self, session: str, known: _Known) -> _Known:
        """Remember a session in memory and return it."""
        if len(self._read) >= _KEPT:
            self._read.clear()
        self._read[session] = known
        return known

    def _found(self, session: str, carried: Policy | None) -> _Known:
        """Return a session from the ledger; one that carries its policy in its name is saved there first."""
        if carried is not None and not session.startswith(OPENED):
            self._ledger.keep(session, orjson.dumps({"policy": as_json(carried), "snapshot": ""}))
            return carried, "", draws(carried)
        if (record := self._ledger.record(session)) is None:
            raise no_such_session(session)
        told = orjson.loads(record)
        policy = make_policy(told["policy"])
        return policy, told["snapshot"], draws(policy)

    def is_short(self, session: str) -> bool:
        """True if the session has so few steps that its report may be made on the event loop."""
        return self._ledger.tally(session).steps <= SHORT

    def account(self, session: str, first: int, limit: int) -> dict[str, Any]:
        """Return the report of a session: policy, budget, faults, and at most `limit` steps from step `first` on."""
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
    """Return what remains of each budget; None if it has no limit."""
    limits = {kind: getattr(policy.budget, kind) for kind in KINDS}
    return {kind: None if limit is None else max(0, limit - getattr(tally, kind)) for kind, limit in limits.items()}


def _faults(steps: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of injected faults in the steps, by kind."""
    counts: dict[str, int] = {}
    for step in steps:
        for kind in step["weather"]:
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def no_such_session(session: str) -> Refused:
    """Return the 404 error for a session that nobody opened."""
    return Refused(
        f"there is no session {session[:80]!r}",
        reason="no-such-session",
        status=404,
        action="open it: POST /v1/sessions",
    )
