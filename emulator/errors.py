"""Everything that can go wrong, as one tree.

    EmulatorError
    +-- BadRequest          the ask cannot be understood                           400
    +-- NotCaptured         the crawl does not hold it                             404
    +-- NoView              the capture has no such view (text of a picture)       406
    +-- Refused             the asker may not, or not now: key, rate, budget            401, 403, 404, 405, 429
    +-- Overloaded          we cannot answer now; retry                            503
    +-- SourceError         a dump cannot be read at all                           -
    +-- CatalogError        the catalog is missing, locked or of another version   503
    +-- SnapshotError       no snapshot, or one that is damaged                    503
    +-- PayloadError        the capture is known but its bytes are gone or unsafe  502

A message says what happened and where; `action` says what to do next. `reason` is the stable name that clients test.
Paths of this machine are in `place` alone: clients get the message, the log and the command line `str(error)`.
An error of ours is never disguised as a result.
"""

from __future__ import annotations

from webemu.emulator.surrogates import mended


class EmulatorError(Exception):
    """Base of all errors of the house."""

    status = 500
    reason = "internal-error"

    def __init__(self, message: str, *, action: str = "", reason: str = "", place: str = "") -> None:
        """Halves of characters in the texts become question marks: whatever was asked can be said back."""
        self.message = mended(message)
        self.action = mended(action)
        super().__init__(f"{self.message} ({mended(place)})" if place else self.message)
        if reason:
            self.reason = reason


class BadRequest(EmulatorError):
    status = 400
    reason = "bad-request"


class Refused(EmulatorError):
    """What a service refuses. Reasons: `bad-key`, `rate-limited`, `no-such-route`, `method-not-allowed`, and others."""

    def __init__(self, message: str, *, reason: str, status: int, action: str = "") -> None:
        super().__init__(message, action=action, reason=reason)
        self.status = status


class NotCaptured(EmulatorError):
    """Reasons: `host-not-captured`, `url-not-captured`, `redirect-not-captured`, `redirect-loop`."""

    status = 404
    reason = "url-not-captured"


class NoView(EmulatorError):
    status = 406
    reason = "no-such-view"


class Overloaded(EmulatorError):
    status = 503
    reason = "overloaded"


class SourceError(EmulatorError):
    reason = "source-unreadable"


class CatalogError(EmulatorError):
    status = 503
    reason = "catalog-unavailable"


class SnapshotError(EmulatorError):
    status = 503
    reason = "snapshot-unavailable"


class PayloadError(EmulatorError):
    """Reasons: `payload-missing`, `payload-too-large`, `payload-undecodable`."""

    status = 502
    reason = "payload-missing"
