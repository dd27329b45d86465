"""How text becomes terms: the one analyzer that indexing, queries and passage masks share, in any language.

Words are split at non-letters, lower-cased, folded to ASCII and stemmed (English Snowball, which leaves most words of
other languages alone). Scripts without spaces are cut into overlapping pairs of characters (as Lucene's CJKAnalyzer).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

NAME = "webemu"
VERSION = 1
"""Part of every shard's name: raise it when terms change."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003134f]+"
)

_STOP_LANGUAGES = (
    "english",
    "german",
    "french",
    "spanish",
    "italian",
    "portuguese",
    "dutch",
    "swedish",
    "danish",
    "norwegian",
    "finnish",
    "hungarian",
    "russian",
)


@cache
def analyzer() -> TextAnalyzer:
    """The analyzer; also what the index registers under `NAME`."""
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(64))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


def spaced(text: str) -> str:
    """Text in Unicode NFKC with runs of unspaced scripts written as pairs: 東京都 becomes 東京 京都."""
    if text.isascii():
        return text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return _UNSPACED.sub(_pairs, text)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join([run[i : i + 2] for i in range(len(run) - 1)])} "


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeated ones kept."""
    return list(analyzer().analyze(spaced(text)))


@cache
def _stoppers() -> tuple[TextAnalyzer, ...]:
    """First an analyzer that keeps every word, then one per language that drops its stop words, English first."""
    builders = [
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase()) for _ in range(len(_STOP_LANGUAGES) + 1)
    ]
    stopping = [
        builder.filter(Filter.stopword(name)) for builder, name in zip(builders[1:], _STOP_LANGUAGES, strict=True)
    ]
    return tuple(builder.build() for builder in (builders[0], *stopping))


def without_stop_words(text: str) -> str:
    """The text without the stop words of its language: the one that accounts for most of them, English on a tie.

    Another language must account for two words at least, and is tried only where English accounts for fewer. A text of
    stop words alone is kept whole.
    """
    plain, english, *others = _stoppers()
    words = plain.analyze(text)
    best = english.analyze(text)
    if len(best) > len(words) - 2:
        best = min([best, *(kept for stop in others if len(kept := stop.analyze(text)) <= len(words) - 2)], key=len)
    return " ".join(best) if best else text
