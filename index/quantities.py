"""Finds numbers in their spellings: the words that `1,500 metres`, `1500 m` and `1.5 million` make in the index.

A query finds a number however the page writes it: digits in groups, the unit behind a space, a hyphen or nothing, in
full or as its symbol, and `million` for six zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPELLINGS = {
    "km": "kms kilometer kilometers kilometre kilometres",
    "m": "meter meters metre metres",
    "cm": "centimeter centimeters centimetre centimetres",
    "mm": "millimeter millimeters millimetre millimetres",
    "mi": "mile miles",
    "ft": "foot feet",
    "inch": "inches",
    "kg": "kgs kilogram kilograms kilogramme kilogrammes kilo kilos",
    "g": "gram grams gramme grammes",
    "mg": "milligram milligrams",
    "lb": "lbs",
    "tonne": "tonnes",
    "kb": "kilobyte kilobytes",
    "mb": "megabyte megabytes",
    "gb": "gigabyte gigabytes",
    "tb": "terabyte terabytes",
    "kib": "kibibyte kibibytes",
    "mib": "mebibyte mebibytes",
    "gib": "gibibyte gibibytes",
    "ms": "millisecond milliseconds",
    "s": "sec secs second seconds",
    "min": "mins minute minutes",
    "h": "hr hrs hour hours",
    "hz": "hertz",
    "khz": "kilohertz",
    "mhz": "megahertz",
    "ghz": "gigahertz",
    "w": "watt watts",
    "kw": "kilowatt kilowatts",
    "mw": "megawatt megawatts",
    "v": "volt volts",
    "percent": "% percents prozent",
    "c": "°c",
    "f": "°f",
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in (unit, *spellings.split())}
"""Unit by each of its spellings, in lower case."""
_ZEROS = {"thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
_QUANTITY = re.compile(
    r"(?<![\w.,])(?P<digits>\d{1,3}(?:[,'’]\d{3})+|\d{1,15})(?:\.(?P<decimals>\d{1,6}))?(?![\d.,]\w)"
    r"(?:[\s-]?(?P<unit>%|°?[A-Za-z]{1,12})(?!\w))?"
)
"""A number, and the word or sign behind it. A dot or comma before or behind it makes it a part of something else."""
_WORDS = sorted([*_UNITS, *_ZEROS], key=len, reverse=True)
_CANDIDATE = re.compile(
    rf"\d(?:[,'’]\d{{3}}|[\s-]?(?=[{''.join(sorted({word[0] for word in _WORDS}))}])(?:{'|'.join(_WORDS)})(?!\w))",
    re.IGNORECASE,
)
"""Digits in groups, or a digit with a unit: few texts have any, and to look for one costs a third of what follows."""


def list_quantities(text: str) -> Iterator[str]:
    """Yield the words that the numbers of a text make besides those that are written there.

    list(list_quantities("1,500 metres, 5 GB, 1.5 million"))  # ["1500", "1500m", "5gb", "1500000"]
    """
    if not _CANDIDATE.search(text):
        return
    for match in _QUANTITY.finditer(text):
        typed, decimals, unit = match["digits"], match["decimals"] or "", (match["unit"] or "").lower()
        digits = re.sub(r"\D", "", typed)
        if digits != typed and not decimals:
            yield digits
        if unit in _UNITS:
            # A letter stands for the decimal point, at which words are split.
            word = f"{digits}{decimals and f'd{decimals}'}{_UNITS[unit]}"
            if word != match[0].lower().replace("-", ""):  # a hyphen makes this word already
                yield word
        elif len(decimals) <= _ZEROS.get(unit, -1):
            yield str(int(f"{digits}{decimals}") * 10 ** (_ZEROS[unit] - len(decimals)))
