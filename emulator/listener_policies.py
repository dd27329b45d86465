"""The setting `listen`: further listeners, each bound to a policy that no client can leave out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from webemu.emulator.errors import BadRequest

UNIX_PREFIX = "unix:"
"""Beginning of the address of a Unix socket."""
_USER = re.compile(r"(?P<path>.+)@(?P<user>[0-9]{1,9})")
_TCP_ADDRESS = re.compile(r"(?P<host>\[[\w:.%-]+\]|[^:\s]*):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class BoundListener:
    """A listener, and what holds for every request that arrives there."""

    host: str
    """Address of a TCP listener; empty for a Unix socket."""
    port: int
    path: Path | None
    """Path of a Unix socket; None for TCP."""
    policy: str
    """File with a policy in JSON, or the id of an opened session."""
    user: int | None = None
    """User id of the processes at a Unix socket that it holds for; None for all that have none of their own."""

    @property
    def address(self) -> str:
        """Address as it is written in the setting."""
        return f"{UNIX_PREFIX}{self.key}" if self.path else f"[{self.host}]:{self.port}"

    @property
    def key(self) -> int | str:
        """Port, or path with the user if there is one, by which a request is recognized."""
        if self.path is None:
            return self.port
        return str(self.path) if self.user is None else name_peer(str(self.path), self.user)


def name_peer(path: str, user: int) -> str:
    """Return the key of a Unix socket for processes of one user."""
    return f"{path}@{user}"


def parse_listeners(text: str) -> tuple[BoundListener, ...]:
    """Return the listeners of a setting such as `127.0.0.1:8801=policy.json,unix:web.sock@1001=ws-…`; none for `none`.

    Raises:
        BadRequest: an entry is no address with a policy, or two entries have the same port or path.
    """
    entries = [] if text in ("", "none") else [entry.strip() for entry in text.split(",")]
    listeners = tuple(map(_parse_entry, entries))
    keys = [listener.key for listener in listeners]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise BadRequest(f"listen names {twice} twice", action="give each listener a port or path of its own")
    return listeners


def _parse_entry(entry: str) -> BoundListener:
    """Return one listener. Raises BadRequest."""
    address, _, policy = entry.partition("=")
    if policy and address.startswith(UNIX_PREFIX) and (path := address.removeprefix(UNIX_PREFIX)):
        if match := _USER.fullmatch(path):
            return BoundListener("", 0, Path(match["path"]), policy, int(match["user"]))
        return BoundListener("", 0, Path(path), policy)
    match = _TCP_ADDRESS.fullmatch(address)
    if not policy or match is None or not 0 < int(match["port"]) <= 65_535:
        raise BadRequest(
            f"listen must be ADDRESS:PORT=POLICY, unix:PATH=POLICY or unix:PATH@UID=POLICY, got {entry[:80]!r}",
            action="write it as in 127.0.0.1:8801=policy.json; several are separated by commas",
        )
    return BoundListener(match["host"].strip("[]") or "127.0.0.1", int(match["port"]), None, policy)
