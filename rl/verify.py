"""Grading of short answers: exact match and token F1 after SQuAD's normalisation (Rajpurkar et al. 2016).

Before that, dates and numbers get one spelling: thousands separators, trailing zeros, `1.2 million`, words up to
twelve, digits of any script. Invisible characters are removed; look-alikes are folded as far as NFKC does.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH},? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY},? (\d{{4}})\b")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_NUMBER = re.compile(
    r"(?<![\w.])([-−]?)(\d{1,3}(?:[,'’ _]\d{3})+|\d+)(\.\d+)?(?:\s(thousand|million|billion|trillion)\b)?(?![.,]?\d)"
)
_SCALE = {"": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? (\d{{4}})\b")
_ISO_MONTH = re.compile(r"(?<![\w-])(\d{4})-(0[1-9]|1[0-2])(?![\w-])")
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_DIGIT = re.compile(r"\d")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_SIGNS = re.compile(r"(?:[^\w\s]|_)+")
"""Run of characters that are neither word characters nor spaces: punctuation, which is removed, and symbols, which
stay.
"""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def is_exact_match(answer: str, accepted: Iterable[str]) -> bool:
    """True if the answer equals an accepted one after normalisation.

    is_exact_match("The 12th of March, 2004", ["2004-03-12"])  # True
    """
    normal_answer = normalise(answer)
    return any(normal_answer == normalise(gold) for gold in accepted)


def f1(answer: str, accepted: Iterable[str]) -> float:
    """Return the best F1 score between the answer's tokens and those of an accepted answer, in [0, 1]."""
    return max((_token_f1(normalise(answer).split(), normalise(gold).split()) for gold in accepted), default=0.0)


def normalise(text: str) -> str:
    """Return the text in lower case, with one spelling of dates and numbers, and without punctuation, English articles
    and repeated spaces.

        normalise("The 1.2 million people!")  # "1200000 people"
    """
    text = " ".join(fold_text(text).split())
    # The date patterns are slow, and most texts have no digit.
    text = _normalise_dates(text) if _DIGIT.search(text) else text
    text = _NUMBER.sub(_normalise_number, _WORD.sub(lambda m: str(_WORDS.index(m[0])), text))
    text = _SIGNS.sub(_strip_punctuation, text)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _normalise_dates(text: str) -> str:
    """Replace dates and months by tokens such as `date20040312`."""
    text = _ISO.sub(lambda m: _date_token(m[1], int(m[2]), m[3]), text)
    text = _DAY_FIRST.sub(lambda m: _date_token(m[3], _month_number(m[2]), m[1]), text)
    text = _MONTH_FIRST.sub(lambda m: _date_token(m[3], _month_number(m[1]), m[2]), text)
    text = _MONTH_YEAR.sub(lambda m: f"date{m[2]}{_month_number(m[1]):02}", text)
    return _ISO_MONTH.sub(r"date\1\2", text)


def fold_text(text: str) -> str:
    """Return the text in lower case, with look-alikes and digits of any script in their plain form, and without
    invisible characters.
    """
    if text.isascii():
        return text.casefold()
    # Case folding may undo the normalisation, hence NFKC twice.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _FOREIGN.sub(_fold_character, text)


def _fold_character(match: re.Match[str]) -> str:
    c = match[0]
    kind = unicodedata.category(c)
    return "" if kind == "Cf" else str(unicodedata.decimal(c)) if kind == "Nd" else c


def _strip_punctuation(match: re.Match[str]) -> str:
    """Return the symbols of a run of signs. Punctuation between digits becomes a space, so that a range or a list
    never turns into another number.
    """
    symbols = "".join(c for c in match[0] if c not in string.punctuation and unicodedata.category(c)[0] != "P")
    if symbols:
        return symbols
    start, end = match.span()
    return " " if match.string[start - 1 : start].isdigit() and match.string[end : end + 1].isdigit() else ""


def _token_f1(answer_tokens: list[str], gold_tokens: list[str]) -> float:
    """Return the F1 score of two token lists; 1 if both are empty."""
    if not answer_tokens or not gold_tokens:
        return float(answer_tokens == gold_tokens)
    common = sum((Counter(answer_tokens) & Counter(gold_tokens)).values())
    return 2 * common / (len(answer_tokens) + len(gold_tokens))


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _date_token(year: str, month: int, day: str) -> str:
    """Return a date as one token that survives the removal of punctuation and is not a number."""
    return f"date{year}{month:02}{int(day):02}"


def _normalise_number(match: re.Match[str]) -> str:
    """Return a number without separators and with its scale applied; `minus` and `point` survive the removal of
    punctuation.
    """
    sign, integer_part, fraction, scale = (part or "" for part in match.groups())
    digits = re.sub(r"\D", "", integer_part)
    # Integers stay strings: `Decimal.normalize` would round long ones and drop leading zeros.
    if not fraction and not scale:
        return ("minus" if sign else "") + digits
    value = Decimal(digits + fraction) * _SCALE[scale]
    return ("minus" if sign else "") + f"{value.normalize():f}".replace(".", "point")
