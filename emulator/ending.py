"""Ends a command that failed: two lines on stderr and an exit status; a traceback only on request."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from webemu.emulator import extras
from webemu.emulator.errors import BadRequest, EmulatorError

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
"""Exit statuses other than 0; the last is the one that shells use for Ctrl-C."""
TRACEBACK_VARIABLE = "WEBEMU_TRACEBACK"
"""Environment variable that asks for a traceback."""
MAX_MESSAGE_CHARS = 1000
"""Maximum length of an error message of a library, in characters."""
_DISK_FULL_PHRASES = ("No space left on device", "Disk quota exceeded", "MDB_MAP_FULL", "disk is full")
_OUT_OF_MEMORY_PHRASES = (
    "Out of Memory",
    "Cannot allocate memory",
    "could not allocate",
    "failed to allocate",
    "malloc of size",
)
_LOCK_PHRASES = ("Could not set lock", "Conflicting lock")


def print_error(error: Exception) -> int:
    """Print what happened and what to do, and return the exit status.

    The status is 2 for a BadRequest, unless the operating system caused it, and 1 for everything else.
    """
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    message, action = explain_error(error)
    print(f"webemu: {message}", file=sys.stderr)
    if action:
        print(f"  -> {action}", file=sys.stderr)
    is_usage = isinstance(error, BadRequest) and not isinstance(error.__cause__, OSError)
    return EXIT_USAGE if is_usage else EXIT_FAILED


def explain_error(error: Exception) -> tuple[str, str]:
    """Return what happened and what to do, one line each."""
    if isinstance(error, EmulatorError):
        return str(error), error.action
    if isinstance(error, ImportError) and extras.is_optional(extras.missing_module(error)):
        absent = extras.missing_package_error("this command", [extras.missing_module(error)])
        return absent.message, absent.action
    if isinstance(error, MemoryError):
        return "there is not enough memory", _ACTIONS["memory"]
    kind = _classify_error(error)
    if isinstance(error, OSError) and error.strerror:
        files = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([" -> ".join(files), error.strerror] if files else [error.strerror]), _ACTIONS[kind]
    text = " ".join(str(error).split())[:MAX_MESSAGE_CHARS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, _ACTIONS[kind]


_ACTIONS = {
    "full": "free space on the disk or choose another folder, then repeat the command; stored data is intact",
    "memory": "use fewer --workers, or a machine with more memory",
    "locked": "wait for the other command that writes to this collection, or stop it",
    "denied": "change the owner or permissions of the file, or choose another folder",
    "absent": "name a file that exists",
    "system": "check the file or the connection, then repeat the command",
    "defect": f"this may be a bug in webemu; set {TRACEBACK_VARIABLE}=1 to see the traceback",
}


def _classify_error(error: Exception) -> str:
    """Return the key of `_ACTIONS` that fits an error, by its number or its text."""
    text = str(error)
    error_number = error.errno if isinstance(error, OSError) else None
    if error_number in (errno.ENOSPC, errno.EDQUOT) or any(words in text for words in _DISK_FULL_PHRASES):
        return "full"
    if error_number == errno.ENOMEM or any(words in text for words in _OUT_OF_MEMORY_PHRASES):
        return "memory"
    if any(words in text for words in _LOCK_PHRASES):
        return "locked"
    kinds = {errno.EACCES: "denied", errno.EPERM: "denied", errno.EROFS: "denied", errno.ENOENT: "absent"}
    return kinds.get(error_number or 0, "system" if isinstance(error, OSError) else "defect")
