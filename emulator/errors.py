"""Every error of the project, as one tree.

    EmulatorError
    +-- BadRequest          the request cannot be understood                       400
    +-- NotCaptured         the crawl does not hold the page                       404
    +-- ViewUnavailable     the capture has no such view (text of a picture)       406
    +-- ServiceRefusal      not allowed, or not now: key, rate, budget             401, 403, 404, 405, 429
    +-- Overloaded          the server cannot answer now; retry                    503
    +-- SourceError         a dump cannot be read at all                           -
    +-- CatalogError        the catalog is missing, locked or of another version   503
    +-- SnapshotError       no snapshot, or one that is damaged                    503
    +-- PayloadError        the capture is known but its bytes are gone or unsafe  502

`message` says what happened and where, `action` what to do next, `reason` is the stable name that clients test. Paths
of this machine go into `location` alone: clients get the message, the log and the command line get `str(error)`. An
internal error is never disguised as an empty result.
"""

from __future__ import annotations

from webemu.emulator.surrogates import replace_surrogates


class EmulatorError(Exception):
    """Base of all errors of the project."""

    status = 500
    """HTTP status with which a server reports the error."""
    reason = "internal-error"
    """Stable, machine-readable name of the error."""

    def __init__(self, message: str, *, action: str = "", reason: str = "", location: str = "") -> None:
        """Store the texts, with lone surrogates replaced by question marks so that they can be written in UTF-8."""
        self.message = replace_surrogates(message)
        self.action = replace_surrogates(action)
        super().__init__(f"{self.message} ({replace_surrogates(location)})" if location else self.message)
        if reason:
            self.reason = reason
            """Stable, machine-readable name of the error."""


class BadRequest(EmulatorError):
    """The request, a setting or an option cannot be understood."""

    status = 400
    reason = "bad-request"


class ServiceRefusal(EmulatorError):
    """A service refuses a request that it understands.

    Reasons: `bad-key`, `rate-limited`, `no-such-route`, `method-not-allowed`, and others.
    """

    def __init__(self, message: str, *, reason: str, status: int, action: str = "") -> None:
        super().__init__(message, action=action, reason=reason)
        self.status = status


class NotCaptured(EmulatorError):
    """The crawl does not hold the page.

    Reasons: `host-not-captured`, `url-not-captured`, `redirect-not-captured`, `redirect-loop`.
    """

    status = 404
    reason = "url-not-captured"


class ViewUnavailable(EmulatorError):
    """The capture exists but not in the requested view, such as the text of an image."""

    status = 406
    reason = "no-such-view"


class Overloaded(EmulatorError):
    """The server is too busy; a later attempt may succeed."""

    status = 503
    reason = "overloaded"


class SourceError(EmulatorError):
    """A dump cannot be read at all."""

    reason = "source-unreadable"


class CatalogError(EmulatorError):
    """The catalog is missing, locked or of another version."""

    status = 503
    reason = "catalog-unavailable"


class SnapshotError(EmulatorError):
    """The snapshot is missing or damaged."""

    status = 503
    reason = "snapshot-unavailable"


class PayloadError(EmulatorError):
    """The capture is known, but its bytes are gone or unsafe to decode.

    Reasons: `payload-missing`, `payload-too-large`, `payload-undecodable`.
    """

    status = 502
    reason = "payload-missing"
