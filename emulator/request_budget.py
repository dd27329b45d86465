"""The budgets of a request, as it charges them: its session's, and its listener's if that has one.

What has a limit is charged in the ledger at once, so that all workers see it. Anything else is only counted here, and
the ledger records it when the step ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webemu.emulator.errors import ServiceRefusal
from webemu.emulator.ledger import BudgetKind, Ledger
from webemu.emulator.policy import Budget


class Account(NamedTuple):
    """A session whose budget is charged."""

    session: str
    budget: Budget
    used_bytes: int
    """Bytes of its earlier responses."""


class RequestBudget:
    """Charges the searches and fetches of one request to the budgets of one or two sessions."""

    def __init__(self, ledger: Ledger, accounts: Sequence[Account]) -> None:
        """Take the accounts; the first is the session that the request belongs to."""
        self._ledger = ledger
        self._accounts = accounts
        self.unlimited_usage: dict[BudgetKind, int] = {}
        """Units that the session used of resources without a limit. The ledger does not know them yet."""

    def charge(self, kind: BudgetKind) -> None:
        """Charge one unit. Raises ServiceRefusal if a budget is spent."""
        for account in self._accounts:
            limit = getattr(account.budget, kind)
            if limit is not None and not self._ledger.spend(account.session, kind, limit):
                raise _spent_error(kind, limit)
        if getattr(self._accounts[0].budget, kind) is None:
            self.unlimited_usage[kind] = self.unlimited_usage.get(kind, 0) + 1

    def check_bytes(self) -> None:
        """Raise ServiceRefusal if earlier responses have used up a budget of bytes."""
        for account in self._accounts:
            limit = account.budget.bytes
            if limit is not None and account.used_bytes >= limit:
                raise _spent_error("bytes", limit)

    def add_bytes(self, count: int) -> None:
        """Charge the bytes of the response to the accounts after the first, whose step records them itself."""
        for account in self._accounts[1:]:
            self._ledger.add_bytes(account.session, count)


def _spent_error(kind: BudgetKind, limit: int) -> ServiceRefusal:
    """Return the 429 error for a budget that is spent."""
    return ServiceRefusal(f"the session's budget of {limit:,} {kind} is spent", reason="out-of-budget", status=429)
