"""Session storage in one LMDB for all serving processes: how each session began, what it used, and every step.

Keys are one letter and the session: `p` the record it began with, `t` its usage, `a` and a request how often that was
sent, `e` and a step its entry, `r` and a URL where it was last shown, `x` and a key of exchanges how often it was
replayed. A crash of the machine may lose the last seconds;
a killed process loses nothing.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import lmdb

from webemu.emulator.errors import EmulatorError
from webemu.emulator.ledger import BudgetKind, Impression, SessionUsage, StartedStep
from webemu.emulator.logs import LogRateLimiter, event_extra
from webemu.index.created_folders import folder_maker
from webemu.index.descriptors import choose_advice

log = logging.getLogger("webemu.ledger")
_log_limiter = LogRateLimiter()

MAP_SIZE = 64 << 30
"""Largest size of the file in bytes; it grows as it fills."""
_USAGE = struct.Struct("<4Q")
_SHARE_PIDS = "another container has a process with the same id; let containers that share the folder share their PIDs"
"""Advice for a taken reader slot: LMDB knows its readers by process id."""
_COUNT = struct.Struct("<I")
_STEP = struct.Struct(">I")
_IMPRESSION = struct.Struct("<II")
_OPEN: WeakValueDictionary[Path, lmdb.Environment] = WeakValueDictionary()
_OPENING = Lock()


def _open_environment(folder: Path) -> lmdb.Environment:
    """Return the environment of a folder: LMDB allows one per process."""
    folder = folder.resolve()
    with _OPENING:
        env = _OPEN.get(folder)
        if env is None:
            # sync=False: a crash of the machine may lose seconds, which is cheaper than a disk write per step.
            env = lmdb.open(str(folder), map_size=MAP_SIZE, sync=False, readahead=False, max_readers=1024)
            env.reader_check()  # frees the reader slots of processes that were killed
            _OPEN[folder] = env
        return env


class LedgerError(EmulatorError):
    """The session storage cannot be used."""

    status = 503
    reason = "ledger-unavailable"


class SessionLedger:
    """The port `webemu.emulator.ledger.Ledger` in LMDB; opened at first use, since most servers have no sessions.
    Thread-safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._make_folder = folder_maker(folder)
        self._env: lmdb.Environment | None = None

    @contextmanager
    def _transaction(self, write: bool = False) -> Iterator[lmdb.Transaction]:
        """Open a transaction, which is committed when the context ends.

        Raises:
            LedgerError: the database cannot be opened, locked or written.
        """
        try:
            if self._env is None:
                self._make_folder()
                self._env = _open_environment(self._folder)
            with self._env.begin(write=write) as txn:
                yield txn
        except (lmdb.Error, OSError) as error:
            raise _to_ledger_error(self._folder, error) from error

    def save_session(self, session: str, record: bytes) -> None:
        """Store a session whose id is known, unless it exists."""
        with self._transaction(True) as txn:
            txn.put(_session_key("p", session), record, overwrite=False)

    def read_session(self, session: str) -> bytes | None:
        """Return the record a session was created with; None if there is no such session."""
        with self._transaction() as txn:
            value = txn.get(_session_key("p", session))
            return None if value is None else bytes(value)

    def start_step(self, session: str, request: bytes) -> StartedStep:
        """Start the next step of a session, and count the request."""
        with self._transaction(True) as txn:
            usage_before = _read_usage(txn, session)
            # The hash of the request: attempts count how often an agent sent exactly this before.
            attempt_key = _session_key("a", session, blake2b(request, digest_size=16).digest())
            attempt = int(_COUNT.unpack(txn.get(attempt_key) or bytes(4))[0])
            txn.put(attempt_key, _COUNT.pack(attempt + 1))
            txn.put(_session_key("t", session), _USAGE.pack(*usage_before._replace(steps=usage_before.steps + 1)))
            return StartedStep(usage_before.steps + 1, attempt, usage_before.bytes)

    def count_repeat(self, session: str, key: str) -> int:
        """Count a key of exchanges, and return how often the session has counted it before."""
        with self._transaction(True) as txn:
            name = _session_key("x", session, key.encode())
            earlier = int(_COUNT.unpack(txn.get(name) or bytes(4))[0])
            txn.put(name, _COUNT.pack(earlier + 1))
            return earlier

    def spend(self, session: str, kind: BudgetKind, limit: int) -> bool:
        """Use one unit of a budget; return False and use nothing if it is exhausted."""
        with self._transaction(True) as txn:
            usage_before = _read_usage(txn, session)
            if getattr(usage_before, kind) >= limit:
                return False
            _add_usage(txn, session, usage_before, {kind: 1})
            return True

    def add_bytes(self, session: str, count: int) -> None:
        """Add to the response bytes that a session has received."""
        with self._transaction(True) as txn:
            _add_usage(txn, session, _read_usage(txn, session), {"bytes": count})

    def finish_step(
        self, session: str, step: int, entry: bytes, shown_ranks: Mapping[str, int], used: Mapping[BudgetKind, int]
    ) -> None:
        """Write the entry of a step, the ranks of the URLs it showed, and what it used beyond `spend`."""
        with self._transaction(True) as txn:
            _add_usage(txn, session, _read_usage(txn, session), used)
            txn.put(_session_key("e", session, _STEP.pack(step)), entry)
            for url, rank in shown_ranks.items():
                txn.put(_url_key(session, url), _IMPRESSION.pack(step, rank))

    def find_impressions(self, session: str, urls: tuple[str, ...]) -> dict[str, Impression]:
        """Return where these URLs were last shown; URLs that were never shown are left out."""
        with self._transaction() as txn:
            stored_impressions = ((url, txn.get(_url_key(session, url))) for url in urls)
            return {url: Impression(*_IMPRESSION.unpack(value)) for url, value in stored_impressions if value}

    def read_usage(self, session: str) -> SessionUsage:
        """Return the usage of a session; all 0 if it has done nothing."""
        with self._transaction() as txn:
            return _read_usage(txn, session)

    def entries(self, session: str, first: int, limit: int) -> list[bytes]:
        """Return up to `limit` step entries, beginning with step `first`."""
        prefix = _session_key("e", session, b"")
        step_entries: list[bytes] = []
        with self._transaction() as txn:
            cursor = txn.cursor()
            positions = cursor.iternext() if cursor.set_range(prefix + _STEP.pack(max(0, first))) else iter(())
            for name, value in positions:
                if not bytes(name).startswith(prefix) or len(step_entries) >= limit:
                    break
                step_entries.append(bytes(value))
        return step_entries


def _to_ledger_error(folder: Path, cause: Exception) -> LedgerError:
    """Return why the session storage cannot be used, and log it: the client sees no path."""
    action = "make room on the disk, and check the permissions of the folder"
    if os.strerror(errno.EAGAIN) in str(cause):  # LMDB has no error class of its own for this
        action = _SHARE_PIDS
    action = choose_advice(cause, action)
    error = LedgerError("the session storage cannot be used", action=action, location=f"{folder}: {cause}")
    if (left_out := _log_limiter.suppressed_count()) is not None:
        log_fields = event_extra("ledger_unavailable", why=str(cause), action=action, left_out=left_out)
        log.error("%s: %s", error, action, extra=log_fields)
    return error


def _session_key(letter: str, session: str, suffix: bytes | None = None) -> bytes:
    """Return the key of a session, or of one of its parts."""
    name = letter.encode() + session.encode("ascii", "replace")
    return name if suffix is None else name + b"\0" + suffix


def _url_key(session: str, url: str) -> bytes:
    """Return the key of a URL that a session was shown."""
    return _session_key("r", session, blake2b(url.encode("utf-8", "replace"), digest_size=16).digest())


def _read_usage(txn: lmdb.Transaction, session: str) -> SessionUsage:
    """Return the usage of a session."""
    value = txn.get(_session_key("t", session))
    return SessionUsage(*_USAGE.unpack(value)) if value else SessionUsage()


def _add_usage(txn: lmdb.Transaction, session: str, usage_before: SessionUsage, used: Mapping[BudgetKind, int]) -> None:
    """Add amounts to the usage of a session."""
    new_totals = {kind: getattr(usage_before, kind) + amount for kind, amount in used.items()}
    txn.put(_session_key("t", session), _USAGE.pack(*usage_before._replace(**new_totals)))
