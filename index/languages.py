"""Guesses the language of a query from its words and the crawl, and finds the index terms that its words may be.

A page is stemmed in its own language (`webemu.index.analysis`), a query in the languages it may be in: those with the most of
its stop words, else those in which its words are most frequent. Stems differ for few words; where they do, and several
languages remain, all stems that occur in the index are readings of one word. Measured in docs/languages.md.
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
"""Distinct words of a query from which stop words are dropped."""
SURE = 2
"""Stop words from which a language other than English is believed without English beside it."""
MAX_READINGS = 3
"""Readings of a word at most, the most frequent ones."""
MARGIN = 1.0
"""Natural logarithm of how much rarer a query's words may be, together, in a language that is still considered."""
LIKE = 1000
"""Characters of a text that its language is guessed from."""
_COMPOUNDS = frozenset({"danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish"})
"""Languages that write compounds as one word."""
_LEAST_PART = 4
"""Letters of the shortest part of a compound."""
_STOPPING = (
    *("danish", "dutch", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese", "russian"),
    *("spanish", "swedish"),
)
"""Languages for which the library has a list of stop words that is used here."""
_ENGLISH_STOPS = frozenset(
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
    "it its itself they them their theirs themselves what which who whom this that these those am is are was were be "
    "been being have has had having do does did doing would should could ought a an the and but if or because as until "
    "while of at by for with about against between into through during before after above below to from up down in out "
    "on off over under again further then once here there when where why how all any both each few more most other "
    "some such no nor not only own same so than too very will".split()
)
"""Snowball's English list, as for the other languages; the library's own has 33 words and no question words."""
_DIGRAPH = re.compile("(?<![aeq])([aou])e")
"""German written without umlauts (Snowball's variant `german2`)."""

ANY: frozenset[str] = frozenset()
"""No guess: the empty set of languages."""

Readings = tuple[str, ...]
"""Terms that one word may be, the most frequent first."""


@cache
def _stopper(*languages: str) -> TextAnalyzer:
    """Return an analyzer that drops the stop words of these languages."""
    builder = TextAnalyzerBuilder(Tokenizer.raw())
    for language in languages:
        builder = builder.filter(Filter.stopword(language))
    return builder.build()


@lru_cache(maxsize=1 << 16)
def stops(word: str) -> tuple[str, ...]:
    """Return the languages that a word is a stop word of."""
    is_any = not _stopper(*_STOPPING).analyze(word)  # one check of all lists: most words are in none of them
    found = [language for language in _STOPPING if is_any and not _stopper(language).analyze(word)]
    return (*found, ENGLISH) if word in _ENGLISH_STOPS else tuple(found)


@lru_cache(maxsize=1 << 16)
def stems(word: str, stemmers: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Return each term that a word may be, with the stemmers that make it."""
    found: dict[str, list[str]] = {}
    for stemmer in stemmers:
        for term in stemmed(word, stemmer):
            found.setdefault(term, []).append(stemmer)
    if "german" in stemmers and (short := _DIGRAPH.sub(r"\1", word)) != word:
        for term in stemmed(short, "german"):
            found.setdefault(term, []).append("german")
    return found


def guess(said: Iterable[str]) -> frozenset[str]:
    """Return the languages with the most stop words among the words; empty if no word is a stop word.

    English is added if the winner has fewer than `MIN_SURE_STOPWORDS` of them.
    """
    votes: dict[str, int] = {}
    for word in set(said):  # distinct words: a repeated one is no more evidence
        for language in stops(word):
            votes[language] = votes.get(language, 0) + 1
    if not votes:
        return ANY
    most = max(votes.values())
    found = frozenset([language for language, count in votes.items() if count == most])
    return found | {ENGLISH} if most < SURE else found


def present(frequency: Callable[[str], int], documents: int) -> dict[str, int]:
    """Return the stemmers that an index was made with, and the number of pages of each.

    `frequency` returns the number of pages that have a key, such as `l:de`.
    """
    found = dict.fromkeys(STEMMERS.values(), 0)
    for code, stemmer in STEMMERS.items():
        found[stemmer] += frequency(f"l:{code}")
    # Pages without a stemmer of their own are stemmed as English, so English has all the others.
    found[ENGLISH] = documents - (sum(found.values()) - found[ENGLISH])
    return {stemmer: pages for stemmer, pages in found.items() if pages > 0} or {ENGLISH: 0}


class Reader:
    """Analyzes queries for one index. Thread-safe."""

    def __init__(self, pages: Mapping[str, int], frequency: Callable[[str], int]) -> None:
        """Take the number of pages per stemmer (`count_pages_by_stemmer`), and a function from a term to its number of
        pages.
        """
        self._pages = pages
        self._stemmers = tuple(pages)
        self._frequency = frequency
        self._readings = lru_cache(maxsize=1 << 17)(self._read)
        self._logarithms = lru_cache(maxsize=1 << 16)(self._logarithm)
        self._stemmer = lru_cache(maxsize=1 << 10)(self._choose)

    def terms(self, text: str) -> dict[Readings, int]:
        """Return the words of a query that count, each as its readings, with how often the query has it."""
        said = words(plain(text))
        guessed = guess(said)
        languages = self._languages(said, guessed)
        counted: dict[Readings, int] = {}
        for word in self._telling(said, guessed):
            for readings in self._readings(word, languages):
                counted[readings] = counted.get(readings, 0) + 1
        return counted

    def frequency(self, text: str) -> int:
        """Return the number of pages that have the rarest word of a text in any reading; 0 if the text has no words."""
        said = words(plain(text))
        return min((max(map(self._frequency, self._readings(word, ANY)[0])) for word in said), default=0)

    def analyze(self, text: str, like: str) -> list[str]:
        """Return the terms of a text in the language of another text, `like`."""
        return _analyzed(self._stemmer(like[:LIKE]), text)

    def analyzers(self, text: str) -> list[Callable[[str], list[str]]]:
        """Return one analyzer per language of the index, for phrases: a page has its terms in the order of its own
        language.
        """
        return [partial(_analyzed, stemmer) for stemmer in self._pages]

    def _languages(self, said: Sequence[str], guessed: frozenset[str]) -> frozenset[str]:
        """Return the guessed languages that the index has pages in; if none, those in which the words are most
        frequent.
        """
        if known := guessed.intersection(self._pages):
            return known
        if len(self._pages) == 1:
            return frozenset(self._pages)
        scores = {name: sum([self._logarithms(word).get(name, 0.0) for word in said]) for name in self._pages}
        least = max(scores.values()) - MARGIN
        return frozenset([name for name, score in scores.items() if score >= least])

    def _logarithm(self, word: str) -> Mapping[str, float]:
        """Return by stemmer how frequent a word is (log of its pages) if it is of that language."""
        made = [
            (name, log1p(self._frequency(term)))
            for term, names in stems(word, self._stemmers).items()
            for name in names
        ]
        return dict(sorted(made))

    def _telling(self, said: list[str], guessed: frozenset[str]) -> list[str]:
        """Return the words without a question's beginning, and without stop words if they are many, unless nothing
        else is left.
        """
        about = [*unasked(said)]
        if not guessed or len(said) < LONG or len(set(said)) < LONG:
            return about
        guessed = guessed.intersection(self._pages) or guessed
        spoken = ENGLISH if ENGLISH in guessed else max(guessed, key=lambda name: (self._pages.get(name, 0), name))
        return [word for word in about if spoken not in stops(word)] or about

    def _read(self, word: str, languages: frozenset[str]) -> tuple[Readings, ...]:
        """Return the readings of a word in the languages, else in any language. A compound that no page has becomes
        its parts.
        """
        # First in the guessed languages; if no page has the word there, in all of them.
        for some in (languages, frozenset(self._stemmers)):
            possible = [term for term, names in stems(word, self._stemmers).items() if not some.isdisjoint(names)]
            found = sorted([(-count, term) for term in possible if (count := self._frequency(term))])
            if found:
                return (tuple([term for _, term in found[:MAX_READINGS]]),)
        if len(languages) == 1 and languages <= _COMPOUNDS and (parts := self._parts(word, *languages)):
            return tuple([(part,) for part in parts])
        return ((next(iter(stems(word, self._stemmers)), word),),)

    def _parts(self, word: str, stemmer: str) -> Sequence[str]:
        """Return the two words of a compound: the split whose rarer word is on the most pages; empty if no split is
        known.
        """
        best: int = 0
        found: tuple[str, ...] = ()
        for cut in range(_LEAST_PART, len(word) - _LEAST_PART + 1):
            terms = (*stemmed(word[:cut], stemmer), *stemmed(word[cut:], stemmer))
            if (rarer := min(map(self._frequency, terms), default=0)) > best:
                best, found = rarer, terms
        return found

    def _choose(self, text: str) -> str:
        """Return the stemmer of the language that a text is most likely in."""
        said = words(plain(text))
        languages = self._languages(said, guess(said))
        return max(
            languages,
            key=lambda name: (sum(self._logarithms(word).get(name, 0.0) for word in said), name == ENGLISH, name),
        )


def _analyzed(stemmer: str, text: str) -> list[str]:
    return stemmed(plain(text), stemmer)
