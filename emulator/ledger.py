"""Port: the record of what sessions did and used, shared by all serving processes. `webemu.index.ledger` implements
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

BudgetKind = Literal["searches", "fetches", "bytes"]
"""A limited resource of a session."""
BUDGET_KINDS: tuple[BudgetKind, ...] = ("searches", "fetches", "bytes")
"""All limited resources."""


class SessionUsage(NamedTuple):
    """Steps, searches, fetches and response bytes that a session has used so far."""

    steps: int = 0
    searches: int = 0
    fetches: int = 0
    bytes: int = 0


class Impression(NamedTuple):
    """The last time a URL was shown in search results."""

    step: int
    """Number of the step that showed it."""
    rank: int
    """Rank at which it was shown."""


class StartedStep(NamedTuple):
    """A step that has just been started."""

    number: int
    """Number of the step, from 1."""
    attempt: int
    """Number of earlier identical requests of the session."""
    bytes: int
    """Response bytes that the session has received so far."""


class Ledger(Protocol):
    """Port: sessions by id. Every method is one transaction."""

    def save_session(self, session: str, record: bytes) -> None:
        """Store a session under a known id, unless it exists."""

    def read_session(self, session: str) -> bytes | None:
        """Return the record that a session was opened with; None if there is no such session."""

    def start_step(self, session: str, request: bytes) -> StartedStep:
        """Start the next step of a session."""

    def count_repeat(self, session: str, key: str) -> int:
        """Count a key of exchanges, and return how often the session has counted it before."""

    def spend(self, session: str, kind: BudgetKind, limit: int) -> bool:
        """Use one unit of a budget. Return False, and use nothing, if none is left."""

    def add_bytes(self, session: str, count: int) -> None:
        """Add to the response bytes that a session has received."""

    def finish_step(
        self, session: str, step: int, entry: bytes, shown_ranks: Mapping[str, int], used: Mapping[BudgetKind, int]
    ) -> None:
        """Write the entry of a step, the ranks at which it showed URLs, and what it used beyond its budgeted units."""

    def find_impressions(self, session: str, urls: tuple[str, ...]) -> dict[str, Impression]:
        """Return where these URLs were last shown; URLs that never were are left out."""

    def read_usage(self, session: str) -> SessionUsage:
        """Return what a session has used; all zeros if it has done nothing."""

    def entries(self, session: str, first: int, limit: int) -> list[bytes]:
        """Return up to `limit` entries, from the step number `first` on."""
