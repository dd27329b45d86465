"""What of a page can be an answer: a short name, a number, a quantity or a date, with the spellings that are accepted.

Separators, cases and the spellings of dates are `webemu.rl.verify`'s; what is added here are the names of units.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from webemu.rl import gates
from webemu.rl.tasks.task import AnswerType

MOST, MOST_WORDS = 60, 6
MONTHS = "January February March April May June July August September October November December".split()
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? {_YEAR}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}"
    rf"|{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b(?!-)"
)
NUMBER = r"[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
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
_NAMES = {name: (short, *names) for short, names in UNITS.items() for name in (short, *names)}
UNIT = "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
_QUANTITY = re.compile(rf"({NUMBER})\s?({UNIT})")
_MARKS = re.compile(r"\s*\[(?:\d{1,3}|[a-z]|edit|note \d+)\]|[†‡*¹²³]+$")
_CODE = re.compile(r"[{}<>=;\[\]|\\`\"^~$]|::|->|\(\)|https?:|www\.|@|/\S*/")
_EMPTY = frozenset(
    "yes|no|none|true|false|null|n/a|na|nil|unknown|tbd|tba|various|optional|required|default|any|all|both|either|other"
    "|others|more|ok|on|off|never|always|auto|not available|not applicable|see below|see above|to be determined"
    "|no description|read more".split("|")
)
"""What says nothing, or may be guessed."""
_SMALL = frozenset("a an the of to in on for from by with at as this it its into per".split())
_VERBS = frozenset("is are was were be been has have had can will must should may not if when that which".split())


def spellings(text: str) -> tuple[AnswerType, tuple[str, ...]] | None:
    """What kind of answer a text is and how it may be written; None where it is none, or too easily guessed."""
    text = clean(text)
    if DATE.fullmatch(text):
        return "date", dates(text)
    if re.fullmatch(NUMBER, text):
        return "number", numbers(text)
    if found := _QUANTITY.fullmatch(text):
        return "number", tuple(dict.fromkeys([text, *(f"{found[1]} {unit}" for unit in _NAMES[found[2]])]))
    return ("name", (text,)) if is_name(text) else None


def clean(text: str) -> str:
    """In one line, without marks of footnotes."""
    return _MARKS.sub("", " ".join(text.split())).strip()


def is_name(text: str) -> bool:
    """Whether a text is one short thing, in words."""
    if not 2 <= len(text) <= MOST or len(text.split()) > MOST_WORDS or not re.search(r"[^\W\d_]{2}", text):
        return False
    if _CODE.search(text) or text.lower().strip(" .-—–") in _EMPTY or text[-1] in ":?!…,":
        return False
    return gates.is_plain(text) and gates.count_parts(text) == 1 and not text.endswith(".") and not _is_phrase(text)


def _is_phrase(text: str) -> bool:
    """Whether a text explains rather than names: a verb, two small words, or many words mostly of lower case."""
    words = text.split()
    if not _VERBS.isdisjoint(words):
        return True
    large = [word for word in words if word.lower() not in _SMALL]
    lower = [word for word in large if word.islower()]
    return bool(lower) and (len(words) - len(large) > 1 or (len(words) > 3 and 2 * len(lower) > len(large)))


def numbers(text: str) -> tuple[str, ...]:
    """With and without separators of thousands."""
    value = decimal(text)
    return tuple(dict.fromkeys([text, f"{value:f}", f"{value:,f}"]))


def decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("−", "-"))


def dates(text: str) -> tuple[str, ...]:
    """As it stands, as 2004-03-12 and as 12 March 2004; only as it stands where there is no such day."""
    day = day_of(text)
    return (text,) if day is None else tuple(dict.fromkeys([text, day.isoformat(), long_date(day)]))


def long_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def day_of(text: str) -> date | None:
    """The day that a date of the form `DATE` is."""
    year, day = re.search(_YEAR, text), re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!-)", text)
    try:
        if re.fullmatch(r"[\d-]+", text):
            return date.fromisoformat(text)
        month = next(number for number, name in enumerate(MONTHS, 1) if name[:3] in text)
        return date(int(year[0]), month, int(day[1])) if year and day else None
    except (ValueError, StopIteration):
        return None
