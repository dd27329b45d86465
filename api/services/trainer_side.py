"""The trainer's side of a server, which is closed to agents: sessions, their ledgers, statistics, dashboard, metrics.

An agent must not read there what its rules are, what others asked, or open itself a session without rules.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from hmac import compare_digest
from urllib.parse import urlsplit

from webemu.api.http.errors import HttpError, no_such_route_error
from webemu.api.http.listener_rules import read_rules
from webemu.api.http.response import Scope
from webemu.api.proxy.target import parse_authority
from webemu.api.services.own_hosts import is_own_host
from webemu.api.sessions.credentials import has_session
from webemu.emulator.errors import EmulatorError

TRAINER_PATHS = frozenset(("/v1/stats", "/dashboard", "/dashboard/figures", "/metrics"))
"""Paths of the trainer's side besides those of sessions."""
NO_TOKEN = "none"
"""Value of the setting `admin_token` for a server without one."""
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal")
"""Endings of names that no site on the web has, so that a page of a site cannot be rebound to this server by them."""
_CHALLENGE = ((b"WWW-Authenticate", b'Basic realm="trainer"'),)
"""Header that lets a browser ask for the token, as the password of any user."""


class TrainerSide:
    """Decides whether a request may use the trainer's side."""

    def __init__(self, token: str, keys: frozenset[str]) -> None:
        """Take the token and the API keys, which do in its place if it is `none`. Without either, the trainer's side is
        open on listeners that are bound to no policy.
        """
        self._tokens = [one.encode() for one in (keys if token == NO_TOKEN else [token])]

    def find_refusal(self, scope: Scope) -> EmulatorError | None:
        """Return the error with which a request is refused; None if it may pass."""
        headers = dict(scope["headers"])
        if has_session(scope["headers"]):
            return no_such_route_error(scope["path"])
        if self._tokens:
            return None if self._has_token(headers.get(b"authorization", b"")) else _token_error()
        if read_rules(scope).limits is not None:
            return no_such_route_error(scope["path"])
        names = [parse_authority(headers.get(b"host", b""))[0], *_origin_hosts(headers.get(b"origin"))]
        return None if all(map(_is_local_name, names)) else _foreign_name_error()

    def _has_token(self, authorization: bytes) -> bool:
        """True if the credentials are the token, as `Bearer` or as the password of `Basic`."""
        scheme, _, credentials = authorization.partition(b" ")
        if scheme.lower() == b"basic":
            try:
                credentials = b64decode(credentials.strip(), validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif scheme.lower() != b"bearer":
            return False
        return any(compare_digest(credentials.strip(), token) for token in self._tokens)


def _origin_hosts(origin: bytes | None) -> list[str]:
    """Return the host of the page that sent a request, in a list; a name that is nobody's if it cannot be read."""
    if origin is None:
        return []
    try:
        return [urlsplit(origin.decode("latin-1")).hostname or "an.opaque.origin"]
    except ValueError:
        return ["an.opaque.origin"]


def _is_local_name(name: str) -> bool:
    """True if no site on the web has this name."""
    return is_own_host(name) or "." not in name or name.endswith(_LOCAL_SUFFIXES)


def _token_error() -> HttpError:
    """Return the 401 error for a missing or wrong token."""
    action = "send it as Authorization: Bearer TOKEN; clients of webemu read it from WEBEMU_ADMIN_TOKEN"
    return HttpError(401, "admin-token-required", "this address takes the token of the trainer", action, _CHALLENGE)


def _foreign_name_error() -> HttpError:
    """Return the 403 error for a request that names this server, or the page it comes from, by a name of the web."""
    action = "call the server by its address or localhost, or set admin_token (docs/sessions.md)"
    return HttpError(403, "foreign-host", "this address answers only to the server's own names", action)
