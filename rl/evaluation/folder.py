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
from typing import IO, Any, Self

from webemu.rl.evaluation.rows import Row

Key = tuple[str, int]
"""Task id and sample number."""
UNCOMPARED = ("endpoint",)
"""Manifest entries that may change when a run is continued: the address of a server."""


_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""Escapes of characters that `str.splitlines` takes for line ends and JSON does not."""


class FolderError(ValueError):
    """The folder cannot be used, or belongs to another evaluation; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


class Folder:
    """Folder of an evaluation, open for appending."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        """Create the folder, or continue in it. Raises FolderError if it is another evaluation's or damaged."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(
                f"{path} cannot be created: {error.strerror}", "choose another folder with --out"
            ) from error
        _agree(path / "manifest.json", manifest)
        # The torn line must be cut off before rows are read and the file is opened for appending.
        self.path, self.torn = path, _untorn(path / "episodes.jsonl")
        self.retried = 0
        """Number of rows that a later one replaced."""
        self._places: dict[Key, tuple[int, bool]] = {}
        """Byte offset of each attempt's newest row, and True if it is masked."""
        for place, told in _lines(path / "episodes.jsonl"):
            self._note(told, place)
        self._file: IO[bytes] = (path / "episodes.jsonl").open("ab")

    def is_done(self, key: Key) -> bool:
        """True if the attempt was made and not masked."""
        return key in self._places and not self._places[key][1]

    def append(self, told: Row) -> None:
        """Append the row of an attempt and flush it."""
        place = self._file.tell()
        # Models produce lone surrogates, which UTF-8 cannot encode.
        self._file.write(json.dumps(told, ensure_ascii=False).translate(_ENDS).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        self._note(told, place)

    def rows(self, keys: Sequence[Key]) -> Iterator[dict[str, Any]]:
        """Yield the current rows of these attempts in the given order; missing attempts are skipped."""
        with (self.path / "episodes.jsonl").open("rb") as file:
            for key in keys:
                if key in self._places:
                    file.seek(self._places[key][0])
                    yield json.loads(file.readline())

    def close(self) -> None:
        """Close the file of episodes."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, told: Row, place: int) -> None:
        """Remember where the newest row of an attempt lies."""
        key = (str(told["task"]), int(told["sample"]))
        self.retried += key in self._places
        self._places[key] = place, bool(told["mask"])


def _agree(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, or check that the existing one is the same. Raises FolderError if it differs."""
    if not path.exists():
        if (path.parent / "episodes.jsonl").exists():
            raise FolderError(f"{path.parent} has episodes but no manifest", "choose another folder with --out")
        unfinished = path.with_name("manifest.json.unfinished")
        unfinished.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(path)
        return
    try:
        there = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise FolderError(f"{path} cannot be read ({error})", "choose another folder with --out") from error
    names = sorted({*there, *manifest} - {*UNCOMPARED})
    differing = [name for name in names if there.get(name) != manifest.get(name)]
    if differing:
        told = "; ".join(f"{name}: {there.get(name)!r} there, {manifest.get(name)!r} now" for name in differing[:3])
        raise FolderError(
            f"{path.parent} holds another evaluation ({told[:600]})",
            "choose another folder with --out, or repeat its settings to continue it",
        )


def _untorn(path: Path) -> bool:
    """Cut off an incomplete last line; return True if there was one."""
    if not path.exists():
        return False
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        whole = _whole(file, end)
        file.truncate(whole)
    return whole < end


def _whole(file: IO[bytes], end: int) -> int:
    """Return the offset after the last line end, searching backwards."""
    start = end
    while start > 0:
        step = min(1 << 16, start)  # rows may be long, so the file is read backwards in blocks
        file.seek(start - step)
        if (found := file.read(step).rfind(b"\n")) >= 0:
            return start - step + found + 1
        start -= step
    return 0


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield byte offset and content of each row. Raises FolderError on a damaged line."""
    if not path.exists():
        return
    with path.open("rb") as file:
        place = 0
        for number, line in enumerate(file, 1):
            try:
                yield place, json.loads(line)
            except ValueError as error:
                raise FolderError(
                    f"{path}, line {number} is damaged ({error})", "delete the line; its attempt is then repeated"
                ) from error
            place += len(line)
