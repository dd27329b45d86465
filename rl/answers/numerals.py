"""Numbers in digits and in English words.

Separators are read as the digits allow: "7,310" is a whole number, "7.310" may be one in German, "78,4" has a decimal
comma.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from webemu.rl.answers.folding import Word

NUMERAL = re.compile(
    r"\d{1,3}(?:(?:,\d{3})+|(?:,\d{2})+,\d{3}|(?:[ '.]\d{3})+)(?![\d'])(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
)
"""Digits with separators, without a sign."""
_SMALL = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen".split()
    )
}
_TENS = {word: 20 + 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12,
    **{f"{word}th": number for word, number in _SMALL.items() if number not in (0, 1, 2, 3, 5, 8, 9, 12)},
    **{f"{word[:-1]}ieth": number for word, number in _TENS.items()}, "hundredth": 100,
}  # fmt: skip
_GERMAN_SMALL = dict(zip(
    "null ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn"
    " achtzehn neunzehn".split(), range(20), strict=True))  # fmt: skip
_GERMAN_TENS = dict(
    zip("zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig".split(), range(20, 100, 10), strict=True)
)
_GERMAN_COMPOUNDS = {
    f"{small}und{ten}": value + number
    for ten, value in _GERMAN_TENS.items()
    for small, number in _GERMAN_SMALL.items()
    if 0 < number < 10
}
_FOREIGN = {
    **{word: number for word, number in _GERMAN_SMALL.items() if word not in ("ein", "elf")}, "eins": 1,
    **_GERMAN_TENS, **_GERMAN_COMPOUNDS,
    "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "huit": 8, "neuf": 9, "dix": 10, "douze": 12, "quinze": 15,
    "vingt": 20,
    "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "veinte": 20,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Numeral:
    """Number in a text."""

    values: tuple[Fraction, ...]
    """Values that it may have; more than one where a separator has two readings, the English one first."""
    step: Fraction
    """Value of its last digit."""
    start: int
    end: int
    is_ordinal: bool = False
    is_word: bool = False


def read_digits(text: str) -> tuple[tuple[Fraction, ...], Fraction]:
    """Return the possible values of a numeral, and the value of its last digit."""
    plain = re.sub(r"[ ']", "", text)
    if plain.count(",") + plain.count(".") == 0:
        return (Fraction(plain),), Fraction(1)
    grouped = re.fullmatch(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*", plain)
    if re.fullmatch(r"\d{1,3}(?:,\d{2})*(?:,\d{3})+(?:\.\d+)?", plain):
        return _decimal(plain.replace(",", ""))
    if grouped and plain.count(".") == 1:
        english, step = _decimal(plain)
        return (*english, Fraction(plain.replace(".", ""))), step
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", plain):
        return _decimal(plain.replace(".", "").replace(",", "."))
    *integer_groups, decimals = re.split("[,.]", plain)
    return _decimal(f"{''.join(integer_groups)}.{decimals}")


def _decimal(text: str) -> tuple[tuple[Fraction, ...], Fraction]:
    places = len(text.partition(".")[2])
    return (Fraction(text),), Fraction(1, 10 ** min(places, 50))


def read_words(words: list[Word], first: int, text: str) -> tuple[Numeral, int] | None:
    """Return the number that the words from `first` on spell, and the index of the first word after it; None if there
    is none.
    """
    if words[first].plain in _FOREIGN:
        first_word = words[first]
        return Numeral(
            (Fraction(_FOREIGN[first_word.plain]),), Fraction(1), first_word.start, first_word.end, is_word=True
        ), first + 1
    total = group = Fraction(0)
    index, last, ordinal, previous = first, -1, False, ""
    while index < len(words) and not ordinal:
        word = words[index].plain
        if index > first and not re.fullmatch(r"[ -]|, ", text[words[index - 1].end : words[index].start]):
            break
        if word in _SMALL and previous in ("", "tens", "hundred", "scale", "and"):
            group, previous = group + _SMALL[word], "small"
        elif word in _TENS and previous in ("", "hundred", "scale", "and"):
            group, previous = group + _TENS[word], "tens"
        elif word == "hundred" and group:
            group, previous = group * 100, "hundred"
        elif word in _SCALES and group:
            total, group, previous = total + group * _SCALES[word], Fraction(0), "scale"
        elif word in _ORDINALS and previous in ("", "tens", "hundred", "scale", "and"):
            group, ordinal = group + _ORDINALS[word], True
        elif word == "and" and previous in ("hundred", "scale"):
            previous = "and"
            index += 1
            continue
        elif word == "point" and previous in ("small", "tens"):
            return _read_decimals(words, first, index, group, text)
        else:
            break
        last, index = index, index + 1
    if last < 0:
        return None
    value = total + group
    half = re.match(r"\sand\sa\shalf\b", text[words[last].end :])
    if half and not ordinal:
        end = words[last].end + half.end()
        return Numeral((value + Fraction(1, 2),), Fraction(1, 2), words[first].start, end, is_word=True), last + 4
    return Numeral((value,), Fraction(1), words[first].start, words[last].end, ordinal, True), last + 1


def _read_decimals(
    words: list[Word], first: int, point: int, integer_part: Fraction, text: str
) -> tuple[Numeral, int] | None:
    """Return a number such as "one point two", with a scale word behind it."""
    index, digits = point + 1, ""
    while index < len(words) and _SMALL.get(words[index].plain, 10) < 10:
        digits, index = digits + str(_SMALL[words[index].plain]), index + 1
    if not digits:
        return None
    value, step = integer_part + Fraction(int(digits), 10 ** len(digits)), Fraction(1, 10 ** len(digits))
    if index < len(words) and words[index].plain in _SCALES:
        scale = _SCALES[words[index].plain]
        return Numeral((value * scale,), step * scale, words[first].start, words[index].end, is_word=True), index + 1
    return Numeral((value,), step, words[first].start, words[index - 1].end, is_word=True), index
