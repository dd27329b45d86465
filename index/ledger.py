"""Session storage in one LMDB for all serving processes: how each session began, what it used, and every step.

Keys are one letter and the session: `p` the record it began with, `t` its usage, `a` and a request how often that was
sent, `e` and a step its entry, `r` and a URL where it was last shown; `n` and a name how many sessions have it. A
crash of the machine may lose the last seconds; a killed process loses nothing.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import lmdb

from webemu.emulator.errors import EmulatorError
from webemu.emulator.ledger import Begun, Kind, Place, Tally
from webemu.index.created_folders import maker

MAP_SIZE = 64 << 30
"""Largest size of the file in bytes; it grows as it fills."""
_TALLY = struct.Struct("<4Q")
_SHARE_PIDS = "another container has a process with the same id; let containers that share the folder share their PIDs"
"""Advice for a taken reader slot: LMDB knows its readers by process id."""
_COUNT = struct.Struct("<I")
_STEP = struct.Struct(">I")
_PLACE = struct.Struct("<II")
_OPEN: WeakValueDictionary[Path, lmdb.Environment] = WeakValueDictionary()
_OPENING = Lock()


def _open(folder: Path) -> lmdb.Environment:
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
        self._make = maker(folder)
        self._env: lmdb.Environment | None = None

    def _begin(self, write: bool = False) -> lmdb.Transaction:
        """Begin a transaction. Raises LedgerError if the database cannot be opened or locked."""
        try:
            if self._env is None:
                self._make()
                self._env = _open(self._folder)
            return self._env.begin(write=write)
        except (lmdb.Error, OSError) as error:
            is_taken = os.strerror(errno.EAGAIN) in str(error)  # LMDB has no error class of its own for this
            action = _SHARE_PIDS if is_taken else "make room on the disk, and check the permissions of the folder"
            raise LedgerError(
                "the session storage cannot be used", action=action, place=f"{self._folder}: {error}"
            ) from error

    def open(self, name: str, record: bytes) -> str:
        """Create a session and return its id: the name, with a number if others have it too."""
        with self._begin(True) as txn:
            count = _COUNT.unpack(txn.get(_key("n", name)) or bytes(4))[0] + 1
            txn.put(_key("n", name), _COUNT.pack(count))
            # "name", "name-2", ...: names that tasks choose are not unique.
            session = name if count == 1 else f"{name}-{count}"
            txn.put(_key("p", session), record)
            return session

    def keep(self, session: str, record: bytes) -> None:
        """Store a session whose id is known, unless it exists."""
        with self._begin(True) as txn:
            txn.put(_key("p", session), record, overwrite=False)

    def record(self, session: str) -> bytes | None:
        """Return the record a session was created with; None if there is no such session."""
        with self._begin() as txn:
            value = txn.get(_key("p", session))
            return None if value is None else bytes(value)

    def begin(self, session: str, request: bytes) -> Begun:
        """Start the next step of a session, and count the request."""
        with self._begin(True) as txn:
            tally = _tally(txn, session)
            # The hash of the request: attempts count how often an agent sent exactly this before.
            name = _key("a", session, blake2b(request, digest_size=16).digest())
            attempt = int(_COUNT.unpack(txn.get(name) or bytes(4))[0])
            txn.put(name, _COUNT.pack(attempt + 1))
            txn.put(_key("t", session), _TALLY.pack(*tally._replace(steps=tally.steps + 1)))
            return Begun(tally.steps + 1, attempt, tally.bytes)

    def spend(self, session: str, kind: Kind, limit: int) -> bool:
        """Use one unit of a budget; return False and use nothing if it is exhausted."""
        with self._begin(True) as txn:
            tally = _tally(txn, session)
            if getattr(tally, kind) >= limit:
                return False
            _use(txn, session, tally, {kind: 1})
            return True

    def note(self, session: str, step: int, entry: bytes, shown: Mapping[str, int], used: Mapping[Kind, int]) -> None:
        """Write the entry of a step, the ranks of the URLs it showed, and what it used beyond `spend`."""
        with self._begin(True) as txn:
            _use(txn, session, _tally(txn, session), used)
            txn.put(_key("e", session, _STEP.pack(step)), entry)
            for url, rank in shown.items():
                txn.put(_url(session, url), _PLACE.pack(step, rank))

    def places(self, session: str, urls: tuple[str, ...]) -> dict[str, Place]:
        """Return where these URLs were last shown; URLs that were never shown are left out."""
        with self._begin() as txn:
            found = ((url, txn.get(_url(session, url))) for url in urls)
            return {url: Place(*_PLACE.unpack(value)) for url, value in found if value}

    def tally(self, session: str) -> Tally:
        """Return the usage of a session; all 0 if it has done nothing."""
        with self._begin() as txn:
            return _tally(txn, session)

    def entries(self, session: str, first: int, limit: int) -> list[bytes]:
        """Return up to `limit` step entries, beginning with step `first`."""
        prefix = _key("e", session, b"")
        found: list[bytes] = []
        with self._begin() as txn:
            cursor = txn.cursor()
            places = cursor.iternext() if cursor.set_range(prefix + _STEP.pack(max(0, first))) else iter(())
            for name, value in places:
                if not bytes(name).startswith(prefix) or len(found) >= limit:
                    break
                found.append(bytes(value))
        return found


def _key(letter: str, session: str, rest: bytes | None = None) -> bytes:
    """Return the key of a session, or of one of its parts."""
    name = letter.encode() + session.encode("ascii", "replace")
    return name if rest is None else name + b"\0" + rest


def _url(session: str, url: str) -> bytes:
    """Return the key of a URL that a session was shown."""
    return _key("r", session, blake2b(url.encode("utf-8", "replace"), digest_size=16).digest())


def _tally(txn: lmdb.Transaction, session: str) -> Tally:
    """Return the usage of a session."""
    value = txn.get(_key("t", session))
    return Tally(*_TALLY.unpack(value)) if value else Tally()


def _use(txn: lmdb.Transaction, session: str, tally: Tally, used: Mapping[Kind, int]) -> None:
    """Add amounts to the usage of a session."""
    more = {kind: getattr(tally, kind) + amount for kind, amount in used.items()}
    txn.put(_key("t", session), _TALLY.pack(*tally._replace(**more)))
