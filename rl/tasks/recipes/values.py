"""Values that can be an answer: short names, numbers, quantities and dates, with their accepted spellings.

`webemu.rl.verify` handles separators, case and forms of dates; this module adds the names of units.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from webemu.rl import gates
from webemu.rl.tasks.task import AnswerType

MAX_CHARACTERS, MAX_WORDS = 60, 6
"""Largest number of characters and of words in a name."""
MONTHS = "January February March April May June July August September October November December".split()
"""English names of the months, January first."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? {_YEAR}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}"
    rf"|{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b(?!-)"
)
"""A date with day, month and year, in English or as 2004-03-12."""
NUMBER = r"[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
"""Pattern of a number, with or without separators of thousands."""
UNITS = {
    "km": ("kilometres", "kilometers"), "m": ("metres", "meters"), "cm": ("centimetres", "centimeters"),
    "mm": ("millimetres", "millimeters"), "kg": ("kilograms",), "g": ("grams",), "mg": ("milligrams",),
    "ft": ("feet",), "mi": ("miles",), "lb": ("pounds",), "ha": ("hectares",), "min": ("minutes",),
    "s": ("seconds",), "ms": ("milliseconds",), "KB": ("kilobytes",), "MB": ("megabytes",), "GB": ("gigabytes",),
    "TB": ("terabytes",), "GHz": ("gigahertz",), "MHz": ("megahertz",), "kHz": ("kilohertz",), "Hz": ("hertz",),
    "kW": ("kilowatts",), "MW": ("megawatts",), "W": ("watts",), "V": ("volts",), "mph": ("miles per hour",),
    "km/h": ("kilometres per hour", "kilometers per hour"), "km²": ("square kilometres", "square kilometers", "sq km"),
    "m²": ("square metres", "square meters"), "°C": ("degrees Celsius",), "°F": ("degrees Fahrenheit",),
    "%": ("percent", "per cent"),
}  # fmt: skip
"""Spellings by symbol of the unit."""
_UNIT_SPELLINGS = {name: (short, *names) for short, names in UNITS.items() for name in (short, *names)}
"""All spellings of a unit, by each of them."""
UNIT = "|".join(sorted(map(re.escape, _UNIT_SPELLINGS), key=len, reverse=True))
"""Pattern of any spelling of a unit, longest first."""
_QUANTITY = re.compile(rf"({NUMBER})\s?({UNIT})")
# Footnote marks, as on Wikipedia.
_FOOTNOTE_MARKS = re.compile(r"\s*\[(?:\d{1,3}|[a-z]|edit|note \d+)\]|[†‡*¹²³]+$")
_CODE = re.compile(r"[{}<>=;\[\]|\\`\"^~$]|::|->|\(\)|https?:|www\.|@|/\S*/")
_EMPTY_VALUES = frozenset(
    "yes|no|none|true|false|null|n/a|na|nil|unknown|tbd|tba|various|optional|required|default|any|all|both|either|other"
    "|others|more|ok|on|off|never|always|auto|not available|not applicable|see below|see above|to be determined"
    "|no description|read more".split("|")
)
"""Values that say nothing, or are easily guessed."""
_SMALL_WORDS = frozenset("a an the of to in on for from by with at as this it its into per".split())
_VERBS = frozenset("is are was were be been has have had can will must should may not if when that which".split())


def classify_answer(text: str) -> tuple[AnswerType, tuple[str, ...]] | None:
    """Return the answer type and the accepted spellings of a text; None if it is no answer or too easily guessed."""
    text = clean(text)
    if DATE.fullmatch(text):
        return "date", date_spellings(text)
    if re.fullmatch(NUMBER, text):
        return "number", number_spellings(text)
    if match := _QUANTITY.fullmatch(text):
        return "number", tuple(dict.fromkeys([text, *(f"{match[1]} {unit}" for unit in _UNIT_SPELLINGS[match[2]])]))
    return ("name", (text,)) if is_name(text) else None


def clean(text: str) -> str:
    """Return the text on one line without footnote marks."""
    return _FOOTNOTE_MARKS.sub("", " ".join(text.split())).strip()


def is_name(text: str) -> bool:
    """True if the text is a single short name."""
    if not 2 <= len(text) <= MAX_CHARACTERS or len(text.split()) > MAX_WORDS or not re.search(r"[^\W\d_]{2}", text):
        return False
    if _CODE.search(text) or text.lower().strip(" .-—–") in _EMPTY_VALUES or text[-1] in ":?!…,":
        return False
    return gates.is_plain(text) and gates.count_parts(text) == 1 and not text.endswith(".") and not _is_phrase(text)


def _is_phrase(text: str) -> bool:
    """True if the text explains rather than names: it has a verb or two small words, or most of its many words are in
    lower case.
    """
    words = text.split()
    # Capitalised verbs are part of titles ("To Be or Not"), so only lower case counts.
    if not _VERBS.isdisjoint(words):
        return True
    large = [word for word in words if word.lower() not in _SMALL_WORDS]
    lower = [word for word in large if word.islower()]
    return bool(lower) and (len(words) - len(large) > 1 or (len(words) > 3 and 2 * len(lower) > len(large)))


def number_spellings(text: str) -> tuple[str, ...]:
    """Return the spellings of a number, with and without separators of thousands."""
    value = parse_decimal(text)
    return tuple(dict.fromkeys([text, f"{value:f}", f"{value:,f}"]))


def parse_decimal(text: str) -> Decimal:
    """Return the number in a text of the form `NUMBER`."""
    return Decimal(text.replace(",", "").replace("−", "-"))


def date_spellings(text: str) -> tuple[str, ...]:
    """Return the spellings of a date: as written, as 2004-03-12 and as 12 March 2004. If there is no such day, only
    the first.
    """
    day = parse_day(text)
    return (text,) if day is None else tuple(dict.fromkeys([text, day.isoformat(), format_long_date(day)]))


def format_long_date(day: date) -> str:
    """Return the date as 12 March 2004."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def parse_day(text: str) -> date | None:
    """Return the day in a text of the form `DATE`; None if there is no such day."""
    year, day = re.search(_YEAR, text), re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!-)", text)
    try:
        if re.fullmatch(r"[\d-]+", text):
            return date.fromisoformat(text)
        # The first three letters identify a month in any spelling.
        month = next(number for number, name in enumerate(MONTHS, 1) if name[:3] in text)
        return date(int(year[0]), month, int(day[1])) if year and day else None
    except (ValueError, StopIteration):
        return None
