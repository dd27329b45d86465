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

LOG_FORMATS = ("text", "json")
"""Values of the setting `log_format`."""
MAX_LINES_PER_SECOND = 10
"""Maximum number of lines of one kind that a process writes per second when requests cause them."""
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, line ends, direction marks, zero-width characters and lone surrogates."""


def event_extra(name: str, **fields: object) -> dict[str, object]:
    """Return the `extra` argument of a logger call: the event's name and fields, for programs.

    LOG.warning("slow request", extra=event_extra("slow", seconds=2.5))
    """
    return {"event": name, "fields": fields}


def logging_config(form: str) -> dict[str, object]:
    """Return the configuration for `logging.config.dictConfig`. JSON logs everything; text logs warnings and errors
    only.
    """
    formatter = {"text": TextFormatter, "json": JsonFormatter}[form]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"webemu": {"level": "INFO" if form == "json" else "WARNING"}},
    }


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object (RFC 8259, ASCII).

    It has `time` (RFC 3339), `level`, `logger`, `pid`, `event_extra`, `message`, the event's fields, and `exception`
    with the traceback if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        row: dict[str, object] = {
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "event": getattr(record, "event", "log"),
            "message": record.getMessage(),
        }
        row = {**getattr(record, "fields", {}), **row}  # an event's field never replaces a standard one
        if record.exc_info:
            row["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: row[name] for name in _order_fields(row)}, default=str)


class TextFormatter(logging.Formatter):
    """Formats a record as one line; the lines of a traceback follow, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with invisible characters escaped."""
        head = f"{_timestamp(record)} {record.levelname} {record.process} {record.name}: "
        line = head + escape_invisible(record.getMessage())
        if not record.exc_info:
            return line
        traceback = self.formatException(record.exc_info).split("\n")
        return "\n".join([line, *(f"    {escape_invisible(one)}" for one in traceback)])


class LogRateLimiter:
    """Limits log lines to `MAX_LINES_PER_SECOND` and counts those that were suppressed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._line_count = self._suppressed = 0

    def suppressed_count(self) -> int | None:
        """Return the number of lines suppressed since the last one if a line may be written now; None if it may not."""
        if (second := int(self._clock())) != self._second:
            self._second, self._line_count = second, 0
        if self._line_count >= MAX_LINES_PER_SECOND:
            self._suppressed += 1
            return None
        self._line_count += 1
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed


def escape_invisible(text: str) -> str:
    """Return a text on one line, with invisible characters escaped as in Python source."""
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def _timestamp(record: logging.LogRecord) -> str:
    """Return a record's time in RFC 3339, UTC, with milliseconds."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _order_fields(row: dict[str, object]) -> list[str]:
    """Return the names of a row, those that every record has first."""
    first = ("time", "level", "logger", "pid", "event", "message")
    return [*first, *(name for name in row if name not in first)]
