"""Keeps converted documents on disk, so that a page is converted once, however often agents read it.

A rendering as markdown takes thirty times as long as reading a text view. What is kept is an LMDB environment below the
server's state, which all worker processes share: values are zstd frames with checksums by a digest of what they were
made from. Nothing else is lost with it: what is missing or damaged is converted again.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic

import lmdb
import zstandard

from webemu.index.codings import thread_decompressor

FOLDER = "views"
"""Folder in that of the server's state."""
MAX_WAITING = 32 << 20
"""Bytes that wait to be written at most; what comes meanwhile is not kept."""
_MAX_KEPT = 16 << 20
"""Bytes of a text that is kept at most."""
_SECONDS = 0.5
"""Seconds in which texts are gathered, to be written in one transaction."""
_SOURCES = ("views.py", "content.py", "markup.py", "pruning.py")
_PACKAGES = ("html-to-markdown", "resiliparse", "selectolax", "ada-url")
_MAX_READERS = 1024
log = logging.getLogger(__name__)


class KeptTexts:
    """Texts on disk by digest. Thread-safe; another process may have the same folder open."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Keep texts in `folder`, which is made where its parent exists, in at most `max_bytes` of disk space."""
        self._folder = folder / _version_of_converters()
        self._max_bytes = max_bytes
        self._waiting: SimpleQueue[tuple[bytes, bytes] | None] = SimpleQueue()
        self._waiting_bytes = 0
        self._lock = Lock()
        self._environment = self._open()
        self._thread = Thread(target=self._write_forever, daemon=True, name="kept-texts")
        self._thread.start()

    def get(self, digest: bytes) -> str | None:
        """Return the text that was kept under a digest; None if there is none."""
        if self._environment is None:
            return None
        try:
            with self._environment.begin(buffers=True) as transaction:
                value = transaction.get(digest)
                if value is None or value[: len(digest)] != digest:  # a flipped bit may lead to another text
                    return None
                return thread_decompressor().decompress(value[len(digest) :]).decode("utf-8", "surrogatepass")
        except (lmdb.Error, zstandard.ZstdError, UnicodeDecodeError, MemoryError):
            return None

    def put(self, digest: bytes, text: str) -> None:
        """Keep a text soon, unless it is very long or too much waits to be written."""
        raw = text.encode("utf-8", "surrogatepass")
        with self._lock:
            if len(raw) > _MAX_KEPT or self._waiting_bytes + len(raw) > MAX_WAITING:
                return
            self._waiting_bytes += len(raw)
        self._waiting.put((digest, raw))

    def close(self) -> None:
        """Write what waits, and close the environment."""
        self._waiting.put(None)
        self._thread.join()
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def _open(self) -> lmdb.Environment | None:
        """Return the environment, new if the old one is damaged; None if nothing can be written there."""
        with suppress(OSError):
            self._folder.parent.mkdir(exist_ok=True)
            for path in self._folder.parent.iterdir():
                if path != self._folder:  # made by another version of a converter
                    shutil.rmtree(path, ignore_errors=True)
            for _ in range(2):
                try:
                    return lmdb.open(str(self._folder), map_size=self._max_bytes, max_readers=_MAX_READERS)
                except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError):
                    shutil.rmtree(self._folder, ignore_errors=True)
                except lmdb.Error as error:
                    log.warning("renderings of pages are not kept in %s: %s", self._folder, error)
                    return None
        return None

    def _write_forever(self) -> None:
        """Write texts in the order they came, until None comes."""
        compressor, is_open = zstandard.ZstdCompressor(level=3, write_checksum=True), True
        while is_open:
            texts, is_open = self._gather()
            values = {digest: digest + compressor.compress(raw) for digest, raw in texts}
            with self._lock:
                self._waiting_bytes -= sum(len(raw) for _, raw in texts)
            if self._environment is None:
                self._environment = self._open()  # the collection may be there by now
            self._write(values)

    def _gather(self) -> tuple[list[tuple[bytes, bytes]], bool]:
        """Return what came within half a second of the first text, and True if there may be more."""
        texts, entry = [], self._waiting.get()
        deadline = monotonic() + _SECONDS
        with suppress(Empty):
            while entry is not None:
                texts.append(entry)
                entry = self._waiting.get(timeout=max(0.0, deadline - monotonic()))
            return texts, False
        return texts, True

    def _write(self, values: dict[bytes, bytes]) -> None:
        """Write values at once or not at all; where there is no room, all older ones make room."""
        if self._environment is None or not values:
            return
        try:
            self._put(values)
        except lmdb.MapFullError:
            with suppress(lmdb.Error):
                with self._environment.begin(write=True) as transaction:
                    transaction.drop(self._environment.open_db(), delete=False)
                self._put(values)
        except lmdb.Error as error:
            log.warning("renderings of pages are not kept: %s", error)

    def _put(self, values: dict[bytes, bytes]) -> None:
        """Write values in one transaction. Raises lmdb.Error."""
        assert self._environment is not None
        with self._environment.begin(write=True) as transaction:
            transaction.cursor().putmulti(list(values.items()))


def _version_of_converters() -> str:
    """Return a hash of all that a rendering depends on besides its document."""
    folder = Path(__file__).parent
    parts = [(folder / name).read_bytes() for name in _SOURCES]
    parts += [version(package).encode() for package in _PACKAGES]
    return blake2b(b"\0".join(parts), digest_size=8).hexdigest()
