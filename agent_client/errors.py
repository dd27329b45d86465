"""Everything a client can raise, as one tree: either the web says no, or nobody could tell.

    ClientError
    +-- WebError                 the answer is no, and asking again gives the same answer
    |   +-- BadRequest           400, 413: the ask cannot be understood
    |   +-- NotCaptured          404: the page, its host or the target of its redirect does not exist
    |   +-- NoView               406: the page is a picture or the like and has no text
    +-- InfrastructureError      5xx, no answer after all retries, or none of webemu's: a trainer masks the rollout

`reason` is the stable name to test; `action` says what to do next. No results is an answer, never an error.
"""

from __future__ import annotations


class ClientError(Exception):
    """Base of all errors of the client."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", action: str = "") -> None:
        super().__init__(f"{message} ({action})" if action else message)
        self.message = message
        self.status = status
        """HTTP status of the answer; 0 where there was none."""
        self.reason = reason
        self.action = action


class WebError(ClientError):
    """The web's own refusal, safe to show to a model."""


class BadRequest(WebError):
    """A parameter is missing, unreadable or too large."""


class NotCaptured(WebError):
    """Reasons: `host-not-captured`, `url-not-captured`, `redirect-not-captured`, `redirect-loop`."""


class NoView(WebError):
    """The page has no such view; `Client.raw` gives its bytes."""


class InfrastructureError(ClientError):
    """The server could not be asked, or what answered was not a result: says nothing about the web."""

    again = False
    """Whether a later attempt may succeed."""
    after = 0.0
    """Seconds the server asked to wait for."""
