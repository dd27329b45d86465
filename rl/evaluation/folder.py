"""Folder of an evaluation: `manifest.json` with its settings, and `episodes.jsonl` with one line for each ended
attempt.

An interrupted run continues where it stopped: a torn last line is dropped, and masked attempts are repeated. A later
line about the same attempt replaces the earlier one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from webemu.rl.attempt_row import AttemptRow

AttemptKey = tuple[str, int]
"""Task id and sample number."""
CHANGEABLE_ENTRIES = ("endpoint",)
"""Manifest entries that may change when a run is continued: the address of a server."""


_LINE_END_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""Escapes of characters that `str.splitlines` takes for line ends and JSON does not."""


class FolderError(ValueError):
    """The folder cannot be used, or belongs to another evaluation; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


class RecordedEvaluation:
    """Evaluation in a folder, read-only; it may still be running."""

    def __init__(self, path: Path) -> None:
        """Find the newest row of each attempt. Raises FolderError if the folder is no evaluation, or damaged."""
        self.path = path
        self.retried_count = 0
        """Number of rows that a later one replaced."""
        self._offsets: dict[AttemptKey, tuple[int, bool]] = {}
        """Byte offset of each attempt's newest row, and True if it is masked."""
        for offset, attempt_row in _read_lines(path / "episodes.jsonl"):
            self._index_row(attempt_row, offset)
        self.manifest: Mapping[str, object] = _read_manifest(path / "manifest.json")
        """Settings that affect the results."""

    def attempt_keys(self) -> list[AttemptKey]:
        """Return the keys of all attempts that were made, in the order of the file."""
        return list(self._offsets)

    def read_rows(self, keys: Sequence[AttemptKey]) -> Iterator[AttemptRow]:
        """Yield the current rows of these attempts in the given order; missing attempts are skipped."""
        with (self.path / "episodes.jsonl").open("rb") as file:
            for key in keys:
                if key in self._offsets:
                    file.seek(self._offsets[key][0])
                    yield json.loads(file.readline())

    def _index_row(self, attempt_row: AttemptRow, offset: int) -> None:
        """Remember where the newest row of an attempt lies."""
        key = (str(attempt_row["task"]), int(attempt_row["sample"]))
        self.retried_count += key in self._offsets
        self._offsets[key] = offset, bool(attempt_row["mask"])


class EvaluationFolder(RecordedEvaluation):
    """Folder of an evaluation, open for appending."""

    def __init__(self, path: Path, manifest: Mapping[str, object]) -> None:
        """Create the folder, or continue in it. Raises FolderError if it is another evaluation's or damaged."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(
                f"{path} cannot be created: {error.strerror}", "choose another folder with --out"
            ) from error
        _check_manifest(path / "manifest.json", manifest)
        # The torn line must be cut off before rows are read and the file is opened for appending.
        _drop_torn_line(path / "episodes.jsonl")
        super().__init__(path)
        self._file: IO[bytes] = (path / "episodes.jsonl").open("ab")

    def is_done(self, key: AttemptKey) -> bool:
        """True if the attempt was made and not masked."""
        return key in self._offsets and not self._offsets[key][1]

    def append(self, attempt_row: AttemptRow) -> None:
        """Append the row of an attempt and flush it."""
        offset = self._file.tell()
        # Models produce lone surrogates, which UTF-8 cannot encode.
        self._file.write(
            json.dumps(attempt_row, ensure_ascii=False).translate(_LINE_END_ESCAPES).encode("utf-8", "replace") + b"\n"
        )
        self._file.flush()
        self._index_row(attempt_row, offset)

    def close(self) -> None:
        """Close the file of episodes."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_evaluation(path: Path) -> bool:
    """True if a folder is one of an evaluation."""
    return (path / "episodes.jsonl").exists() and (path / "manifest.json").exists()


def _read_manifest(path: Path) -> dict[str, object]:
    """Return the manifest of an evaluation. Raises FolderError if it cannot be read."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise FolderError(f"{path} cannot be read ({error})", "choose another folder with --out") from error


def _check_manifest(path: Path, manifest: Mapping[str, object]) -> None:
    """Write the manifest, or check that the existing one is the same. Raises FolderError if it differs."""
    if not path.exists():
        if (path.parent / "episodes.jsonl").exists():
            raise FolderError(f"{path.parent} has episodes but no manifest", "choose another folder with --out")
        unfinished = path.with_name("manifest.json.unfinished")
        unfinished.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(path)
        return
    stored = _read_manifest(path)
    names = sorted({*stored, *manifest} - {*CHANGEABLE_ENTRIES})
    differing = [name for name in names if stored.get(name) != manifest.get(name)]
    if differing:
        differences = "; ".join(
            f"{name}: {stored.get(name)!r} there, {manifest.get(name)!r} now" for name in differing[:3]
        )
        raise FolderError(
            f"{path.parent} holds another evaluation ({differences[:600]})",
            "choose another folder with --out, or repeat its settings to continue it",
        )


def _drop_torn_line(path: Path) -> None:
    """Cut off an incomplete last line."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.truncate(_last_line_end(file, file.seek(0, 2)))


def _last_line_end(file: IO[bytes], end: int) -> int:
    """Return the offset after the last line end, searching backwards."""
    start = end
    while start > 0:
        step = min(1 << 16, start)  # rows may be long, so the file is read backwards in blocks
        file.seek(start - step)
        if (newline := file.read(step).rfind(b"\n")) >= 0:
            return start - step + newline + 1
        start -= step
    return 0


def _read_lines(path: Path) -> Iterator[tuple[int, AttemptRow]]:
    """Yield byte offset and content of each row that is complete. Raises FolderError on a damaged line."""
    if not path.exists():
        return
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, 1):
            try:
                yield offset, json.loads(line)
            except ValueError as error:
                if not line.endswith(b"\n"):
                    return  # a line that is being written
                raise FolderError(
                    f"{path}, line {number} is damaged ({error})", "delete the line; its attempt is then repeated"
                ) from error
            offset += len(line)
