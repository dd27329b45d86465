"""Every error that a client raises, as one tree: either the web says no, or nothing could be found out.

    ClientError
    +-- WebError                 the web says no, and a repeated request gets the same answer
    |   +-- BadRequest           400, 413: the request cannot be understood
    |   +-- NotCaptured          404: the page, its host or the target of its redirect does not exist
    |   +-- ViewUnavailable      406: the page is an image or the like and has no text
    +-- InfrastructureError      5xx, no answer after all retries, or no webemu server: a trainer masks the rollout

`reason` is the stable name to test; `action` says what to do next. A search without results is an answer, never an
error.
"""

from __future__ import annotations


class ClientError(Exception):
    """Base of all errors of the client."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", action: str = "") -> None:
        super().__init__(f"{message} ({action})" if action else message)
        self.message = message
        self.status = status
        """HTTP status of the response; 0 if there was none."""
        self.reason = reason
        """Stable, machine-readable name of the error."""
        self.action = action
        """Advice on what to do next; may be empty."""


class WebError(ClientError):
    """The web refused the request; safe to show to a model."""


class BadRequest(WebError):
    """A parameter is missing, unreadable or too large."""


class NotCaptured(WebError):
    """The page does not exist in the emulated web.

    Reasons: `host-not-captured`, `url-not-captured`, `redirect-not-captured`, `redirect-loop`.
    """


class ViewUnavailable(WebError):
    """The page has no such view; `Client.raw` returns its bytes."""


class InfrastructureError(ClientError):
    """The server could not be reached, or failed: nothing is known about the web."""

    can_retry = False
    """True if a later attempt may succeed."""
    retry_after = 0.0
    """Seconds to wait before the next attempt, as the server asked."""
