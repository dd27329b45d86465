"""Dates and times of day in a text, and their equality at the precision of the accepted one.

Months are read in five languages. A date whose day and month have two readings ("03/04/2005") equals none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_MONTHS = (
    "january|jan|januar|jänner|janvier|enero|gennaio",
    "february|feb|febr|februar|février|fevrier|febrero|febbraio",
    "march|mar|märz|maerz|mars|marzo",
    "april|apr|avril|abril|aprile",
    "may|mai|mayo|maggio",
    "june|jun|juni|juin|junio|giugno",
    "july|jul|juli|juillet|julio|luglio",
    "august|aug|août|aout|agosto",
    "september|sept|sep|septembre|septiembre|settembre",
    "october|oct|oktober|okt|octobre|octubre|ottobre",
    "november|nov|novembre|noviembre",
    "december|dec|dezember|dez|décembre|decembre|diciembre|dicembre",
)
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split("|")}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_DAY_WORDS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
        " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third"
        " twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth"
        " thirty-first".split(),
        1,
    )
}
_DAY = rf"(?P<day>\d{{1,2}}|{'|'.join(sorted(_DAY_WORDS, key=len, reverse=True))})(?:st|nd|rd|th|er|º|\.)?"
_YEAR = r"(?P<year>\d{4})(?![\d]|[.,]\d)"
_OF = r"(?:\s(?:of|de|du|del|in|the\syear))?"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)}),?\s(?:the\s)?$", re.IGNORECASE)
_ERA = re.compile(
    r"\s?\b(BCE?|B\.C\.(?:E\.)?|before Christ|before the Common Era|CE|AD|A\.D\.|C\.E\.|v\. Chr\.|n\. Chr\.)(?!\w)"
)
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w/.,–-]){_DAY}{_OF}[\s-]{_MONTH},?\s(?P<year>\d{{1,3}})"
        r"(?=\s?(?:BCE?|B\.C\.|before Christ|CE|AD|A\.D\.)(?!\w))",
        rf"(?<![\w/.,–-]){_DAY}{_OF}[\s-]{_MONTH},?(?:{_OF}[\s-]{_YEAR})?",
        rf"(?<!\w){_MONTH}\s(?:the\s)?{_DAY}(?![\w:]),?(?:\s(?:of\s|in\s)?{_YEAR})?",
        rf"(?<![\w-]){_MONTH},?{_OF}\s{_YEAR}",
        r"(?<![\w/.-])(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})(?:[T"
        r" ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?![\w-])",
        r"(?<![\w/.-])(?P<year>\d{4})[-/](?P<number>0[1-9]|1[0-2])(?![\w/-])",
        r"(?<![\w/.-])(?P<year>\d{4})/(?P<number>\d{1,2})/(?P<day>\d{1,2})(?![\w/-])",
        r"(?<![\w/.,-])(?P<first>\d{1,2})(?P<sign>[./-])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})(?![\w/-])",
        r"(?<![\w.,/-])(?:AD|A\.D\.|CE)\s?(?P<year>\d{1,4})(?![\w,.]\d|\d)",
        r"(?<![\w.,/–-])(?P<year>\d{1,4})(?=\s?(?:BCE?|B\.C\.|before Christ|CE|AD|A\.D\.)(?!\w))",
    )
]
_NAMES = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_TO = r"\s?(?:-|–|—|\bto\b|\band\b|\bthrough\b|\buntil\b|\bbis\b)\s?(?:the\s)?"
_FROM = r"(?:\b(?:from|between)\s(?:the\s)?)?"
_ORDINAL = r"(?:st|nd|rd|th|\.)?"
_DAY_RANGES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_FROM}\b(?P<d1>\d{{1,2}}){_ORDINAL}(?:\s(?:of\s)?(?P<m1>{_NAMES}))?{_TO}(?P<d2>\d{{1,2}}){_ORDINAL}"
        rf"\s(?:of\s)?(?P<m2>{_NAMES})\b\.?(?:,?\s(?P<year>\d{{4}}))?",
        rf"{_FROM}\b(?P<m1>{_NAMES})\.?\s(?P<d1>\d{{1,2}}){_ORDINAL}{_TO}(?:(?P<m2>{_NAMES})\.?\s)?"
        rf"(?P<d2>\d{{1,2}}){_ORDINAL}\b(?:,?\s(?P<year>\d{{4}}))?",
    )
]
_TIME = re.compile(
    r"(?<![\w:.,$€£-])(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2})(?::\d{2})?)?\s?(?P<half>[ap]m|o'clock in the"
    r" (?:morning|afternoon|evening)|in the (?:morning|afternoon|evening))\b"
    r"|(?<![\w:.,-])(?P<hour2>\d{1,2})(?::|\s?h\s?|\s?Uhr\s?)(?P<minute2>[0-5]\d)(?::[0-5]\d)?(?:\s?(?:Uhr"
    r"|hours|hrs))?(?![\w:/])"
    r"|\b(?P<word>noon|midnight)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Day:
    """Date of a text; what it does not say is None."""

    year: int | None
    month: int | None
    day: int | None
    is_before_christ: bool
    is_valid: bool
    """False if the day does not exist, has two readings, or is not the weekday that it is said to be."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Time:
    """Time of day of a text."""

    minutes: int
    """Minutes since midnight; -1 if there is no such time."""
    is_open: bool
    """True if it may be before or after noon."""
    start: int
    end: int


def find_days(text: str) -> list[Day]:
    """Return the dates of a text in order. Bare years are none, except with an era."""
    days: list[Day] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if not any(mention.start < match.end() and match.start() < mention.end for mention in days):
                days.append(_read_day(text, match))
    return sorted(days, key=lambda mention: mention.start)


def find_day_ranges(text: str) -> list[tuple[tuple[int | None, ...], int, int]]:
    """Return the ranges of days of a text: year, first month and day, last month and day; and the place of each."""
    ranges: list[tuple[tuple[int | None, ...], int, int]] = []
    for pattern in _DAY_RANGES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            first_month, last_month = groups.get("m1") or groups.get("m2"), groups.get("m2") or groups.get("m1")
            months = [_MONTH_NUMBERS[(name or "").casefold()] for name in (first_month, last_month)]
            year = int(groups["year"]) if groups["year"] else None
            ranges.append(((year, months[0], int(groups["d1"]), months[1], int(groups["d2"])), *match.span()))
    return ranges


def find_times(text: str) -> list[Time]:
    """Return the times of day of a text in order."""
    return [_read_time(match) for match in _TIME.finditer(text)]


def days_agree(answer_value: Day, gold: Day) -> bool:
    """True if a date says all that the accepted one says, and nothing against it."""
    if not answer_value.is_valid or not gold.is_valid or answer_value.is_before_christ != gold.is_before_christ:
        return False
    parts = ((answer_value.year, gold.year), (answer_value.month, gold.month), (answer_value.day, gold.day))
    return all(expected is None or mention == expected for mention, expected in parts)


def times_agree(answer_value: Time, gold: Time) -> bool:
    """True if two times of day are the same; "9:00" may stand for 9 am, but "5:30" not for 5:30 pm."""
    return answer_value.minutes >= 0 and answer_value.minutes == gold.minutes


def _read_day(text: str, match: re.Match[str]) -> Day:
    groups = match.groupdict()
    start, end = match.span()
    day_text = (groups.get("day") or "").casefold()
    day = int(day_text) if day_text.isdecimal() else _DAY_WORDS.get(day_text)
    month = (
        int(groups["number"]) if groups.get("number") else _MONTH_NUMBERS.get((groups.get("month") or "").casefold())
    )
    year, is_clear = int(groups["year"]) if groups.get("year") else None, True
    if groups.get("sign"):
        day, month, is_clear = _order(int(groups["first"]), int(groups["second"]), groups["sign"])
        is_clear = is_clear and len(groups["year"]) == 4
    is_before_christ = False
    if era := _ERA.match(text, end):
        is_before_christ, end = era[1][0] in "Bbv", era.end()
    weekday = _WEEKDAY.search(text[max(0, start - 16) : start])
    if weekday:
        start -= len(weekday[0])
    is_real = _exists(year, month, day, weekday[1].casefold() if weekday else "")
    return Day(year, month, day, is_before_christ, is_clear and is_real, start, end)


def _order(first: int, second: int, sign: str) -> tuple[int, int, bool]:
    """Return day and month of a date in figures, and whether there is no other reading."""
    if second > 12:
        return second, first, True
    # Dots are written with the day first.
    return first, second, sign == "." or first > 12 or first == second


def _exists(year: int | None, month: int | None, day: int | None, weekday: str) -> bool:
    if month is not None and not 1 <= month <= 12:
        return False
    if day is None:
        return True
    try:
        calendar_day = date(year if year and year >= 1 else 2000, month or 1, day)
    except ValueError:
        return False
    return not weekday or year is None or year < 1600 or calendar_day.weekday() == _WEEKDAYS.index(weekday)


def _read_time(match: re.Match[str]) -> Time:
    if match["word"]:
        return Time(720 if match["word"].casefold() == "noon" else 0, False, *match.span())
    hour, minute = int(match["hour"] or match["hour2"]), int(match["minute"] or match["minute2"] or 0)
    if match["half"]:
        is_valid = 1 <= hour <= 12 and minute < 60
        hour = hour % 12 + (12 if match["half"].casefold().endswith(("pm", "noon", "evening")) else 0)
        return Time(hour * 60 + minute if is_valid else -1, False, *match.span())
    return Time(hour * 60 + minute if hour < 24 else -1, 1 <= hour <= 12, *match.span())
