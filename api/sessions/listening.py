"""The rules of each listener of a server, from its settings.

A policy is stored in the ledger under the id that its content gives it, so that all workers and restarts agree on it,
and requests that carry no session are recorded there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from webemu.api.http.listener_rules import LISTENER, RULES, ListenerRules
from webemu.api.http.response import Scope
from webemu.api.sessions.store import no_such_session_error, save_policy
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.ledger import Ledger
from webemu.emulator.policy import Policy, parse_policy
from webemu.emulator.session import Session, has_policy_prefix

NO_POLICY = "none"
"""Value of the settings `policy` and `listen` for none."""


class RulesByListener:
    """The rules of all listeners."""

    def __init__(self, default: ListenerRules, bound: Mapping[int | str, ListenerRules]) -> None:
        """Take the rules of listeners that have none of their own, and those of the others by port or path."""
        self._default, self._bound = default, bound
        self._paths_of_users = {key.rpartition("@")[0] for key in bound if isinstance(key, str) and "@" in key}

    @property
    def are_all_open(self) -> bool:
        """True if no listener has rules."""
        return not self._bound and self._default.are_open

    def annotate(self, scope: Scope) -> Scope:
        """Return the request with the rules of its listener. Raises ServiceRefusal for users that it is not for."""
        rules = self._find_rules(scope.get(LISTENER, 0))
        return scope if rules.are_open else {**scope, RULES: rules}

    def _find_rules(self, listener: int | str) -> ListenerRules:
        """Return the rules of a port, or of the path of a Unix socket with the user of the other end."""
        if (rules := self._bound.get(listener)) is not None or isinstance(listener, int):
            return rules or self._default
        path, _, user = listener.rpartition("@")
        if (rules := self._bound.get(path)) is None and path in self._paths_of_users:
            raise ServiceRefusal(
                f"user {user} may not use this listener",
                reason="foreign-user",
                status=403,
                action="name the user in the setting listen, as in unix:PATH@UID=POLICY",
            )
        return rules or self._default


def open_rules(config: Config, ledger: Ledger) -> RulesByListener:
    """Return the rules of all listeners of a server.

    Raises:
        BadRequest: a policy's file cannot be read, or holds no policy.
        ServiceRefusal: nobody opened a session that a listener is bound to.
    """
    pinned = pin_policies(config, ledger)
    bound = {one.key: _rules(one.policy, config) for one in pinned.bound_listeners}
    return RulesByListener(_rules(pinned.policy, config), bound)


def _rules(session: str, config: Config) -> ListenerRules:
    """Return the rules of a listener that is bound to a session."""
    limits = None if session == NO_POLICY else Session(id=session)
    return ListenerRules(limits, config.require_session, config.accepted_keys)


def pin_policies(config: Config, ledger: Ledger) -> Config:
    """Return the settings with the files of policies replaced by ids under which the ledger has them.

    A file that changes while the server runs so changes nothing, not even in a worker that is started again.
    Raises: as `open_rules`.
    """
    listeners = [f"{one.address}={_pin(one.policy, ledger)}" for one in config.bound_listeners]
    return replace(config, policy=_pin(config.policy, ledger), listen=",".join(listeners) or NO_POLICY)


def _pin(policy: str, ledger: Ledger) -> str:
    """Return the id of the session that a policy's file, or an id, stands for."""
    if policy == NO_POLICY:
        return policy
    if not has_policy_prefix(policy):
        return save_policy(read_policy_file(policy), ledger)
    if ledger.read_session(policy) is None:
        raise no_such_session_error(policy)
    return policy


def read_policy_file(name: str) -> Policy:
    """Return the policy in a file. Raises BadRequest, which names the file."""
    try:
        return parse_policy(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        action = "name a file with a policy in JSON (docs/sessions.md), or an opened session ws-…"
        raise BadRequest(f"the policy {name} cannot be read: {error}", action=action) from error
    except EmulatorError as error:
        raise BadRequest(f"{name}: {error.message}", reason=error.reason, action=error.action) from error
