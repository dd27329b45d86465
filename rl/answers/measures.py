"""Numbers of a text with their signs, scales, units, percent signs and currencies, and the equality of two of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from webemu.rl.answers.folding import fold, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.numerals import NUMERAL, Numeral, read_digits, read_words
from webemu.rl.answers.units import CURRENCIES, MAX_UNIT_WORDS, OFFSETS, SCALE_LETTERS, SCALES, UNITS, UNITS_IN_SMALL

MAX_DIGITS = 60
"""Longer runs of digits are no numbers."""
_BEFORE_MONEY = re.compile(r"(?:\b(?:[A-Z]{3}|DM|Fr\.|Rs\.?)|(?:\b(?:US|CA|AU|NZ|HK|[CARS]))?\$|[€£¥₹₽₩])\s?$")
_SIGN = re.compile(r"(?:(?<![\w)\]%.])[-−–]|\b(?:minus|negative)\s)$", re.IGNORECASE)
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th|º|ª|ème|er|e)(?![\w'])")
_ODD_BEFORE = re.compile(r"(?:[\w^/:.,·][-–—]|(?<!http)[^\W\d_]|[\d)][/:^.,*×]|[/^:\x1a<>≤≥≠=!#'])$")
_ODD_AFTER = re.compile(
    r"[\^½¼¾²³⁰¹⁴-⁹+\x1a=<>≤≥]|[/:×*]\s?\w|[.,]\d|!!|s\b|\s?[-–—/]\s?[£$€]?\d|[^\W\d_]|\s(?:to|bis)\s[$€£]?\d"
    r"|\s(?:out\s)?of\s(?:the\s)?\d"
)
_RATE = re.compile(
    r"(?: (?:people|inhabitants|persons|residents))?(?:/|\s?per\s)(?:an? )?"
    r"((?:(?:sq|square|cubic) )?[A-Za-z]+[²³23]?)(?![\w/])"
)
_RATE_DIMENSIONS = frozenset(("area", "volume", "mass", "length"))
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|by|from|until|till|during|of|year|on|circa|before|after|around|between|and|early|late|im|en|depuis"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|the),?\s$|[(–]$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """Number of a text."""

    values: tuple[Fraction, ...]
    """Values in the base unit of its dimension; more than one where a separator has two readings."""
    step: Fraction
    """Value of the last digit, in the base unit."""
    dimension: str
    """Dimension of its unit, `money` with a currency, `percent`, or empty for a plain number."""
    factor: Fraction
    """Base units in its unit."""
    unit: str
    """Unit as it is written."""
    start: int
    end: int
    is_ordinal: bool = False
    is_odd: bool = False
    """True if it is part of a range, fraction, power, decade or code; it equals no number."""
    has_year_form: bool = False
    """True for four digits between 1000 and 2199 without separators."""
    follows_year_word: bool = False

    @property
    def scale(self) -> tuple[Fraction, Fraction]:
        """Factor of its unit, and its zero in base units."""
        return self.factor, OFFSETS.get(self.unit, Fraction(0))


def find_measures(text: str, day_spans: Iterable[Span] = ()) -> list[Measure]:
    """Return the numbers of a text in order, without those in the spans that are taken."""
    spans = list(day_spans)
    measures: list[Measure] = []
    for numeral in _find_numerals(text):
        if measures and numeral.start < measures[-1].end:
            continue
        if any(span.start < numeral.end and numeral.start < span.end for span in spans):
            continue
        measures.append(_read_measure(text, numeral))
    return _merge_compounds(text, measures)


def agree(candidate: Measure, gold: Measure, question: str) -> bool:
    """True if two numbers are equal at the precision of the second one. The question may name a unit that one lacks."""
    if candidate.is_odd or gold.is_odd or (candidate.is_ordinal and not gold.is_ordinal):
        return False
    if gold.is_ordinal and not candidate.is_ordinal and candidate.dimension:
        return False
    if candidate.dimension != gold.dimension and not _is_same_money(candidate, gold):
        plain, full = (candidate, gold) if not candidate.dimension else (gold, candidate)
        if plain.dimension or not _names_unit(question, full):
            return False
        return any(entry in gold.values for entry in _rescale(candidate, gold))
    if any(entry in gold.values for entry in candidate.values):
        return True
    # A conversion may be rounded, but not more coarsely than the accepted number is.
    written = abs((gold.values[0] - gold.scale[1]) / gold.factor)
    zeros = len(str(written)) - len(str(written).rstrip("0")) if written.denominator == 1 else 0
    if candidate.scale == gold.scale:
        return False
    # Whole miles may stand for whole kilometres.
    is_whole = candidate.step == candidate.factor and gold.step == gold.factor
    is_exact = abs(candidate.values[0]) >= 1000 * candidate.step and abs(gold.values[0]) < 10**7 * gold.step
    if candidate.step > gold.step * 10**zeros * Fraction(40 if is_exact else 17 if is_whole else 10, 10) * Fraction(
        101, 100
    ):
        return False
    return any(abs(entry - gold.values[0]) <= max(gold.step, candidate.step) / 2 for entry in candidate.values)


def is_conversion(candidate: Measure, gold: Measure) -> bool:
    """True if a number is about another one, in another unit: "84 km (52 mi)"."""
    if candidate.dimension != gold.dimension or candidate.scale == gold.scale:
        return False
    return abs(candidate.values[0] - gold.values[0]) <= max(candidate.step, abs(gold.values[0]) * Fraction(3, 100))


def _rescale(candidate: Measure, gold: Measure) -> list[Fraction]:
    """Return the values of a number as if both had the unit of the one that has a unit."""
    if candidate.dimension:
        factor, zero = candidate.scale
        return [(value - zero) / factor for value in candidate.values]
    factor, zero = gold.scale
    return [value * factor + zero for value in candidate.values]


def _is_same_money(candidate: Measure, gold: Measure) -> bool:
    if not (candidate.dimension.startswith("money ") and gold.dimension.startswith("money ")):
        return False
    said_code, gold_code = candidate.dimension[6:], gold.dimension[6:]
    return (said_code == "$" and gold_code in ("USD", "CAD", "AUD", "NZD", "HKD", "SGD")) or (
        gold_code == "$" and said_code == "USD"
    )


_QUESTION_CUES = {
    "percent": r"percent|per cent|percentage|%|prozent",
    "money": r"",
}


def _names_unit(question: str, measure: Measure) -> bool:
    """True if a question names the unit of a number."""
    plain = question.casefold()
    if measure.dimension.startswith("money "):
        code = measure.dimension[6:]
        names = [name for name, entry in CURRENCIES.items() if entry == code or (code == "$" and entry == "USD")]
    elif measure.dimension == "percent":
        return bool(re.search(_QUESTION_CUES["percent"], plain))
    elif measure.dimension == "months" and measure.factor == 12 and re.search(r"\bhow old\b|\bage\b", plain):
        return True
    else:
        unit = UNITS.get(measure.unit) or UNITS_IN_SMALL.get(measure.unit.casefold())
        names = [name for name, entry in UNITS.items() if entry == unit and (len(name) > 1 or not name.isalpha())]
    return any(re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", plain) for name in names)


def _find_numerals(text: str) -> Iterator[Numeral]:
    """Yield numbers in digits and in words, in the order of the text."""
    words = split_words(text)
    numerals = [_digits(match) for match in NUMERAL.finditer(text) if len(match[0]) <= MAX_DIGITS]
    index = 0
    while index < len(words):
        numeral = None if words[index].text[0].isdigit() else read_words(words, index, text)
        if numeral is not None:
            numerals.append(numeral[0])
            index = numeral[1]
            continue
        if words[index].plain == "dozen" and index and words[index - 1].plain in ("a", "one"):
            numerals.append(Numeral((Fraction(12),), Fraction(1), words[index].start, words[index].end, is_word=True))
        index += 1
    yield from sorted(numerals, key=lambda entry: entry.start)


def _digits(match: re.Match[str]) -> Numeral:
    values, step = read_digits(match[0])
    return Numeral(values, step, match.start(), match.end())


def _read_measure(text: str, numeral: Numeral) -> Measure:
    """Return a number with all that belongs to it."""
    start, end = numeral.start, numeral.end
    ordinal = numeral.is_ordinal
    if not ordinal and not numeral.is_word and (match := _ORDINAL_END.match(text, end)):
        ordinal, end = True, match.end()
    code, start = _read_currency_before(text, start)
    negative = _SIGN.search(text[max(0, start - 10) : start])
    start -= len(negative[0]) if negative else 0
    factor, end = _read_scale(text, end, numeral.is_word, bool(code))
    dimension, unit_factor, unit, end = "", Fraction(1), "", end
    if not code and not ordinal:
        dimension, unit_factor, unit, end = _read_unit(text, end)
    if not code and (rate := _RATE.match(text, end)) and (below := UNITS.get(rate[1])) and below[0] in _RATE_DIMENSIONS:
        dimension, unit_factor, end = f"{dimension}/{below[0]}", unit_factor / below[1], rate.end()
    if not dimension and not code:
        code, end = _read_currency_after(text, end)
    if code == "cent":
        code, factor = "$", factor / 100
    sign = -1 if negative else 1
    digits = text[numeral.start : numeral.end]
    return Measure(
        tuple(sign * value * factor * unit_factor + OFFSETS.get(unit, Fraction(0)) for value in numeral.values),
        numeral.step * factor * unit_factor,
        f"money {code}" if code else dimension,
        unit_factor,
        unit,
        start,
        end,
        ordinal,
        _is_odd(text, numeral, start, end, ordinal),
        digits.isdigit() and len(digits) == 4 and "1000" <= digits <= "2199" and not (code or dimension or factor != 1),
        bool(_YEAR_BEFORE.search(text[max(0, start - 12) : start])),
    )


def _is_odd(text: str, numeral: Numeral, start: int, end: int, is_ordinal: bool) -> bool:
    """True if signs or letters around a number make it something else."""
    before, after = text[max(0, start - 6) : start], text[end : end + 14]
    if numeral.is_word:
        half = re.search(r"\b(?:half|quarter)\s(?:a\s|an\s|of\s)?$", text[max(0, start - 12) : start])
        fraction = is_ordinal and (
            re.match(r"s?\sof\b", after) or re.search(r"\ba\s$", text[max(0, start - 3) : start])
        )
        part = re.match(
            r"-?(?:fold|ish)\b|\s(?:to|bis)\s\w+teen|[\s-](?:quarters?|thirds?|halves|half|fifths|sixths"
            r"|eighths|tenths)\b",
            after,
        )
        return bool(half or fraction or part)
    is_range = bool(re.search(r"\d\S{0,4}\s?(?:[-–—]|\b(?:to|bis))\s?[$€£]?$", text[max(0, start - 12) : start]))
    return is_range or bool(_ODD_BEFORE.search(before)) or bool(_ODD_AFTER.match(after))


def _read_currency_before(text: str, start: int) -> tuple[str, int]:
    match = _BEFORE_MONEY.search(text[max(0, start - 6) : start])
    code = CURRENCIES.get(match[0].strip().rstrip("."), "") if match else ""
    return (code, start - len(match[0])) if match and code else ("", start)


def _read_currency_after(text: str, end: int) -> tuple[str, int]:
    remainder = text[end : end + 30]
    words = re.findall(r"[^\s\d,;:()!?]+", remainder.lstrip(" -"))[:2]
    for count in (2, 1):
        name = " ".join(words[:count]).rstrip(".'")
        code = CURRENCIES.get(name) or (CURRENCIES.get(name.casefold(), "") if len(name) > 3 else "")
        if len(words) >= count and code and (at := remainder.find(name)) in (0, 1):
            return code, end + at + len(name)
    return "", end


def _read_scale(text: str, end: int, is_word: bool, is_money: bool) -> tuple[Fraction, int]:
    """Return the factor of the scale words and letters at a place, and the place behind them."""
    factor = Fraction(1)
    letters = re.compile(r"(bn|[kKmMbBT])(?![\w²³/])").match(text, end)
    if letters and not is_word and (is_money or letters[1] in ("M", "bn", "k")):
        return Fraction(SCALE_LETTERS[letters[1]]), letters.end()
    while match := re.compile(r"[ -]?([^\W\d_]+)\b(?!-)").match(text, end):
        scale = SCALES.get(match[1].casefold())
        if scale is None or (len(match[1]) < 2 and not is_money):
            break
        factor, end = factor * scale, match.end()
    return factor, end


def _read_unit(text: str, end: int) -> tuple[str, Fraction, str, int]:
    """Return the dimension, the factor and the spelling of the unit at a place, and the place behind it."""
    remainder = text[end : end + 45].partition("\n")[0]
    gap = len(remainder) - len(remainder.lstrip(" -"))
    if gap > 1:
        return "", Fraction(1), "", end
    words = re.findall(r"\S+", remainder[gap:])[:MAX_UNIT_WORDS]
    for count in range(len(words), 0, -1):
        name = re.match(rf"\S+(?:\s\S+){{{count - 1}}}", remainder[gap:])
        spelling = name[0].rstrip(".,;:!?)('\"") if name else ""
        for entry in dict.fromkeys(
            (spelling, spelling.partition("-")[0] if count == 1 and "light" not in spelling else spelling)
        ):
            unit = UNITS.get(entry) or (UNITS_IN_SMALL.get(entry.casefold()) if len(entry) > 3 else None)
            if unit:
                return *unit, entry, end + gap + len(entry)
    return "", Fraction(1), "", end


def _merge_compounds(text: str, measures: list[Measure]) -> list[Measure]:
    """Return the numbers with "1 hour 30 minutes" and "6 ft 2 inches" as one."""
    merged: list[Measure] = []
    for entry in measures:
        last = merged[-1] if merged else None
        if (
            last
            and entry.dimension
            and last.dimension == entry.dimension
            and entry.factor < last.factor
            and entry.dimension != "temperature"
            and not entry.is_odd
            and re.fullmatch(r"\s?(?:,|and)?\s?", text[last.end : entry.start])
        ):
            total = tuple(last.values[0] + value for value in entry.values)
            merged[-1] = replace(entry, values=total, start=last.start, is_odd=last.is_odd)
        else:
            merged.append(entry)
    return merged


def same_words(text: str, other: str) -> bool:
    """True if two texts have the same words."""
    return [entry.plain for entry in split_words(text)] == [entry.plain for entry in split_words(fold(other))]
