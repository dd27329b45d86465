"""What language a query is in, guessed from its words and from the crawl, and which terms its words may be there.

A page is stemmed by its own language (`webemu.index.analysis`), a query by the languages it may be in: those whose stop words
it has most of, else those in which its words are most frequent. Stems differ for few words; where they do, and the
guess leaves more than one language, those that occur are readings of one word. Measured in docs/languages.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from math import log1p

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from webemu.emulator.questions import unasked
from webemu.index.analysis import ENGLISH, STEMMERS, plain, stemmed, words

LONG = 5
"""From so many different words on, stop words are left out."""
SURE = 2
"""A language is believed against English from so many stop words on."""
MAX_READINGS = 3
MARGIN = 1.0
"""Where no stop word tells: logarithm of how many times rarer all words together may be in a language believed too."""
LIKE = 1000
"""Characters of a text that its language is guessed by."""
_COMPOUNDS = frozenset({"danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish"})
"""Languages that write compounds as one word."""
_LEAST_PART = 4
_STOPPING = (
    *("danish", "dutch", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese", "russian"),
    *("spanish", "swedish"),
)
_ENGLISH_STOPS = frozenset(
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
    "it its itself they them their theirs themselves what which who whom this that these those am is are was were be "
    "been being have has had having do does did doing would should could ought a an the and but if or because as until "
    "while of at by for with about against between into through during before after above below to from up down in out "
    "on off over under again further then once here there when where why how all any both each few more most other "
    "some such no nor not only own same so than too very will".split()
)
"""Snowball's list, as the library's others are; its English one has 33 words, none that asks a question."""
_DIGRAPH = re.compile("(?<![aeq])([aou])e")
"""How German is written without umlauts (Snowball's variant `german2`)."""

ANY: frozenset[str] = frozenset()
"""No language is guessed."""

Readings = tuple[str, ...]
"""The terms that a word may be, the most frequent first."""


@cache
def _stopper(*languages: str) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.raw())
    for language in languages:
        builder = builder.filter(Filter.stopword(language))
    return builder.build()


@lru_cache(maxsize=1 << 16)
def stops(word: str) -> tuple[str, ...]:
    """The languages whose stop word a word is."""
    is_any = not _stopper(*_STOPPING).analyze(word)  # most are none, which takes a twelfth of asking each
    found = [language for language in _STOPPING if is_any and not _stopper(language).analyze(word)]
    return (*found, ENGLISH) if word in _ENGLISH_STOPS else tuple(found)


@lru_cache(maxsize=1 << 16)
def stems(word: str, stemmers: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Each term that a word may be, and which of the stemmers make it."""
    found: dict[str, list[str]] = {}
    for stemmer in stemmers:
        for term in stemmed(word, stemmer):
            found.setdefault(term, []).append(stemmer)
    if "german" in stemmers and (short := _DIGRAPH.sub(r"\1", word)) != word:
        for term in stemmed(short, "german"):
            found.setdefault(term, []).append("german")
    return found


def guess(said: Iterable[str]) -> frozenset[str]:
    """The languages that own most of the stop words, English too unless they are `SURE`; none where no word tells."""
    votes: dict[str, int] = {}
    for word in set(said):
        for language in stops(word):
            votes[language] = votes.get(language, 0) + 1
    if not votes:
        return ANY
    most = max(votes.values())
    found = frozenset([language for language, count in votes.items() if count == most])
    return found | {ENGLISH} if most < SURE else found


def present(frequency: Callable[[str], int], documents: int) -> dict[str, int]:
    """The stemmers by which an index was made, and of how many pages; `frequency` of a key, as `l:de`."""
    found = dict.fromkeys(STEMMERS.values(), 0)
    for code, stemmer in STEMMERS.items():
        found[stemmer] += frequency(f"l:{code}")
    found[ENGLISH] = documents - (sum(found.values()) - found[ENGLISH])
    return {stemmer: pages for stemmer, pages in found.items() if pages > 0} or {ENGLISH: 0}


class Reader:
    """Reads queries for one index. Thread-safe."""

    def __init__(self, pages: Mapping[str, int], frequency: Callable[[str], int]) -> None:
        """`pages`: as `present`; `frequency`: in how many pages a term occurs."""
        self._pages = pages
        self._stemmers = tuple(pages)
        self._frequency = frequency
        self._readings = lru_cache(maxsize=1 << 17)(self._read)
        self._logarithms = lru_cache(maxsize=1 << 16)(self._logarithm)
        self._stemmer = lru_cache(maxsize=1 << 10)(self._choose)

    def terms(self, text: str) -> dict[Readings, int]:
        """The words of a query that count, each as what it may be, and how often it is said."""
        said = words(plain(text))
        guessed = guess(said)
        languages = self._languages(said, guessed)
        counted: dict[Readings, int] = {}
        for word in self._telling(said, guessed):
            for readings in self._readings(word, languages):
                counted[readings] = counted.get(readings, 0) + 1
        return counted

    def frequency(self, text: str) -> int:
        """In how many pages the rarest word of a text occurs as one of its readings; 0 for no words."""
        said = words(plain(text))
        return min((max(map(self._frequency, self._readings(word, ANY)[0])) for word in said), default=0)

    def analyze(self, text: str, like: str) -> list[str]:
        """The terms of a text in the language of another."""
        return _analyzed(self._stemmer(like[:LIKE]), text)

    def analyzers(self, text: str) -> list[Callable[[str], list[str]]]:
        """How pages of each language of the index have the terms of a text, to look for them in their order."""
        return [partial(_analyzed, stemmer) for stemmer in self._pages]

    def _languages(self, said: Sequence[str], guessed: frozenset[str]) -> frozenset[str]:
        """Those of the guessed that the index has pages in; where none, those in which the words are most frequent."""
        if known := guessed.intersection(self._pages):
            return known
        if len(self._pages) == 1:
            return frozenset(self._pages)
        scores = {name: sum([self._logarithms(word).get(name, 0.0) for word in said]) for name in self._pages}
        least = max(scores.values()) - MARGIN
        return frozenset([name for name, score in scores.items() if score >= least])

    def _logarithm(self, word: str) -> Mapping[str, float]:
        """By stemmer: how frequent a word is, if it is of that language."""
        made = [
            (name, log1p(self._frequency(term)))
            for term, names in stems(word, self._stemmers).items()
            for name in names
        ]
        return dict(sorted(made))

    def _telling(self, said: list[str], guessed: frozenset[str]) -> list[str]:
        """Without a question's beginning, and without stop words where there are many, unless they are all there is."""
        about = [*unasked(said)]
        if not guessed or len(said) < LONG or len(set(said)) < LONG:
            return about
        guessed = guessed.intersection(self._pages) or guessed
        spoken = ENGLISH if ENGLISH in guessed else max(guessed, key=lambda name: (self._pages.get(name, 0), name))
        return [word for word in about if spoken not in stops(word)] or about

    def _read(self, word: str, languages: frozenset[str]) -> tuple[Readings, ...]:
        """What a word may be in the languages, else in any; a compound that occurs nowhere is its parts."""
        for some in (languages, frozenset(self._stemmers)):
            possible = [term for term, names in stems(word, self._stemmers).items() if not some.isdisjoint(names)]
            found = sorted([(-count, term) for term in possible if (count := self._frequency(term))])
            if found:
                return (tuple([term for _, term in found[:MAX_READINGS]]),)
        if len(languages) == 1 and languages <= _COMPOUNDS and (parts := self._parts(word, *languages)):
            return tuple([(part,) for part in parts])
        return ((next(iter(stems(word, self._stemmers)), word),),)

    def _parts(self, word: str, stemmer: str) -> Sequence[str]:
        """The two words a compound is made of: of all that occur, those of which the rarer one is the most frequent."""
        best: int = 0
        found: tuple[str, ...] = ()
        for cut in range(_LEAST_PART, len(word) - _LEAST_PART + 1):
            terms = (*stemmed(word[:cut], stemmer), *stemmed(word[cut:], stemmer))
            if (rarer := min(map(self._frequency, terms), default=0)) > best:
                best, found = rarer, terms
        return found

    def _choose(self, text: str) -> str:
        said = words(plain(text))
        languages = self._languages(said, guess(said))
        return max(
            languages,
            key=lambda name: (sum(self._logarithms(word).get(name, 0.0) for word in said), name == ENGLISH, name),
        )


def _analyzed(stemmer: str, text: str) -> list[str]:
    return stemmed(plain(text), stemmer)
