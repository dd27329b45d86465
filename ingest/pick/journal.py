"""The folder of a pick: WARC files that grow by whole requests, and a journal by which an interrupted pick continues.

A request is first written to the current WARC file, then noted in the journal with the file's new size. After a kill,
what the journal does not know of is cut off and fetched again, so that no record is there twice and none is torn.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from webemu.emulator.errors import SourceError

_MAX_FILE_BYTES = 1 << 30
"""Size from which on a new WARC file is begun."""


@dataclass(slots=True)
class PickFolder:
    """The results of a pick on disk. `open_folder` makes one."""

    path: Path
    finished: set[str] = field(default_factory=set)
    """Names of the requests whose records are written."""
    records: int = 0
    flaws: Counter[str] = field(default_factory=Counter)
    """Records that were left out, by reason."""
    file_count: int = 0
    """WARC files begun so far."""
    file_bytes: int = 0
    """Size of the last of them."""

    def add(self, request_name: str, members: Sequence[bytes], flaws: Sequence[str]) -> None:
        """Write the records of a request, then note it as finished."""
        if not self.file_count or self.file_bytes >= _MAX_FILE_BYTES:
            self.file_count, self.file_bytes = self.file_count + 1, 0
        _append(self._warc_path(self.file_count), b"".join(members))
        self.file_bytes += sum(map(len, members))
        entry = {
            "request": request_name, "records": len(members), "flaws": list(flaws), "file": self.file_count,
            "size": self.file_bytes,
        }  # fmt: skip
        _append(self._journal_path, json.dumps(entry).encode() + b"\n")
        self._count(entry)

    def restore(self) -> None:
        """Read the journal, and cut off what it does not know of."""
        if not self._journal_path.exists():
            return
        content = self._journal_path.read_bytes()
        complete_lines = content[: content.rfind(b"\n") + 1]
        os.truncate(self._journal_path, len(complete_lines))
        for line in complete_lines.splitlines()[1:]:
            self._count(json.loads(line))
        self._cut_last_files()

    def check_plan(self, fingerprint: str) -> None:
        """Begin the journal with the plan's fingerprint, or raise SourceError if it belongs to another plan."""
        content = self._journal_path.read_bytes() if self._journal_path.exists() else b""
        if not content:
            _append(self._journal_path, json.dumps({"plan": fingerprint}).encode() + b"\n")
        elif json.loads(content.splitlines()[0])["plan"] != fingerprint:
            raise SourceError(f"{self.path} holds the records of another plan", action="give --out another folder")

    @property
    def _journal_path(self) -> Path:
        return self.path / "journal.jsonl"

    def _warc_path(self, number: int) -> Path:
        return self.path / f"pick-{number:05}.warc.gz"

    def _count(self, entry: dict[str, object]) -> None:
        """Count one finished request."""
        self.finished.add(str(entry["request"]))
        self.records += int(str(entry["records"]))
        self.flaws.update(entry["flaws"])  # type: ignore[call-overload]
        self.file_count, self.file_bytes = int(str(entry["file"])), int(str(entry["size"]))

    def _cut_last_files(self) -> None:
        """Cut the last file to its noted size, and remove one that was begun after it."""
        if self.file_count:
            os.truncate(self._warc_path(self.file_count), self.file_bytes)
        self._warc_path(self.file_count + 1).unlink(missing_ok=True)


def open_folder(path: Path, fingerprint: str) -> PickFolder:
    """Return the folder of a pick, as it was left if the pick was interrupted.

    Raises SourceError if the folder belongs to another plan.
    """
    path.mkdir(parents=True, exist_ok=True)
    folder = PickFolder(path)
    folder.restore()
    folder.check_plan(fingerprint)
    return folder


def _append(path: Path, content: bytes) -> None:
    """Append to a file and sync it to disk."""
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
