"""Turns text into index terms, in any language: the one analysis that indexing, passage masks and queries share.

Text is normalised (Unicode NFKC, without combining marks), split at everything that is no letter or digit,
lower-cased, folded to ASCII and stemmed by Snowball. Latin words are stemmed in the page's language (English if that
has no stemmer); other scripts have one stemmer each, which leaves all other letters alone. So only a word in Latin
letters has several readings. Accents fold before stemming, so that a word typed without them is the same word. Scripts
without spaces are cut into overlapping pairs of characters (as Lucene's CJKAnalyzer).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from webemu.index.quantities import list_quantities

TOKENIZER_NAME = "webemu"
"""Name under which the index registers its tokenizer."""
MAX_WORD_BYTES = 120
"""Longest word in UTF-8 bytes; longer ones are dropped. 40 letters of the scripts of India."""

ENGLISH = "english"
STEMMERS = {
    "en": ENGLISH,
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "sv": "swedish",
    "tr": "turkish",
}
"""Snowball stemmer of each language that is written in Latin letters, by ISO 639-1 code."""

_SCRIPTS = (
    ("russian", re.compile("[\u0400-\u04ff]")),
    ("greek", re.compile("[\u0370-\u03ff]")),
    ("arabic", re.compile("[\u0620-\u06ff]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003134f]+"
)
_FOLDED_CHARACTERS = re.compile(
    "[İکیەٱँ\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u094d\u09bc\u09cd\u0a3c\u0a4d\u0abc"
    "\u0acd\u0b3c\u0b4d\u0c4d\u0cbc\u0ccd\u0d4d\u0dca\u0e3a\u0e47-\u0e4c\u0e4e\u0eba\u0ec8-\u0ecc\u1037\u1039\u103a"
    "\u17c9-\u17d3\u17dd\u200d\u2060]"
)
"""Points, accents, tone marks, viramas (all but Tamil's, which its stemmer needs), joiners, and letters with two
codes.
"""
_SIGNED = re.compile(r"(?<!\w)([A-Za-z]{1,2})(\+\+|#)(?!\w)")
_DOTTED = re.compile(r"\.(?<!\S.)[A-Za-z]\w*")
_HYPHEN = re.compile(r"-(?=\w)")
_WORD_BEFORE, _WORD_AFTER = re.compile(r"(?<![\w-])\w{1,9}\Z"), re.compile(r"\w{1,9}(?![\w-])")
_FOLDS = {"İ": "i", "ک": "ك", "ی": "ي", "ە": "ه", "ٱ": "ا", "ँ": "ं"}


@cache
def index_analyzer() -> TextAnalyzer:
    """Return the tokenizer that the index registers under `TOKENIZER_NAME`: fields hold terms separated by spaces."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


@cache
def _analyzer(stemmers: tuple[str, ...], fold: bool = True) -> TextAnalyzer:
    # The simple tokenizer splits at Tamil's virama; the one that does not is slower.
    tokenizer = Tokenizer.regex(r"[\p{Alphabetic}\p{M}\p{N}]+") if "tamil" in stemmers else Tokenizer.simple()
    # The order matters: accents fold before stemming, so that both spellings of a word have one stem.
    builder = TextAnalyzerBuilder(tokenizer).filter(Filter.remove_long(MAX_WORD_BYTES)).filter(Filter.lowercase())
    if fold:
        builder = builder.filter(Filter.ascii_fold())
        for name in stemmers:
            builder = builder.filter(Filter.stemmer(name))
    return builder.build()


def extract_terms(text: str, language: str = "") -> list[str]:
    """Return the index terms of a text in a language (ISO 639-1), in order, with repetitions.

    extract_terms("The councils met")    # ["the", "council", "met"]
    """
    return stem_text(normalize_text(add_names(text)), STEMMERS.get(language, ENGLISH))


def add_names(text: str) -> str:
    """Return a text with the words that its names with signs and its numbers make at its end, so that they come
    between no two words.

    add_names("C++, C#, .NET and Wi-Fi")    # "C++, C#, .NET and Wi-Fi Cplusplus Csharp dotNET WiFi"
    """
    names = []
    if "#" in text or "++" in text:
        names += [f"{letters}{'sharp' if sign == '#' else 'plusplus'}" for letters, sign in _SIGNED.findall(text)]
    if " ." in text or text.startswith("."):
        names += [f"dot{name[1:]}" for name in _DOTTED.findall(text)]
    if "-" in text:
        names += _list_hyphenated(text)
    names += list_quantities(text)
    return " ".join((text, *names)) if names else text


def _list_hyphenated(text: str) -> Iterator[str]:
    """Yield the words that two words with a hyphen between them make, if they are a name."""
    for hyphen in _HYPHEN.finditer(text):  # a pattern that began with a word would be tried at every letter
        start, end = hyphen.span()
        around = text[max(0, start - 4) : start] + text[end : end + 4]
        if len(around) == 8 and around.isalnum():  # both words are longer, as most are
            continue
        before = _WORD_BEFORE.search(text, max(0, start - 10), start)
        after = _WORD_AFTER.match(text, end) if before else None
        if before and after and _is_name(before[0], after[0]):
            yield before[0] + after[0]


def _is_name(first: str, second: str) -> bool:
    """True if two words with a hyphen between them are a name: one is a letter or a number, or both have two letters.

    Commands (`apt-get`) and most compounds are left out: as words of a query they would outweigh all others.
    """
    if first.isdecimal() or second.isdecimal():
        return not (first.isdecimal() and second.isdecimal())
    return min(len(first), len(second)) == 1 or len(first) == len(second) == 2


def stem_text(text: str, stemmer: str) -> list[str]:
    """Return the terms of a normalised text, its Latin words stemmed by the given stemmer."""
    return _analyzer((stemmer, *_script_stemmers(text))).analyze(text)


def split_words(text: str) -> list[str]:
    """Return the words of a normalised text in lower case: one for each term that any stemmer makes of it."""
    return _analyzer(_script_stemmers(text), fold=False).analyze(text)


def _script_stemmers(text: str) -> tuple[str, ...]:
    """Return the stemmers of the non-Latin scripts that a text has letters of."""
    return () if text.isascii() else tuple([name for name, letters in _SCRIPTS if letters.search(text)])


def normalize_text(text: str) -> str:
    """Return normalised text, with runs of unspaced scripts written as pairs: 東京都 becomes 東京 京都."""
    if text.isascii():  # the common case, and much faster
        return text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return _UNSPACED.sub(_to_pairs, _FOLDED_CHARACTERS.sub(_fold, text))


def _fold(match: re.Match[str]) -> str:
    return _FOLDS.get(match[0], "")


def _to_pairs(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join([run[i : i + 2] for i in range(len(run) - 1)])} "
