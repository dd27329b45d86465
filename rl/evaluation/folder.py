"""The folder of an evaluation: what is asked (`manifest.json`), and a line for each attempt as soon as it has ended.

A run that was cut off goes on where it was: a torn last line is dropped, and masked attempts are made again. A later
line about the same attempt takes the place of the earlier.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from webemu.rl.evaluation.rows import Row

Key = tuple[str, int]
"""Task and sample."""
UNCOMPARED = ("endpoint",)
"""What of a manifest may change between two parts of a run: a server's address."""


_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""What `str.splitlines` takes for the end of a line, and JSON does not."""


class FolderError(ValueError):
    """The folder is of another evaluation, or is none; `action` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message, self.action = message, action


class Folder:
    """Open while a run goes on."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        """Makes the folder, or goes on in it. Raises FolderError where it is another evaluation's."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"{path} cannot be made: {error.strerror}", "give another folder with --out") from error
        _agree(path / "manifest.json", manifest)
        self.path, self.torn = path, _untorn(path / "episodes.jsonl")
        self.retried = 0
        """Lines whose place a later one took."""
        self._places: dict[Key, tuple[int, bool]] = {}
        for place, told in _lines(path / "episodes.jsonl"):
            self._note(told, place)
        self._file: IO[bytes] = (path / "episodes.jsonl").open("ab")

    def is_done(self, key: Key) -> bool:
        """Whether the attempt was made, and was not masked."""
        return key in self._places and not self._places[key][1]

    def append(self, told: Row) -> None:
        place = self._file.tell()
        # Models produce lone surrogates, which UTF-8 has no bytes for.
        self._file.write(json.dumps(told, ensure_ascii=False).translate(_ENDS).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        self._note(told, place)

    def rows(self, keys: Sequence[Key]) -> Iterator[dict[str, Any]]:
        """The lines of these attempts as they stand now, in this order; those that were not made are left out."""
        with (self.path / "episodes.jsonl").open("rb") as file:
            for key in keys:
                if key in self._places:
                    file.seek(self._places[key][0])
                    yield json.loads(file.readline())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, told: Row, place: int) -> None:
        key = (str(told["task"]), int(told["sample"]))
        self.retried += key in self._places
        self._places[key] = place, bool(told["mask"])


def _agree(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, or see that the one that is there says the same."""
    if not path.exists():
        if (path.parent / "episodes.jsonl").exists():
            raise FolderError(f"{path.parent} has episodes and no manifest", "give another folder with --out")
        unfinished = path.with_name("manifest.json.unfinished")
        unfinished.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(path)
        return
    try:
        there = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise FolderError(f"{path} cannot be read ({error})", "give another folder with --out") from error
    names = sorted({*there, *manifest} - {*UNCOMPARED})
    differing = [name for name in names if there.get(name) != manifest.get(name)]
    if differing:
        told = "; ".join(f"{name}: {there.get(name)!r} there, {manifest.get(name)!r} now" for name in differing[:3])
        raise FolderError(
            f"{path.parent} holds another evaluation ({told[:600]})",
            "give another folder with --out, or the same settings as there to go on",
        )


def _untorn(path: Path) -> bool:
    """Cut off a last line that was not written to its end."""
    if not path.exists():
        return False
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        whole = _whole(file, end)
        file.truncate(whole)
    return whole < end


def _whole(file: IO[bytes], end: int) -> int:
    """Where the last whole line ends."""
    start = end
    while start > 0:
        step = min(1 << 16, start)
        file.seek(start - step)
        if (found := file.read(step).rfind(b"\n")) >= 0:
            return start - step + found + 1
        start -= step
    return 0


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        place = 0
        for number, line in enumerate(file, 1):
            try:
                yield place, json.loads(line)
            except ValueError as error:
                raise FolderError(
                    f"{path}, line {number} is damaged ({error})", "take the line out, and its attempt is made again"
                ) from error
            place += len(line)
