"""The log: a record is one line whatever was asked, and programs find the same fields in each."""

import json
import logging
import re
import sys

import pytest

from webemu.emulator.logs import MAX_LINES_PER_SECOND, JsonFormatter, LogRateLimiter, TextFormatter, event_extra

HOSTILE = "a\r\n2026-01-01T00:00:00.000Z ERROR 1 webemu: forged\x1b[2J\x9b\u2028\u202e\u200b\ud83d ünï \x00"
FIRST = ["time", "level", "logger", "pid", "event", "message"]


def record(message: str, *arguments: object, error: BaseException | None = None, **extra: object) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error else None
    log_record = logging.getLogger("webemu.test").makeRecord(
        "webemu.test", logging.WARNING, __file__, 1, message, arguments, exc_info, extra=extra
    )
    assert log_record.process
    return log_record


def test_a_json_line_has_what_programs_look_for() -> None:
    fields = json.loads(
        JsonFormatter().format(record("opened %s", "x", **event_extra("snapshot_opened", snapshot="x", seconds=2)))
    )
    assert list(fields) == [*FIRST, "snapshot", "seconds"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["time"])
    assert (fields["level"], fields["logger"], fields["event"]) == ("warning", "webemu.test", "snapshot_opened")
    assert (fields["message"], fields["snapshot"], fields["seconds"]) == ("opened x", "x", 2)


def test_what_a_library_says_is_an_event_too() -> None:
    assert json.loads(JsonFormatter().format(record("hello")))["event"] == "log"


@pytest.mark.parametrize("lines", [JsonFormatter(), TextFormatter()])
def test_hostile_text_neither_ends_a_line_nor_reaches_the_terminal(lines: logging.Formatter) -> None:
    line = lines.format(record("asked %s", HOSTILE, **event_extra("defect", asked=HOSTILE)))
    assert line.isprintable()
    assert len(line.splitlines()) == 1
    line.encode()


def test_json_gives_the_text_back() -> None:
    assert (
        json.loads(JsonFormatter().format(record("asked", **event_extra("defect", asked=HOSTILE))))["asked"] == HOSTILE
    )


def test_people_read_letters_of_any_script() -> None:
    line = TextFormatter().format(record("asked %s", "größe 東京\n"))
    assert line.endswith("webemu.test: asked größe 東京\\n")


def test_no_field_takes_the_place_of_what_every_line_has() -> None:
    fields = json.loads(JsonFormatter().format(record("hello", **event_extra("defect", level="debug", pid=0))))
    assert (fields["level"], fields["pid"] > 0) == ("warning", True)


def test_a_traceback_is_indented_so_that_it_forges_no_line() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        log_record = record("failed", error=error)
    first, *other_lines = TextFormatter().format(log_record).split("\n")
    assert first.endswith("failed")
    assert all(line.startswith("    ") and line.isprintable() for line in other_lines)
    fields = json.loads(JsonFormatter().format(log_record))
    assert "ValueError" in fields["exception"]
    assert sys.exc_info() == (None, None, None)


def test_lines_are_seldom_and_those_left_out_are_counted() -> None:
    now = [10.0]
    seldom = LogRateLimiter(lambda: now[0])
    assert [seldom.suppressed_count() for _ in range(MAX_LINES_PER_SECOND + 7)] == [0] * MAX_LINES_PER_SECOND + [
        None
    ] * 7
    now[0] = 11.0
    assert [seldom.suppressed_count(), seldom.suppressed_count()] == [7, 0]
