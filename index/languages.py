"""Guesses the language of a query from its words and the crawl, and finds the index terms that its words may be.

A page is stemmed in its own language (`webemu.index.analysis`), a query in the languages it may be in: those with the
most of its stop words, else those in which its words are most frequent. Stems differ for few words; where they do, and
several languages remain, all stems that occur in the index are readings of one word. Measured in docs/languages.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from math import log1p

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from webemu.emulator.questions import strip_question_words
from webemu.index.analysis import ENGLISH, STEMMERS, add_names, normalize_text, split_words, stem_text

MIN_WORDS_WITHOUT_STOPWORDS = 5
"""Distinct words of a query from which stop words are dropped."""
MIN_SURE_STOPWORDS = 2
"""Stop words from which a language other than English is believed without English beside it."""
MAX_READINGS = 3
"""Readings of a word at most, the most frequent ones."""
LOG_RARITY_MARGIN = 1.0
"""Natural logarithm of how much rarer a query's words may be, together, in a language that is still considered."""
SAMPLE_CHARACTERS = 1000
"""Characters of a text that its language is guessed from."""
_COMPOUNDS = frozenset({"danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish"})
"""Languages that write compounds as one word."""
_JOINED_WORDS = re.compile(r"\b[A-Z][a-z]{2,}(?:[A-Z][a-z]{2,})+\b")
"""Words that capitals show to be joined, such as `SuperBowl`."""
_MIN_COMPOUND_PART = 4
"""Letters of the shortest part of a compound."""
_STOPWORD_LANGUAGES = (
    *("danish", "dutch", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese", "russian"),
    *("spanish", "swedish"),
)
"""Languages for which the library has a list of stop words that is used here."""
_ENGLISH_STOPWORDS = frozenset(
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

NO_GUESS: frozenset[str] = frozenset()
"""No guess: the empty set of languages."""

Readings = tuple[str, ...]
"""Terms that one word may be, the most frequent first."""


@cache
def _stopword_filter(*languages: str) -> TextAnalyzer:
    """Return an analyzer that drops the stop words of these languages."""
    builder = TextAnalyzerBuilder(Tokenizer.raw())
    for language in languages:
        builder = builder.filter(Filter.stopword(language))
    return builder.build()


@lru_cache(maxsize=1 << 16)
def stopword_languages(word: str) -> tuple[str, ...]:
    """Return the languages that a word is a stop word of."""
    is_stopword = not _stopword_filter(*_STOPWORD_LANGUAGES).analyze(
        word
    )  # one check of all lists: most words are in none of them
    languages = [
        language for language in _STOPWORD_LANGUAGES if is_stopword and not _stopword_filter(language).analyze(word)
    ]
    return (*languages, ENGLISH) if word in _ENGLISH_STOPWORDS else tuple(languages)


@lru_cache(maxsize=1 << 16)
def stem_variants(word: str, stemmers: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Return each term that a word may be, with the stemmers that make it."""
    stemmers_by_term: dict[str, list[str]] = {}
    for stemmer in stemmers:
        for term in stem_text(word, stemmer):
            stemmers_by_term.setdefault(term, []).append(stemmer)
    if "german" in stemmers and (without_digraphs := _DIGRAPH.sub(r"\1", word)) != word:
        for term in stem_text(without_digraphs, "german"):
            stemmers_by_term.setdefault(term, []).append("german")
    return stemmers_by_term


def guess_languages(query_words: Iterable[str]) -> frozenset[str]:
    """Return the languages with the most stop words among the words; empty if no word is a stop word.

    English is added if the winner has fewer than `MIN_SURE_STOPWORDS` of them.
    """
    votes: dict[str, int] = {}
    for word in set(query_words):  # distinct words: a repeated one is no more evidence
        for language in stopword_languages(word):
            votes[language] = votes.get(language, 0) + 1
    if not votes:
        return NO_GUESS
    max_votes = max(votes.values())
    winners = frozenset([language for language, count in votes.items() if count == max_votes])
    return winners | {ENGLISH} if max_votes < MIN_SURE_STOPWORDS else winners


def count_pages_by_stemmer(frequency: Callable[[str], int], documents: int) -> dict[str, int]:
    """Return the stemmers that an index was made with, and the number of pages of each.

    `frequency` returns the number of pages that have a key, such as `l:de`.
    """
    pages_by_stemmer = dict.fromkeys(STEMMERS.values(), 0)
    for code, stemmer in STEMMERS.items():
        pages_by_stemmer[stemmer] += frequency(f"l:{code}")
    # Pages without a stemmer of their own are stemmed as English, so English has all the others.
    pages_by_stemmer[ENGLISH] = documents - (sum(pages_by_stemmer.values()) - pages_by_stemmer[ENGLISH])
    return {stemmer: pages for stemmer, pages in pages_by_stemmer.items() if pages > 0} or {ENGLISH: 0}


class QueryAnalyzer:
    """Analyzes queries for one index. Thread-safe."""

    def __init__(self, pages: Mapping[str, int], frequency: Callable[[str], int]) -> None:
        """Take the number of pages per stemmer (`count_pages_by_stemmer`), and a function from a term to its number of
        pages.
        """
        self._pages = pages
        self._stemmers = tuple(pages)
        self._frequency = frequency
        self._cached_readings = lru_cache(maxsize=1 << 17)(self._find_readings)
        self._cached_log_frequencies = lru_cache(maxsize=1 << 16)(self._log_frequencies)
        self._cached_stemmer = lru_cache(maxsize=1 << 10)(self._choose_stemmer)

    def count_readings(self, text: str) -> dict[Readings, int]:
        """Return the words of a query that count, each as its readings, with how often the query has it."""
        if text != text.lower():
            text = _JOINED_WORDS.sub(self._split_unknown, text)
        query_words = split_words(normalize_text(add_names(text)))
        guessed = guess_languages(query_words)
        languages = self._choose_languages(query_words, guessed)
        counts: dict[Readings, int] = {}
        for word in self._drop_stopwords(query_words, guessed):
            for readings in self._cached_readings(word, languages):
                counts[readings] = counts.get(readings, 0) + 1
        return counts

    def _split_unknown(self, joined: re.Match[str]) -> str:
        """Return joined words with spaces between them if no page has them as one."""
        return joined[0] if self.frequency(joined[0]) else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", joined[0])

    def frequency(self, text: str) -> int:
        """Return the number of pages that have the rarest word of a text in any reading; 0 if the text has no words."""
        text_words = split_words(normalize_text(text))
        return min(
            (max(map(self._frequency, self._cached_readings(word, NO_GUESS)[0])) for word in text_words), default=0
        )

    def analyze(self, text: str, like: str) -> list[str]:
        """Return the terms of a text in the language of another text, `like`."""
        return _analyze_with(self._cached_stemmer(like[:SAMPLE_CHARACTERS]), text)

    def phrase_analyzers(self, text: str) -> list[Callable[[str], list[str]]]:
        """Return one analyzer per language of the index, for phrases: a page has its terms in the order of its own
        language.
        """
        return [partial(_analyze_with, stemmer) for stemmer in self._pages]

    def _choose_languages(self, query_words: Sequence[str], guessed: frozenset[str]) -> frozenset[str]:
        """Return the guessed languages that the index has pages in; if none, those in which the words are most
        frequent.
        """
        if indexed_languages := guessed.intersection(self._pages):
            return indexed_languages
        if len(self._pages) == 1:
            return frozenset(self._pages)
        scores = {
            name: sum([self._cached_log_frequencies(word).get(name, 0.0) for word in query_words])
            for name in self._pages
        }
        min_score = max(scores.values()) - LOG_RARITY_MARGIN
        return frozenset([name for name, score in scores.items() if score >= min_score])

    def _log_frequencies(self, word: str) -> Mapping[str, float]:
        """Return by stemmer how frequent a word is (log of its pages) if it is of that language."""
        log_frequencies = [
            (name, log1p(self._frequency(term)))
            for term, names in stem_variants(word, self._stemmers).items()
            for name in names
        ]
        return dict(sorted(log_frequencies))

    def _drop_stopwords(self, query_words: list[str], guessed: frozenset[str]) -> list[str]:
        """Return the words without a question's beginning, and without stop words if they are many, unless nothing
        else is left.
        """
        remaining_words = [*strip_question_words(query_words)]
        if (
            not guessed
            or len(query_words) < MIN_WORDS_WITHOUT_STOPWORDS
            or len(set(query_words)) < MIN_WORDS_WITHOUT_STOPWORDS
        ):
            return remaining_words
        guessed = guessed.intersection(self._pages) or guessed
        language = ENGLISH if ENGLISH in guessed else max(guessed, key=lambda name: (self._pages.get(name, 0), name))
        return [word for word in remaining_words if language not in stopword_languages(word)] or remaining_words

    def _find_readings(self, word: str, languages: frozenset[str]) -> tuple[Readings, ...]:
        """Return the readings of a word in the languages, else in any language. A compound that no page has becomes
        its parts.
        """
        # First in the guessed languages; if no page has the word there, in all of them.
        for candidates in (languages, frozenset(self._stemmers)):
            possible_terms = [
                term for term, names in stem_variants(word, self._stemmers).items() if not candidates.isdisjoint(names)
            ]
            ranked_terms = sorted([(-count, term) for term in possible_terms if (count := self._frequency(term))])
            if ranked_terms:
                return (tuple([term for _, term in ranked_terms[:MAX_READINGS]]),)
        if (
            len(languages) == 1
            and languages <= _COMPOUNDS
            and (compound_parts := self._split_compound(word, *languages))
        ):
            return tuple([(part,) for part in compound_parts])
        return ((next(iter(stem_variants(word, self._stemmers)), word),),)

    def _split_compound(self, word: str, stemmer: str) -> Sequence[str]:
        """Return the two words of a compound: the split whose rarer word is on the most pages; empty if no split is
        known.
        """
        best_frequency: int = 0
        best_split: tuple[str, ...] = ()
        for offset in range(_MIN_COMPOUND_PART, len(word) - _MIN_COMPOUND_PART + 1):
            terms = (*stem_text(word[:offset], stemmer), *stem_text(word[offset:], stemmer))
            if (frequency := min(map(self._frequency, terms), default=0)) > best_frequency:
                best_frequency, best_split = frequency, terms
        return best_split

    def _choose_stemmer(self, text: str) -> str:
        """Return the stemmer of the language that a text is most likely in."""
        text_words = split_words(normalize_text(text))
        languages = self._choose_languages(text_words, guess_languages(text_words))
        return max(
            languages,
            key=lambda name: (
                sum(self._cached_log_frequencies(word).get(name, 0.0) for word in text_words),
                name == ENGLISH,
                name,
            ),
        )


def _analyze_with(stemmer: str, text: str) -> list[str]:
    return stem_text(normalize_text(text), stemmer)
