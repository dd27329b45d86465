"""Finds the recorded exchange that answers a request: the exact one first, else one that differs only in what changes
from run to run (`webemu.emulator.exchange_keys`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from webemu.emulator.exchange_keys import ExchangeKeys
from webemu.emulator.ports import PageStore
from webemu.emulator.types import Capture, Payload


class RecordedExchange(NamedTuple):
    """A recorded response, and how it was found."""

    capture: Capture
    payload: Payload
    match: Literal["exact", "near"]
    number: int
    """Position of the response among those of the same key, from 1."""
    total: int
    """Number of responses that were recorded for the key."""


def find_exchange(
    page_store: PageStore, keys: ExchangeKeys, choose: Callable[[str, int], int], wait: bool = True
) -> RecordedExchange | None:
    """Return the recorded exchange that answers a request; None if there is none.

    `choose(key, count)` returns the position, from 0, of the one to use of `count` that were recorded for a key.
    Raises: PayloadError if its bytes are gone or unsafe; BlockingIOError if `wait` is false and a disk would have to be
    read.
    """
    for match, key in (("exact", keys.exact), ("near", keys.near)):
        if captures := page_store.recorded_exchanges(key):
            position = choose(key, len(captures))
            payload = page_store.payload(captures[position], wait)
            return RecordedExchange(
                captures[position], payload, "exact" if match == "exact" else "near", position + 1, len(captures)
            )
    return None
