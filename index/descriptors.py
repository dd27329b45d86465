"""Tells errors that are about file descriptors from those about the file that could not be opened."""

from __future__ import annotations

import errno
import os

ADVICE = "raise the limit of open files (ulimit -n), or let clients keep fewer connections open"
"""Advice for the case that no descriptor is left."""
_TEXTS = tuple(os.strerror(number) for number in (errno.EMFILE, errno.ENFILE))


def choose_advice(error: Exception, advice: str) -> str:
    """Return what helps against an error: more descriptors if none was left, else the given advice.

    The text of the error decides, since LMDB has no error class of its own for this.
    """
    return ADVICE if any(text in str(error) for text in _TEXTS) else advice
