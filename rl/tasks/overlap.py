"""Questions of public benchmarks, so that no task repeats one: 13 words in a row in common are an overlap.

Thirteen words are the usual measure (GPT-3, Brown et al. 2020, appendix C). Most benchmark questions are shorter;
those of at least five words are compared whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webemu.emulator.errors import BadRequest
from webemu.emulator.ngrams import NGRAM_WORDS, normalize_text
from webemu.rl.tasks.question_fields import QUESTION_FIELDS, first_field

MIN_WORDS = 5
"""Smallest number of words of a benchmark question that is compared."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Words that a text has in common with a benchmark."""

    source: str
    """Name of the benchmark's file."""
    words: str


class BenchmarkIndex:
    """Index of the word n-grams of benchmark questions, by their length."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """Build the index from (name of the source, text) pairs."""
        self._ngrams_by_size: dict[int, dict[int, str]] = {}
        for name, text in texts:
            words = _split_words(text)
            size = min(NGRAM_WORDS, len(words))
            if size >= MIN_WORDS:
                sources = self._ngrams_by_size.setdefault(size, {})
                # Hashes take less memory than texts; benchmarks have millions of n-grams.
                sources.update((hash(ngram), name) for ngram in _ngrams(words, size))

    def find_overlap(self, text: str) -> Overlap | None:
        """Return the longest n-gram that the text shares with a benchmark; None if it shares none."""
        words = _split_words(text)
        # Longest first: the longest overlap is the most telling one.
        for size, sources in sorted(self._ngrams_by_size.items(), reverse=True):
            for ngram in _ngrams(words, size):
                if name := sources.get(hash(ngram)):
                    return Overlap(name, " ".join(ngram))
        return None


def load_benchmarks(paths: Iterable[Path]) -> BenchmarkIndex:
    """Return the index of files of JSON lines, a JSON list or plain lines. An object counts by its question, or else
    by all its texts.

    Raises:
        BadRequest: A file cannot be read or is a damaged JSON list.
    """
    return BenchmarkIndex((path.name, text) for path in paths for text in _read_texts(path))


def _read_texts(path: Path) -> Iterator[str]:
    """Yield the questions of a file, or all texts where no field is named like one."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="check the path given to --against") from error
    if text.lstrip().startswith("["):
        try:
            rows: Iterable[object] = json.loads(text)
        except ValueError as error:
            raise BadRequest(f"{path}: {error}", action="use JSON lines, a JSON list or plain lines") from error
    else:
        rows = (_parse_row(line) for line in text.splitlines() if line.strip())
    for row in rows:
        question = first_field(row, QUESTION_FIELDS) if isinstance(row, dict) else None
        yield from _iterate_strings(row if question is None else question)


def _parse_row(line: str) -> object:
    """Return the line's JSON, or the line itself if it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return line


def _iterate_strings(value: object) -> Iterator[str]:
    """Yield all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for element in value.values() if isinstance(value, dict) else value:
            yield from _iterate_strings(element)


def _split_words(text: str) -> list[str]:
    """Return the folded words of a text."""
    return _WORD.findall(normalize_text(text))


def _ngrams(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield all n-grams of `size` words."""
    return (tuple(words[start : start + size]) for start in range(len(words) - size + 1))
