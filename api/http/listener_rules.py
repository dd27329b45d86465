"""Rules of a listener, which hold for every request that arrives there, whatever it carries."""

from __future__ import annotations

from dataclasses import dataclass

from webemu.api.http.response import Scope
from webemu.emulator.session import Session

LISTENER = "webemu.listener"
"""Key of an ASGI scope: the address of the listener, a port or the path of a Unix socket."""
RULES = "webemu.rules"
"""Key of an ASGI scope: the rules of the listener, if it has some."""


@dataclass(frozen=True, slots=True)
class ListenerRules:
    """A session that holds for a request whatever it carries, and whether it must carry one."""

    limits: Session | None = None
    """Session whose policy holds for every request; None for none."""
    requires_session: bool = False
    """True if a request that carries no session with a policy is refused."""
    keys: frozenset[str] = frozenset()
    """Keys of which the APIs want one; empty if any key will do, and none."""

    @property
    def are_open(self) -> bool:
        """True if a request without a session or key is answered from the whole web."""
        return self == OPEN

    def limit(self, session: Session) -> Session:
        """Return the session that a request carries as it is answered here."""
        return session if self.limits is None else session.limited_by(self.limits)


OPEN = ListenerRules()
"""Rules of a listener without any."""


def read_rules(scope: Scope) -> ListenerRules:
    """Return the rules of the listener at which a request arrived."""
    rules: ListenerRules = scope.get(RULES, OPEN)
    return rules
