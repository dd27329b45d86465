"""Other names in an answer that names one: capitalised words that neither the question nor the answer explains."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webemu.rl.answers.dates import find_days
from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.names import MAX_WORDS
from webemu.rl.answers.sentences import split_sentences
from webemu.rl.answers.wording import FUNCTION_WORDS, OPENINGS, ROLES, TITLES

_CALENDAR = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday"
    " thursday friday saturday sunday ad bc ce bce am pm ii iii iv i jr sr river".split()
)


def find_rival_names(text: str, hits: Iterable[Span], question: str) -> list[Span]:
    """Return the runs of capitalised words outside the hits that are not in the question."""
    hit_spans = [*hits, *(Span(one.start, one.end) for one in find_days(text))]
    question_words = {word.plain.removesuffix("'s") for word in split_words(question)}
    starts = {span.start for span in split_sentences(text)}
    runs: list[Span] = []
    previous: Word | None = None
    for word in split_words(text)[:MAX_WORDS]:
        is_name = _is_name(word, starts) and not any(s.start < word.end and word.start < s.end for s in hit_spans)
        if (
            is_name
            and previous
            and runs
            and runs[-1].end == previous.end
            and text[previous.end : word.start] in (" ", "-", ". ")
        ):
            runs[-1] = Span(runs[-1].start, word.end)
        elif is_name:
            runs.append(Span(word.start, word.end))
        previous = word
    return [
        run
        for run in runs
        if not all(_is_known(word.plain, question_words) for word in split_words(text[run.start : run.end]))
    ]


def _is_known(plain: str, question_words: set[str]) -> bool:
    """True if the question has a word, or one with the same beginning."""
    plain = plain.removesuffix("'s")
    return plain in question_words or (len(plain) > 5 and any(one.startswith(plain[:5]) for one in question_words))


def _is_name(word: Word, sentence_starts: set[int]) -> bool:
    """True if a word looks like a name or a part of one."""
    plain = word.plain.removesuffix("'s")
    if not word.is_capitalised or plain in _CALENDAR or plain in FUNCTION_WORDS:
        return False
    if plain in TITLES or re.fullmatch(r"[IVX]+", word.text):
        return False
    # "Surprisingly, it is Lima."
    is_adverb = word.start in sentence_starts and plain.endswith("ly") and len(plain) > 6
    return not is_adverb and not (word.start in sentence_starts and plain in OPENINGS | ROLES)
