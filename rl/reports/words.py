"""Words of reports and pages in one form: stems, numbers, dates, clause breaks, and what is negated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from webemu.rl.reports import vocabulary as vocab

MAX_TOKENS = 400
"""Words of a sentence that are read. A longer one is no sentence."""
_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_TOKEN = re.compile(
    rf"""(?P<iso>(?<![\w-])\d{{4}}-\d\d-\d\d(?![\w-]))
    |(?P<dmy>(?<![\w.,])(?:{_DAY})(?:\ of)?\ {_MONTH}\b\.?(?:,?\ \d{{4}}\b)?)
    |(?P<mdy>\b{_MONTH}\.?\ (?:{_DAY})(?!\d)(?:,?\ \d{{4}}\b)?)
    |(?P<my>\b{_MONTH}\.?,?\ \d{{4}}\b)
    |(?P<money>[$€£]\ ?)?(?P<number>[-−]?(?:\d{{1,3}}(?:[,'’\u00a0\u202f]\d{{3}})+|\d+)(?:\.\d+)?)
      (?:\ ?(?P<scale>thousand|million|billion|trillion|bn|mn)\b)?
      (?P<unit>\ ?(?:[kcm]?m[2²3³]?|ft|[KMGT]B|kg|mg|g|t|ha|mi)(?![\w]))?
    |(?P<percent>%|\bper\ cent\b)
    |(?P<initials>\b(?:[A-Z]\.){{2,}})
    |(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)
    |(?P<stop>[,;:()|–—…\n•]|\s-+\s|[.!?](?=\s|$))""",
    re.VERBOSE,
)
_CURRENCY = re.compile(r"[$€£]")
_SCALES = vocab.SCALE_WORDS | {"bn": 10**9, "mn": 10**6}
_GRAMMAR_WORDS = vocab.FUNCTION_WORDS | vocab.DENIALS
Kind = Literal["word", "number", "date", "stop"]


@dataclass(frozen=True, slots=True)
class Token:
    """Word, number, date or break of a text."""

    kind: Kind
    key: str
    """Stem of a word, value of a number, `YYYY-MM-DD` of a date with `?` for what is not stated, or the sign."""
    text: str
    """Word in small letters."""
    is_name: bool = False
    """True if the word is capitalised within its sentence."""
    is_possessive: bool = False
    is_negated: bool = False

    @property
    def is_figure(self) -> bool:
        """True for numbers and dates."""
        return self.kind in ("number", "date")

    @property
    def has_content(self) -> bool:
        """True if the page must have it: figures and words that are neither function words nor neutral."""
        return self.is_figure or (
            self.kind == "word"
            and self.text not in _GRAMMAR_WORDS
            and (self.is_name or self.text not in vocab.NEUTRAL_WORDS)
        )

    @property
    def is_break(self) -> bool:
        """True if a clause may end here."""
        return self.kind == "stop" or self.text in vocab.CLAUSE_WORDS


@lru_cache(4096)
def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a sentence, with what is negated in it.

    [token.key for token in tokenize("It was built on 4 March 1931.")]
    # ["it", "was", "build", "on", "1931-03-04", "."]
    """
    plain = unicodedata.normalize("NFC", text[: 20 * MAX_TOKENS])
    tokens = list(_merge_number_words(_join_pairs(list(_iterate_tokens(plain)))))
    return tuple(_mark_negations(_share_years(tokens)[:MAX_TOKENS]))


def content(tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens with content."""
    return [token for token in tokens if token.has_content]


@lru_cache(1024)
def keys_of(text: str) -> frozenset[str]:
    """Return the keys of the content of a text of any length, line by line."""
    return frozenset(token.key for line in text.split("\n") for token in content(tokenize(line)))


@lru_cache(65536)
def stem(word: str) -> str:
    """Return one form for the inflections and common derivations of an English word, and for its synonyms.

    stem("constructed") == stem("builder")  # True
    """
    base = _strip_suffixes(vocab.IRREGULAR_FORMS.get(word, word))
    return _SYNONYM_BY_STEM.get(base, base)


def matches_figure(claim: Token, page: Token) -> bool:
    """True if a page's figure is the claim's or a more precise date: 4 March 1931 bears out 1931."""
    if claim.kind == "number":
        return claim.key == (page.key if page.kind == "number" else page.key[:4])
    if page.kind != "date":
        return False
    pairs = zip(claim.key.split("-"), page.key.split("-"), strict=True)
    return all(claim_part in ("??", "????", other) for claim_part, other in pairs)


def _iterate_tokens(text: str) -> Iterator[Token]:
    is_first = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("iso", "dmy", "mdy", "my"):
            yield Token("date", _date_key(match[0], kind), match[0].lower())
        elif match["number"]:
            yield from _number_tokens(match)
        elif kind == "percent":
            yield Token("word", "percent", "percent")
        elif kind == "stop":
            yield Token("stop", match[0].strip() or "-", match[0].strip() or "-")
        else:
            yield from _word_tokens(match[0], is_first and not _opens_name(text, match))
        is_first = kind == "stop" and match[0] in ".!?:\n|–—•" if kind else is_first


def _opens_name(text: str, match: re.Match[str]) -> bool:
    """True for the first word of a name of several words at the beginning of a sentence."""
    following = text[match.end() : match.end() + 2]
    is_capital = following[:1] == " " and following[1:].isupper()
    return is_capital and match[0][0].isupper() and match[0].lower() not in vocab.FUNCTION_WORDS


def _word_tokens(word: str, is_first: bool) -> Iterator[Token]:
    """Yield the token of a word, and `not` for a shortened negation."""
    small = word.casefold().replace("’", "'").replace(".", "")
    if small.endswith("n't"):
        yield Token("word", "not", "not")
        return
    possessive = small.endswith("'s") or small.endswith("s'")
    small = small.removesuffix("'s").replace("'", "")
    plain = "".join(c for c in unicodedata.normalize("NFKD", small) if not unicodedata.combining(c))
    yield Token("word", stem(plain), plain, word[:1].isupper() and not is_first, possessive)


def _number_tokens(match: re.Match[str]) -> Iterator[Token]:
    value = Decimal(re.sub(r"[,'’\u00a0\u202f]", "", match["number"]).replace("−", "-"))
    value *= _SCALES.get(match["scale"] or "", 1)
    yield Token("number", _number_key(value), match["number"])
    if match["money"]:
        sign = vocab.CURRENCY_SIGNS[match["money"].strip()]
        yield Token("word", sign, sign)
    if match["unit"]:
        unit = vocab.UNIT_SIGNS.get(match["unit"].strip(), match["unit"].strip())
        yield Token("word", stem(unit), unit)


def _number_key(value: Decimal) -> str:
    # Decimal.normalize rounds to 28 digits; longer numbers are compared by these.
    return f"{value.normalize():f}"


def _date_key(text: str, kind: str) -> str:
    if kind == "iso":
        return text
    month = next(n for n, name in enumerate(vocab.MONTHS, 1) if re.search(rf"\b{name[:3]}", text, re.IGNORECASE))
    year = re.search(r"\d{4}\b", text)
    day = re.search(r"\b\d{1,2}(?=\D|$)", text) if kind != "my" else None
    return (
        f"{year[0] if year else '????'}-{month:02}-{int(day[0]):02}"
        if day
        else f"{year[0] if year else '????'}-{month:02}-??"
    )


def _merge_number_words(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens with runs of number words as one number: "two hundred", "twenty-seven"."""
    position = 0
    while position < len(tokens):
        end = position
        while end < len(tokens) and tokens[end].text in (vocab.NUMBER_WORDS.keys() | vocab.SCALE_WORDS.keys()):
            end += 1
        run = [token.text for token in tokens[position:end]]
        if run and run != ["one"] and run[0] not in vocab.SCALE_WORDS:
            yield Token("number", str(_read_number(run)), " ".join(run))
            position = end
        else:
            yield tokens[position]
            position += 1


def _join_pairs(tokens: list[Token]) -> list[Token]:
    """Return the tokens with "square kilometres" as one unit, and with the number of "nineteenth century"."""
    joined = list[Token]()
    for token in tokens:
        before = joined[-1].text if joined else ""
        if before in _POWERS and is_unit(token):
            unit = f"{token.text.removesuffix('s')}{_POWERS[before]}"
            joined[-1] = Token("word", stem(unit), unit)
        elif token.text in _ORDINAL_ENDS and joined and joined[-1].kind == "number":
            continue
        elif token.text in ("century", "centuries") and before in vocab.ORDINALS:
            joined[-1] = Token("number", str(vocab.ORDINALS[before]), before)
            joined.append(token)
        else:
            joined.append(token)
    return joined


def _read_number(run: list[str]) -> int:
    total = current = 0
    for word in run:
        if word not in vocab.SCALE_WORDS:
            current += vocab.NUMBER_WORDS[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * vocab.SCALE_WORDS[word], 0
    return total + current


def _share_years(tokens: list[Token]) -> list[Token]:
    """Return the tokens with the year of a range on its first date too: "3 April to 19 June 1644"."""
    for position in range(len(tokens) - 2, -1, -1):
        token = tokens[position]
        following = next((other for other in tokens[position + 1 : position + 3] if other.kind == "date"), None)
        if token.kind == "date" and token.key.startswith("????") and following:
            tokens[position] = replace(token, key=following.key[:4] + token.key[4:])
    return tokens


def is_denial(token: Token) -> bool:
    """True if the word denies what its sentence says."""
    return token.text in vocab.DENIALS


def is_unit(token: Token) -> bool:
    """True if the word is a unit, which says nothing without its number."""
    return token.key in _UNIT_KEYS


def _mark_negations(tokens: list[Token]) -> list[Token]:
    """Return the tokens with `is_negated` where an odd number of negations and denials covers them."""
    flags = [False] * len(tokens)
    for position, token in enumerate(tokens):
        is_rather_than = token.text == "rather" and any(
            other.text == "than" for other in tokens[position + 1 : position + 2]
        )
        if token.text in vocab.NEGATIONS or token.key in ("fail", "refus", "lack") or is_rather_than:
            _flip(flags, position + 1, _negated_end(tokens, position))
        elif is_denial(token) and not (token.text == "lie" and not _is_noun(tokens, position)):
            start, end = _denied_span(tokens, position)
            _flip(flags, start, end)
    return [replace(token, is_negated=flag) if flag else token for token, flag in zip(tokens, flags, strict=True)]


def _is_noun(tokens: Sequence[Token], position: int) -> bool:
    return position > 0 and tokens[position - 1].text in ("a", "the", "another", "pure")


def _flip(flags: list[bool], start: int, end: int) -> None:
    flags[start:end] = [not flag for flag in flags[start:end]]


def _negated_end(tokens: Sequence[Token], position: int) -> int:
    """Return where a negation ends: with the clause; that of "without" before the next auxiliary verb."""
    end = _clause_end(tokens, position)
    if tokens[position].text != "without":
        return end
    return next((n for n in range(position + 1, end) if tokens[n].text in vocab.AUXILIARIES), end)


def _clause_end(tokens: Sequence[Token], position: int) -> int:
    ends = (
        n
        for n in range(position + 1, len(tokens))
        if tokens[n].is_break and tokens[n].text not in ("or", "which", "who")
    )
    return next(ends, len(tokens))


def _denied_span(tokens: Sequence[Token], position: int) -> tuple[int, int]:
    """Return what a denial covers: what follows "it is untrue that", or what stands before ", which is false"."""
    before = [token.text for token in tokens[max(0, position - 4) : position]]
    if tokens[position].text == "contrary":
        return position + 1, _clause_end(tokens, position)
    colon = next((n for n in range(position, len(tokens)) if tokens[n].key == ":"), len(tokens))
    after_that = any(token.text == "that" for token in tokens[position + 1 : position + 3])
    if not after_that and position > 4 and {"this", "that", "which", "these", "is", "are", "was"} & set(before):
        return 0, position
    return (position + 1, len(tokens)) if colon == len(tokens) or position < 2 else (position + 1, colon)


_POWERS = {"square": 2, "cubic": 3}
_ORDINAL_ENDS = frozenset(("st", "nd", "rd", "th"))
_SUFFIXES = ("ies", "es", "s", "ing", "ed", "ment", "ness", "ion", "ly", "al", "er", "or", "y", "e")
_MIN_STEM = {"er": 4, "or": 4, "y": 5, "al": 4, "ion": 4, "ment": 4, "e": 3, "s": 3, "es": 3}
_VOWEL = re.compile(r"[aeiouy]")


def _strip_suffixes(word: str) -> str:
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    for _ in range(3):
        for suffix in _SUFFIXES:
            base = word[: -len(suffix)]
            if not word.endswith(suffix) or len(base) < _MIN_STEM.get(suffix, 3) or not _VOWEL.search(base):
                continue
            if (suffix == "s" and base[-1] in "sui") or (suffix == "es" and not re.search(r"(?:[sxz]|[cs]h)$", base)):
                continue
            word = f"{base}y" if suffix == "ies" else base
            if suffix in ("ing", "ed", "er") and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
        else:
            break
        word = vocab.IRREGULAR_FORMS.get(word, word)
    return word


_SYNONYM_BY_STEM = {
    _strip_suffixes(vocab.IRREGULAR_FORMS.get(word, word)): _strip_suffixes(
        vocab.IRREGULAR_FORMS.get(group[0], group[0])
    )
    for group in vocab.SYNONYM_GROUPS
    if group
    for word in group
}
_UNIT_KEYS = frozenset(stem(word) for word in vocab.UNIT_WORDS)
