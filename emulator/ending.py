"""Ends a command that cannot go on: two lines on stderr and an exit status, a traceback only on request."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from webemu.emulator import extras
from webemu.emulator.errors import BadRequest, EmulatorError

FAILED, USAGE, INTERRUPTED = 1, 2, 130
"""Exit statuses beside 0; the last is that of shells for Ctrl-C."""
TRACEBACK = "WEBEMU_TRACEBACK"
LONGEST = 1000
"""Characters of a library's message."""
_FULL = ("No space left on device", "Disk quota exceeded", "MDB_MAP_FULL", "disk is full")
_MEMORY = ("Out of Memory", "Cannot allocate memory", "could not allocate", "failed to allocate", "malloc of size")
_LOCKED = ("Could not set lock", "Conflicting lock")


def report(error: Exception) -> int:
    """Print what happened and what to do; return the exit status. What the system refuses is no wrong usage."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    message, action = explain(error)
    print(f"webemu: {message}", file=sys.stderr)
    if action:
        print(f"  -> {action}", file=sys.stderr)
    is_usage = isinstance(error, BadRequest) and not isinstance(error.__cause__, OSError)
    return USAGE if is_usage else FAILED


def explain(error: Exception) -> tuple[str, str]:
    """Return what happened and what to do, a line each."""
    if isinstance(error, EmulatorError):
        return str(error), error.action
    if isinstance(error, ImportError) and extras.is_optional(extras.name_of(error)):
        absent = extras.absence("this command", [extras.name_of(error)])
        return absent.message, absent.action
    if isinstance(error, MemoryError):
        return "there is not enough memory", _ACTIONS["memory"]
    kind = _kind(error)
    if isinstance(error, OSError) and error.strerror:
        files = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([" -> ".join(files), error.strerror] if files else [error.strerror]), _ACTIONS[kind]
    text = " ".join(str(error).split())[:LONGEST]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, _ACTIONS[kind]


_ACTIONS = {
    "full": "free space on the disk, or name another folder, then give the same command again: what is stored is whole",
    "memory": "use fewer --workers, or a machine with more memory",
    "locked": "wait for the other command that writes to this collection, or end it",
    "denied": "change the owner or the mode of the file, or name another folder",
    "absent": "name a file that is there",
    "system": "see to the file or the connection, then give the same command again",
    "defect": f"this may be a defect of webemu: {TRACEBACK}=1 shows where it arose",
}


def _kind(error: Exception) -> str:
    text = str(error)
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT) or any(words in text for words in _FULL):
        return "full"
    if number == errno.ENOMEM or any(words in text for words in _MEMORY):
        return "memory"
    if any(words in text for words in _LOCKED):
        return "locked"
    kinds = {errno.EACCES: "denied", errno.EPERM: "denied", errno.EROFS: "denied", errno.ENOENT: "absent"}
    return kinds.get(number or 0, "system" if isinstance(error, OSError) else "defect")
