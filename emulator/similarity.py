"""Finds texts that hold most of another one: near-duplicates of a page, long quotations, rewritings. Pure.

Texts are compared by their runs of three words. This is the containment of Broder ("On the resemblance and containment
of documents", 1997): a page that repeats a text among many other words holds all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from webemu.emulator.folding import fold_words

RUN_WORDS = 3
"""Words in a run. With four, a text in which every sixth word was replaced would not be found."""
MIN_SHARE = 0.5
"""Share of a text's runs that another one holds if it counts as similar."""
MIN_WORDS = 12
"""Words that a text needs to be compared: any page may hold a few runs by chance."""
MAX_RUNS_OF_TEXT = 1024
"""Runs that are kept of one text, at equal distances."""
MAX_RUNS = 500_000
"""Runs that are kept of all texts of a policy: 100 MB of memory."""
_LETTER_WITHOUT_SPACES = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
"""Letter of a script that puts no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. Each counts as a word."""


class SimilarTexts:
    """A set of texts that are looked for together.

    SimilarTexts([list_runs(article)]).are_held_by(fold_words(page))    # True if the page holds half of the article
    """

    def __init__(self, runs_of_texts: Iterable[Sequence[int]]) -> None:
        self._needed_runs: list[float] = []
        self._numbers_by_run: dict[int, tuple[int, ...]] = {}
        """Numbers of the texts that have a run, by its hash."""
        self.runs = 0
        """Runs that are kept of all texts."""
        for number, runs in enumerate(runs_of_texts):
            kept_runs = runs[:: -(-len(runs) // MAX_RUNS_OF_TEXT)] if runs else ()
            self.runs += len(kept_runs)
            if self.runs > MAX_RUNS:
                break
            self._needed_runs.append(len(kept_runs) * MIN_SHARE)
            for run in kept_runs:
                self._numbers_by_run[run] = (*self._numbers_by_run.get(run, ()), number)

    def __bool__(self) -> bool:
        return bool(self._numbers_by_run)

    def are_held_by(self, folded_words: str) -> bool:
        """True if a text holds at least half of the runs of any of the set. It is given as `fold_words` folds it."""
        numbers_by_run = self._numbers_by_run
        held_runs = numbers_by_run.keys() & set(_hash_runs(folded_words))
        counts = Counter(number for run in held_runs for number in numbers_by_run[run])
        return any(count >= self._needed_runs[number] for number, count in counts.items())


def list_runs(text: str) -> list[int]:
    """Return the hashes of the different runs of a text in the order of the text. They differ between processes."""
    return list(dict.fromkeys(_hash_runs(fold_words(text))))


def has_enough_words(text: str) -> bool:
    """True if a text has the words that it takes to compare it."""
    return len(_split_words(fold_words(text))) >= MIN_WORDS


def measure_resemblance(first: set[int], second: set[int]) -> float:
    """Return the share of the runs of two texts that both have, from 0 to 1."""
    return len(first & second) / max(1, len(first | second))


def _hash_runs(folded_words: str) -> Iterator[int]:
    words = _split_words(folded_words)
    return map(hash, zip(*(words[start:] for start in range(RUN_WORDS)), strict=False))


def _split_words(folded_words: str) -> list[str]:
    """Return the words of a folded text; letters of scripts without spaces are words of their own."""
    is_spaced = folded_words.isascii()
    return (folded_words if is_spaced else _LETTER_WITHOUT_SPACES.sub(r" \1 ", folded_words)).split()
