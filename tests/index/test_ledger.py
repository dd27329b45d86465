"""The ledger of sessions: what is written by one process is known to all, and counted once."""

import multiprocessing
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from webemu.emulator.ledger import Impression, SessionUsage
from webemu.emulator.trace import Trace
from webemu.index.exports import format_clickstream
from webemu.index.ledger import LedgerError, SessionLedger
from webemu.index.trace_files import SCHEMA, read_traces
from webemu.index.traces import TraceWriter


@pytest.fixture
def ledger(tmp_path: Path) -> SessionLedger:
    return SessionLedger(tmp_path / "sessions")


def test_a_session_is_stored_once(ledger: SessionLedger) -> None:
    assert ledger.read_session("wp-x") is None
    ledger.save_session("wp-x", b"4")
    ledger.save_session("wp-x", b"5")
    assert ledger.read_session("wp-x") == b"4"


def test_bytes_are_added_to_what_a_session_has_used(ledger: SessionLedger) -> None:
    ledger.add_bytes("s", 5)
    ledger.add_bytes("s", 7)
    assert ledger.read_usage("s") == SessionUsage(bytes=12)


def test_steps_and_attempts_are_counted(ledger: SessionLedger) -> None:
    numbers = [ledger.start_step("s", request) for request in (b"a", b"b", b"a", b"a")]
    assert numbers == [(1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 2, 0)]
    assert ledger.start_step("s-2", b"a") == (1, 0, 0)
    assert ledger.read_usage("s") == SessionUsage(steps=4)


def test_a_budget_ends(ledger: SessionLedger) -> None:
    assert [ledger.spend("s", "searches", 2) for _ in range(3)] == [True, True, False]
    assert not ledger.spend("s", "fetches", 0)
    assert ledger.read_usage("s") == SessionUsage(searches=2)


def test_what_has_no_limit_is_written_down_with_the_step(ledger: SessionLedger) -> None:
    number, _, used = ledger.start_step("s", b"a")
    ledger.finish_step("s", number, b"1", {}, {"bytes": 500, "fetches": 1})
    assert (used, ledger.start_step("s", b"a")) == (0, (2, 1, 500))
    assert ledger.read_usage("s") == SessionUsage(2, 0, 1, 500)


def test_entries_come_in_order_and_of_one_session(ledger: SessionLedger) -> None:
    for step in (3, 1, 300, 2):
        ledger.finish_step("s", step, b"%d" % step, {f"u{step}": step, "u": step}, {})
    ledger.finish_step("s-2", 1, b"other", {}, {})
    assert ledger.entries("s", 1, 10) == [b"1", b"2", b"3", b"300"]
    assert ledger.entries("s", 2, 2) == [b"2", b"3"]
    assert ledger.find_impressions("s", ("u3", "u", "v")) == {"u3": Impression(3, 3), "u": Impression(2, 2)}
    assert ledger.find_impressions("s-2", ("u3",)) == {}


def spend(folder: str) -> list[bool]:
    ledger = SessionLedger(Path(folder))
    return [ledger.spend("s", "searches", 100) and bool(ledger.start_step("s", b"r")) for _ in range(60)]


def test_processes_share_it(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as processes:
        grants = [one for result in processes.map(spend, [str(tmp_path / "l")] * 3) for one in result]
    assert (len(grants), sum(grants)) == (180, 100)
    ledger = SessionLedger(tmp_path / "l")
    assert ledger.read_usage("s") == SessionUsage(steps=100, searches=100)
    assert ledger.start_step("s", b"r") == (101, 100, 0)


ALONE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--"]
"""The command that runs another with a process number of its own: 1."""
HOLD = """
import sys
from pathlib import Path
from webemu.emulator.errors import EmulatorError
from webemu.index.ledger import SessionLedger
ledger = SessionLedger(Path(sys.argv[1]))
try:
    ledger.read_usage("s")
    print("ok", flush=True)
except EmulatorError as error:
    print(error.action, flush=True)
sys.stdin.read()
"""


def has_own_numbers() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_own_numbers(), reason="no process numbers of its own can be had here")
def test_containers_that_do_not_share_process_numbers_are_told_to(tmp_path: Path) -> None:
    command = [*ALONE, sys.executable, "-c", HOLD, str(tmp_path / "l")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        outputs = []
        for _ in range(2):
            process = stack.enter_context(subprocess.Popen(command, **pipes))
            outputs.append(process.stdout.readline().strip())
            stack.callback(process.stdin.close)
    assert outputs[0] == "ok"
    assert "share their PIDs" in outputs[1]


def test_a_folder_that_is_none_is_a_failure_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError) as raised:
        SessionLedger(tmp_path / "file").read_usage("s")
    assert raised.value.status == 503


def row(step: int = 1, **changes: object) -> Trace:
    usual = Trace("s", "t", "r", step, "webemu", "open", "", f"u{step}", "", 0, (), 0, 0, 200, 1.5, 10, "", False)
    return usual._replace(**changes)  # type: ignore[arg-type]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [row(step, shown=("a", "b"), weather="reset") for step in range(1, 40)]
    writer = TraceWriter(tmp_path / "traces")
    for trace in reversed(rows):
        writer.put((trace,))
    writer.close()
    assert read_traces(tmp_path / "traces") == (rows, 0)
    assert writer.figures() == {"taken": 39, "lost": 0}
    assert SCHEMA.names == list(Trace._fields)


def test_what_is_lost_is_counted(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "traces", max_waiting=5)
    writer.put(tuple(row(step) for step in range(3)))
    writer.put(tuple(row(step) for step in range(7)))
    assert writer.figures() == {"taken": 3, "lost": 7}
    writer.close()
    rows, lost = read_traces(tmp_path / "traces")
    assert (len(rows), lost) == (3, 7)


def test_a_folder_that_takes_nothing_loses_rows_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("")
    writer = TraceWriter(tmp_path / "traces")
    writer.put((row(),))
    writer.close()
    assert writer.figures() == {"taken": 0, "lost": 1}


def test_the_clickstream_says_where_from() -> None:
    rows = [
        row(1, kind="search", url="", shown=("u2",)),
        row(2, rank=1, shown_step=1),
        row(3, referer="u2"),
        row(4),
        row(5, status=404),
        row(1, session="z"),
    ]
    assert list(format_clickstream(rows)) == [
        "other-empty\tu1\texternal\t1",
        "other-search\tu2\texternal\t1",
        "u2\tu3\tlink\t1",
        "u3\tu4\tother\t1",
    ]


FULL = """
import logging, resource, sys
from pathlib import Path
from webemu.index.ledger import LedgerError, SessionLedger

logging.basicConfig(format="%(message)s")
ledger = SessionLedger(Path(sys.argv[1]))
ledger.start_step("s", b"first")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, hard))  # as if the disk were full
failures = []
for step in range(1000):
    try:
        ledger.finish_step("s", step, b"x" * 100, {}, {})
    except LedgerError as error:
        failures.append(error)
assert failures
assert {(error.status, error.reason) for error in failures} == {(503, "ledger-unavailable")}
assert all("make room on the disk" in error.action and sys.argv[1] not in error.message for error in failures)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
assert ledger.start_step("s", b"second").number == 2
ledger.finish_step("s", 5000, b"after", {}, {})
assert ledger.entries("s", 5000, 1) == [b"after"]
"""


def test_a_full_disk_is_named_and_what_comes_after_it_is_stored(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "sessions")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert 1 <= done.stderr.count("the session storage cannot be used") <= 50
    assert "make room on the disk" in done.stderr
