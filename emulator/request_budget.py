"""The budget of a session, as one request charges it.

What has a limit is charged in the ledger at once, so that all workers see it. Anything else is only counted here, and
the ledger records it when the step ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from webemu.emulator.errors import ServiceRefusal
from webemu.emulator.ledger import BudgetKind, Ledger
from webemu.emulator.policy import Budget


class RequestBudget:
    """Charges the searches and fetches of one request to the budget of its session."""

    def __init__(self, ledger: Ledger, session: str, budget: Budget, used_bytes: int) -> None:
        """Take the budget. `used_bytes` counts the bytes of the session's earlier responses."""
        self._ledger = ledger
        self._session = session
        self._limits: Mapping[BudgetKind, int | None] = {
            "searches": budget.searches,
            "fetches": budget.fetches,
            "bytes": budget.bytes,
        }
        self._used_bytes = used_bytes
        self.unlimited_usage: dict[BudgetKind, int] = {}
        """Units that were used of resources without a limit. The ledger does not know them yet."""

    def charge(self, kind: BudgetKind) -> None:
        """Charge one unit. Raises ServiceRefusal if the budget is spent."""
        if (limit := self._limits[kind]) is None:
            self.unlimited_usage[kind] = self.unlimited_usage.get(kind, 0) + 1
        elif not self._ledger.spend(self._session, kind, limit):
            raise _spent_error(kind, limit)

    def check_bytes(self) -> None:
        """Raise ServiceRefusal if the earlier responses of the session have used up its budget of bytes."""
        limit = self._limits["bytes"]
        if limit is not None and self._used_bytes >= limit:
            raise _spent_error("bytes", limit)


def _spent_error(kind: BudgetKind, limit: int) -> ServiceRefusal:
    """Return the 429 error for a budget that is spent."""
    return ServiceRefusal(f"the session's budget of {limit:,} {kind} is spent", reason="out-of-budget", status=429)
