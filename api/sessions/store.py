"""Sessions by name: opened with a policy, looked up again, and reported. They are stored behind the `Ledger` port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TypedDict

import orjson

from webemu.api.sessions.step import ActiveSession, session_random
from webemu.api.sessions.step_record import StepEntry
from webemu.api.sessions.worlds import WorldCache
from webemu.emulator.errors import ServiceRefusal, SnapshotError
from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.ledger import BUDGET_KINDS, Ledger, SessionUsage
from webemu.emulator.policy import UNLIMITED, Budget, Policy, policy_fingerprint, policy_from_json, policy_to_json
from webemu.emulator.policy_join import join_policies
from webemu.emulator.session import INLINE_PREFIX, OPENED_PREFIX, Session

MAX_STEPS = 10_000
"""Most steps in one report."""
MAX_STEPS_INLINE = 100
"""Steps of a session that can be reported without holding the event loop for long."""
ID_BYTES = 16
"""Random bytes in the id of an opened session: nobody guesses another's, and it says nothing of the policy."""
_MAX_CACHED = 4096
"""Sessions that are remembered in memory; beyond them all are forgotten and read again."""


@dataclass(frozen=True, slots=True)
class _SessionEntry:
    """A session as it was opened."""

    policy: Policy
    snapshot: str
    """Snapshot id; empty for the one that the policy names, else the one that is served."""
    keyed_random: KeyedRandom
    """Randomness of the session."""
    limits: Budget = UNLIMITED
    """Budget of the listener, which all its sessions share."""

    @staticmethod
    def create(policy: Policy, snapshot: str, limits: Budget = UNLIMITED) -> _SessionEntry:
        """Return the entry of a session with this policy on this snapshot."""
        return _SessionEntry(policy, snapshot, session_random(policy), limits)

    @property
    def pinned_policy(self) -> Policy:
        """Policy that names the snapshot on which the session stays."""
        return replace(self.policy, snapshot=self.snapshot or self.policy.snapshot)

    def to_json(self) -> bytes:
        """Return the record from which `from_json` makes an equal entry."""
        return orjson.dumps({"policy": policy_to_json(self.policy), "snapshot": self.snapshot})

    @staticmethod
    def from_json(record: bytes) -> _SessionEntry:
        """Return the entry that a record describes."""
        members = orjson.loads(record)
        return _SessionEntry.create(policy_from_json(members["policy"]), members["snapshot"])


def _join_entries(limits: _SessionEntry, named: _SessionEntry) -> _SessionEntry:
    """Return a session as it is where the policy of `limits` holds as well. Raises BadRequest if both cannot."""
    snapshot = join_policies(limits.pinned_policy, named.pinned_policy).snapshot
    return _SessionEntry.create(join_policies(limits.policy, named.policy), snapshot, limits.policy.budget)


def save_policy(policy: Policy, ledger: Ledger) -> str:
    """Return the id of the session that all requests under a policy without a session of their own share; store it."""
    session = INLINE_PREFIX + policy_fingerprint(policy)
    ledger.save_session(session, _SessionEntry.create(policy, "").to_json())
    return session


def open_fresh_session(policy: Policy, ledger: Ledger) -> str:
    """Return the id of a new session with this policy, which has done nothing yet; store it."""
    session = OPENED_PREFIX + token_hex(ID_BYTES)
    ledger.save_session(session, _SessionEntry.create(policy, "").to_json())
    return session


class OpenedSession(TypedDict):
    """Response of `POST /v1/sessions`."""

    session: str
    path: str
    snapshot: str
    policy: Mapping[str, object]


class SessionReport(TypedDict):
    """Response of `GET /v1/sessions/<session>`; `webemu.api.sessions.models` documents its members."""

    session: str
    snapshot: str
    policy: Mapping[str, object]
    steps: int
    spent: Mapping[str, int]
    left: Mapping[str, int | None]
    faults: Mapping[str, int]
    failures: int
    requests: list[StepEntry]
    next: int | None


class SessionStore:
    """Thread-safe store of sessions."""

    def __init__(self, ledger: Ledger, worlds: WorldCache) -> None:
        self._ledger = ledger
        self._worlds = worlds
        self._cache: dict[str, _SessionEntry] = {}

    def open(self, policy: Policy) -> OpenedSession:
        """Open a session on the policy's snapshot, else on the one that is served now; return what `POST /v1/sessions`
        answers.

        Raises:
            SnapshotError: no snapshot is open.
            ServiceRefusal: the policy names a snapshot that cannot be opened.
        """
        entry = _SessionEntry.create(policy, self._snapshot(policy))
        session = OPENED_PREFIX + token_hex(ID_BYTES)
        self._ledger.save_session(session, entry.to_json())
        self._remember(session, entry)
        return {
            "session": session,
            "path": f"/s/{session}",
            "snapshot": entry.snapshot,
            "policy": policy_to_json(policy),
        }

    def can_open_inline(self, policy: Policy) -> bool:
        """True if no files must be opened, and no pages read, for a session with this policy."""
        return self._worlds.is_open(policy, "") and not policy.blocked.similar

    def _snapshot(self, policy: Policy) -> str:
        """Return the id of the snapshot for a new session, opening it."""
        try:
            return self._worlds.get(policy, "").snapshot
        except SnapshotError as error:
            if policy.snapshot:
                raise ServiceRefusal(
                    error.message, reason="no-such-snapshot", status=404, action=error.action
                ) from error
            raise

    def activate(self, session: Session, wait: bool = True) -> ActiveSession:
        """Return the session with its policy, world and randomness.

        Raises:
            ServiceRefusal: nobody opened the session.
            SnapshotError: its snapshot is gone.
            BlockingIOError: `wait` is False, and files must be opened.
        """
        entry = self._look_up(session.id, session.policy)
        if session.limits_id:
            entry = self._look_up_limited(session, entry)
        world = self._worlds.get(entry.policy, entry.snapshot, wait)
        return ActiveSession(session.id, entry.policy, world, entry.keyed_random, session.limits_id, entry.limits)

    def _look_up_limited(self, session: Session, named: _SessionEntry) -> _SessionEntry:
        """Return the session as it is where another one's policy holds as well. Raises BadRequest if both cannot."""
        key = f"{session.id} {session.limits_id}"
        return self._cache.get(key) or self._remember(key, _join_entries(self._look_up(session.limits_id), named))

    def _look_up(self, session: str, inline_policy: Policy | None = None) -> _SessionEntry:
        """Return a session from memory, else from the ledger. `inline_policy` is the policy in its name, if any."""
        return self._cache.get(session) or self._remember(session, self._load(session, inline_policy))

    def _remember(self, session: str, entry: _SessionEntry) -> _SessionEntry:
        """Remember a session in memory and return it."""
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[session] = entry
        return entry

    def _load(self, session: str, inline_policy: Policy | None) -> _SessionEntry:
        """Return a session from the ledger; one that carries its policy in its name is saved there first."""
        if inline_policy is not None and not session.startswith(OPENED_PREFIX):
            save_policy(inline_policy, self._ledger)
            return _SessionEntry.create(inline_policy, "")
        if (record := self._ledger.read_session(session)) is None:
            raise no_such_session_error(session)
        return _SessionEntry.from_json(record)

    def can_report_inline(self, session: str) -> bool:
        """True if the session has so few steps that its report may be made on the event loop."""
        return self._ledger.read_usage(session).steps <= MAX_STEPS_INLINE

    def build_report(self, session: str, first: int, limit: int) -> SessionReport:
        """Return the report of a session: policy, budget, faults, and at most `limit` steps from step `first` on."""
        entry = self._look_up(session)
        usage = self._ledger.read_usage(session)
        steps: list[StepEntry] = [orjson.loads(step) for step in self._ledger.entries(session, first, limit)]
        is_last = not steps or steps[-1]["step"] >= usage.steps or len(steps) < limit
        return {
            "session": session,
            "snapshot": entry.snapshot or entry.policy.snapshot,
            "policy": policy_to_json(entry.policy),
            "steps": usage.steps,
            "spent": {kind: getattr(usage, kind) for kind in BUDGET_KINDS},
            "left": _remaining_budget(entry.policy, usage),
            "faults": _count_faults(steps),
            "failures": sum(step["failed"] for step in steps),
            "requests": steps,
            "next": None if is_last else steps[-1]["step"] + 1,
        }


def _remaining_budget(policy: Policy, usage: SessionUsage) -> Mapping[str, int | None]:
    """Return what remains of each budget; None if it has no limit."""
    limits = {kind: getattr(policy.budget, kind) for kind in BUDGET_KINDS}
    return {kind: None if limit is None else max(0, limit - getattr(usage, kind)) for kind, limit in limits.items()}


def _count_faults(steps: list[StepEntry]) -> dict[str, int]:
    """Return the number of injected faults in the steps, by kind."""
    counts: dict[str, int] = {}
    for step in steps:
        for kind in step["weather"]:
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def no_such_session_error(session: str) -> ServiceRefusal:
    """Return the 404 error for a session that nobody opened."""
    return ServiceRefusal(
        f"there is no session {session[:80]!r}",
        reason="no-such-session",
        status=404,
        action="open it: POST /v1/sessions",
    )
