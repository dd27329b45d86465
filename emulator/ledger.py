"""Port: what is written down of sessions, in one place for all serving processes. `webemu.index.ledger` is the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

Kind = Literal["searches", "fetches", "bytes"]
KINDS: tuple[Kind, ...] = ("searches", "fetches", "bytes")


class Tally(NamedTuple):
    """What a session has done and used so far."""

    steps: int = 0
    searches: int = 0
    fetches: int = 0
    bytes: int = 0


class Place(NamedTuple):
    """Where a URL was shown last."""

    step: int
    rank: int


class Begun(NamedTuple):
    """A step that has its place."""

    number: int
    """From 1."""
    attempt: int
    """How often the session has asked the very same before."""
    bytes: int
    """Of answers that the session had until now."""


class Ledger(Protocol):
    """Sessions are kept by id. Every method is one transaction."""

    def open(self, name: str, record: bytes) -> str:
        """A new session; its id begins with the name, which others may have too."""

    def keep(self, session: str, record: bytes) -> None:
        """A session whose id is known, unless it is there."""

    def record(self, session: str) -> bytes | None:
        """What it was opened with; None if there is no such session."""

    def begin(self, session: str, request: bytes) -> Begun:
        """The next step."""

    def spend(self, session: str, kind: Kind, limit: int) -> bool:
        """Use one of a budget; False, and nothing used, where none is left."""

    def note(self, session: str, step: int, entry: bytes, shown: Mapping[str, int], used: Mapping[Kind, int]) -> None:
        """Write down what a step was, at which ranks it showed which URLs, and what it used without being asked."""

    def places(self, session: str, urls: tuple[str, ...]) -> dict[str, Place]:
        """Where these URLs were shown last, of those that were."""

    def tally(self, session: str) -> Tally:
        """Its counts; all 0 for one that has done nothing."""

    def entries(self, session: str, first: int, limit: int) -> list[bytes]:
        """What was written down, from a step on."""
