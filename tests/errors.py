"""One error of each kind, and the words that no service may answer it with."""

import re

from webemu.emulator.errors import (
    BadRequest,
    EmulatorError,
    NotCaptured,
    Overloaded,
    PayloadError,
    ServiceRefusal,
    SnapshotError,
    ViewUnavailable,
)

ERRORS: dict[str, EmulatorError] = {
    "bad_key": ServiceRefusal("no such key", reason="bad-key", status=401),
    "rate_limited": ServiceRefusal("slow down", reason="rate-limited", status=429),
    "out_of_budget": ServiceRefusal("nothing left", reason="out-of-budget", status=429),
    "bad_request": BadRequest("what?", reason="bad-query"),
    "not_captured": NotCaptured("https://a.example/ was not captured"),
    "no_host": NotCaptured("a.example was not captured", reason="host-not-captured"),
    "no_view": ViewUnavailable("a picture has no text"),
    "bomb": PayloadError("it unpacks to over 1 GB", reason="payload-too-large"),
    "no_route": ServiceRefusal("no /x", reason="no-such-route", status=404),
    "overloaded": Overloaded("too much waits"),
    "broken": SnapshotError("segment 3 of the snapshot is gone"),
}
OWN_WORDS = re.compile(r"webemu|emulat|snapshot|crawl|captur", re.IGNORECASE)
"""Words that tell an agent where it is."""
