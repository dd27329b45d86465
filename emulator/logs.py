"""The log of a server on standard error: for people, or a JSON object a line.

What happened is an event with a name and fields; a message says the same to people. Texts that were asked or crawled
are hostile: neither form lets them end a line, colour a terminal, or turn the direction of what follows.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

FORMS = ("text", "json")
PER_SECOND = 10
"""Lines of one kind that one process writes in a second, at most, where requests cause them."""
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, line ends, turns of direction, characters without width, halves of characters."""


def event(name: str, **fields: object) -> dict[str, object]:
    """The `extra` of a call to a logger: what happened, for programs."""
    return {"event": name, "fields": fields}


def settings(form: str) -> dict[str, Any]:
    """For `logging.config.dictConfig`. Programs are told all that happens, people warnings and errors alone."""
    lines = {"text": TextLines, "json": JsonLines}[form]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": lines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"webemu": {"level": "INFO" if form == "json" else "WARNING"}},
    }


class JsonLines(logging.Formatter):
    """A JSON object (RFC 8259, ASCII) a record: `time` (RFC 3339), `level`, `logger`, `pid`, `event`, `message`, the
    event's fields, and `exception` with the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "event": getattr(record, "event", "log"),
            "message": record.getMessage(),
        }
        said = {**getattr(record, "fields", {}), **said}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: said[name] for name in _ordered(said)}, default=str)


class TextLines(logging.Formatter):
    """A line a record; the lines of a traceback stand below it, indented."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_time(record)} {record.levelname} {record.process} {record.name}: "
        line = head + escaped(record.getMessage())
        if not record.exc_info:
            return line
        traceback = self.formatException(record.exc_info).split("\n")
        return "\n".join([line, *(f"    {escaped(one)}" for one in traceback)])


class Seldom:
    """Lets so many lines a second through and counts the others."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._written = self._left_out = 0

    def left_out(self) -> int | None:
        """How many were left out since the last line, if one may be written now; None if not."""
        if (second := int(self._clock())) != self._second:
            self._second, self._written = second, 0
        if self._written >= PER_SECOND:
            self._left_out += 1
            return None
        self._written += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


def escaped(text: str) -> str:
    """A text on one line, with what is not seen spelled as Python spells it."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ordered(said: dict[str, object]) -> list[str]:
    """What every record has comes first."""
    first = ("time", "level", "logger", "pid", "event", "message")
    return [*first, *(name for name in said if name not in first)]
