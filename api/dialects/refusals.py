"""Errors in words that a service of the live web could use: agents read them, so none names this server."""

from __future__ import annotations

from webemu.api.http.errors import is_server_fault
from webemu.emulator.errors import EmulatorError, NotCaptured, PayloadError

UNKNOWN_HOST_REASON = "host-not-captured"
"""Reason of a page whose host the emulated web does not have; for a client, its name does not resolve."""
_MESSAGES = {
    UNKNOWN_HOST_REASON: "Could not resolve host",
    "rate-limited": "Too many requests",
    "out-of-budget": "Usage limit exceeded",
}
"""Messages by reason; they stand before those by kind of error."""
INTERNAL_MESSAGE = "Internal server error"
"""Message of a failure of this server."""


def reword_error(error: EmulatorError) -> EmulatorError:
    """Return an error of the same kind and reason, with a message that the live web could have.

    Services render it: a message of this server names what it has recorded, and its files.

        reword_error(NotCaptured("https://a.example/ was not captured")).message    # "Page not found"
    """
    # An error is made anew without its constructor, whose arguments differ from class to class.
    reworded = type(error).__new__(type(error))
    reworded.__dict__.update(error.__dict__)
    reworded.message = _describe_error(error)
    return reworded


def _describe_error(error: EmulatorError) -> str:
    """Return an error's message as the live web would word it."""
    if is_server_fault(error):
        # The message of a defect is the number of its line in the log, and says nothing else.
        return error.message if type(error) is EmulatorError else INTERNAL_MESSAGE
    if error.reason in _MESSAGES:
        return _MESSAGES[error.reason]
    if isinstance(error, NotCaptured):
        return "Page not found"
    return "The page could not be read" if isinstance(error, PayloadError) else error.message
