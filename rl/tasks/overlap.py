"""Questions of public benchmarks, so that none is trained on: what shares 13 words in a row with one is left out.

Thirteen words are the usual measure (GPT-3, Brown et al. 2020, appendix C). Most benchmark questions are shorter: those
of at least five words are compared whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from webemu.emulator.errors import BadRequest
from webemu.emulator.ngrams import NGRAM_WORDS, normalize_text
from webemu.rl.tasks.question_fields import QUESTIONS, named

SHORTEST = 5
_WORD = re.compile(r"\w+")


class Benchmarks:
    """Runs of words by how many words they have."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """From (where it is from, text)."""
        self._runs: dict[int, dict[int, str]] = {}
        for name, text in texts:
            words = _words(text)
            size = min(NGRAM_WORDS, len(words))
            if size >= SHORTEST:
                runs = self._runs.setdefault(size, {})
                runs.update((hash(run), name) for run in _cut(words, size))

    def shared(self, text: str) -> tuple[str, str] | None:
        """(where from, the words) of the first run that a text shares."""
        words = _words(text)
        for size, runs in sorted(self._runs.items(), reverse=True):
            for run in _cut(words, size):
                if name := runs.get(hash(run)):
                    return name, " ".join(run)
        return None


def benchmarks(paths: Iterable[Path]) -> Benchmarks:
    """From files of JSON lines or a JSON list (their questions, else all their texts), or of plain lines."""
    return Benchmarks((path.name, text) for path in paths for text in _texts(path))


def _texts(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="name files of benchmark questions") from error
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except ValueError as error:
            raise BadRequest(f"{path}: {error}", action="use JSON lines, a JSON list or plain lines") from error
    else:
        rows = (_row(line) for line in text.splitlines() if line.strip())
    for row in rows:
        asked = named(row, QUESTIONS) if isinstance(row, dict) else None
        yield from _strings(row if asked is None else asked)


def _row(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize_text(text))


def _cut(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[start : start + size]) for start in range(len(words) - size + 1))
