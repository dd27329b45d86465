"""States of an HTTP connection, and the moves between them that `webemu.api.proxy.http_protocol` may make.

A connection has three: how far the request at hand was read, whether more bytes are taken, and whether a request may
be answered inline. They are independent of each other. Each state also has a name of its own in this module, and is
compared by identity: looking up `Reading.IDLE` in its Enum takes longer than all else that a request does with states.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Reading(Enum):
    """Part of a request that is read next."""

    IDLE = "idle"
    """The last request is complete: nothing is expected, and the client may stay silent."""
    LINE = "line"
    """The first line of a request is expected or incomplete. A connection begins here: its client owes a request."""
    HEAD = "head"
    """The first line is complete, and headers are expected."""
    BODY = "body"
    """The head is complete. Every request comes through this state, even if its body is empty."""


class Intake(Enum):
    """Fate of further bytes."""

    OPEN = "open"
    """They are parsed."""
    ENDED = "ended"
    """None will come: the client has shut down its sending side, and waits for the responses."""
    REFUSED = "refused"
    """They are ignored: the request at hand is malformed, and the connection closes after the responses before it."""


class InlineTurn(Enum):
    """Right of a connection to be answered inline. Bytes that were received together give it one turn."""

    FREE = "free"
    """The next request may be answered inline."""
    ANSWERED = "answered"
    """The request at hand was answered inline; its end has not been parsed yet."""
    SPENT = "spent"
    """A request before it in the same bytes was: the others take the usual way, so that other clients get a turn."""


IDLE, LINE, HEAD, BODY = Reading
OPEN, ENDED, REFUSED = Intake
FREE, ANSWERED, SPENT = InlineTurn

MOVES: Mapping[Enum, frozenset[Enum]] = {
    IDLE: frozenset({LINE, HEAD}),
    LINE: frozenset({HEAD, BODY}),  # to BODY if a head follows others in the same bytes
    HEAD: frozenset({BODY}),
    BODY: frozenset({IDLE}),
    OPEN: frozenset({ENDED, REFUSED}),
    ENDED: frozenset(),
    REFUSED: frozenset(),
    FREE: frozenset({ANSWERED}),
    ANSWERED: frozenset({SPENT}),
    SPENT: frozenset({FREE}),
}
"""States that may follow each state. Tests hold every connection to it."""
