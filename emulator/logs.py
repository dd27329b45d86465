"""The server's log on standard error: lines for people, or one JSON object per line.

A program reads events, which have a name and fields; a person reads the message, which says the same. Texts from
requests or crawled pages are hostile: neither form lets them end a line, colour a terminal or reverse the text
direction.
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
"""Values of the setting `log_format`."""
PER_SECOND = 10
"""Maximum number of lines of one kind that a process writes per second when requests cause them."""
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, line ends, direction marks, zero-width characters and lone surrogates."""


def event(name: str, **fields: object) -> dict[str, object]:
    """Return the `extra` argument of a logger call: the event's name and fields, for programs.

    LOG.warning("slow request", extra=event_extra("slow", seconds=2.5))
    """
    return {"event": name, "fields": fields}


def settings(form: str) -> dict[str, Any]:
    """Return the configuration for `logging.config.dictConfig`. JSON logs everything; text logs warnings and errors
    only.
    """
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
    """Formats a record as one JSON object (RFC 8259, ASCII).

    It has `time` (RFC 3339), `level`, `logger`, `pid`, `event`, `message`, the event's fields, and `exception` with
    the traceback if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        said: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "event": getattr(record, "event", "log"),
            "message": record.getMessage(),
        }
        said = {**getattr(record, "fields", {}), **said}  # an event's field never replaces a standard one
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: said[name] for name in _ordered(said)}, default=str)


class TextLines(logging.Formatter):
    """Formats a record as one line; the lines of a traceback follow, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with invisible characters escaped."""
        head = f"{_time(record)} {record.levelname} {record.process} {record.name}: "
        line = head + escaped(record.getMessage())
        if not record.exc_info:
            return line
        traceback = self.formatException(record.exc_info).split("\n")
        return "\n".join([line, *(f"    {escaped(one)}" for one in traceback)])


class Seldom:
    """Limits log lines to `MAX_LINES_PER_SECOND` and counts those that were suppressed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._written = self._left_out = 0

    def left_out(self) -> int | None:
        """Return the number of lines suppressed since the last one if a line may be written now; None if it may not."""
        if (second := int(self._clock())) != self._second:
            self._second, self._written = second, 0
        if self._written >= PER_SECOND:
            self._left_out += 1
            return None
        self._written += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


def escaped(text: str) -> str:
    """Return a text on one line, with invisible characters escaped as in Python source."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _time(record: logging.LogRecord) -> str:
    """Return a record's time in RFC 3339, UTC, with milliseconds."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ordered(said: dict[str, object]) -> list[str]:
    """Return the names of a row, those that every record has first."""
    first = ("time", "level", "logger", "pid", "event", "message")
    return [*first, *(name for name in said if name not in first)]
