"""Readings: what a text mentions that equals the accepted answer, and what competes with it, by the kind of answer."""

from __future__ import annotations

import re

from webemu.rl.answers.dates import days_agree, find_day_ranges, find_days, find_times, times_agree
from webemu.rl.answers.measures import Measure, agree, find_measures, is_conversion
from webemu.rl.answers.mention import Reading, Span
from webemu.rl.answers.names import find_name
from webemu.rl.answers.persons import asks_for_person, extend
from webemu.rl.answers.rivals import find_rival_names

CALENDAR = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
)
"""Names of months and days of the week."""


def read_names(text: str, gold: str, names: list[str], question: str, is_choice: bool) -> Reading:
    """Return the mentions of a name in any of its spellings, and the other names."""
    is_person = asks_for_person(question) and not is_choice
    hits = _join_brackets(text, find_name(text, names, is_person=is_person))
    if is_person and " " not in gold:
        hits = [Span(hit.start, extend(text, hit.end)) for hit in hits]
    if gold.endswith("()"):
        calls = [re.compile(r"\([^()]{0,60}\)").match(text, hit.end) for hit in hits]
        hits = [Span(hit.start, call.end() if call else hit.end) for hit, call in zip(hits, calls, strict=True)]
    # The family name alone, somewhere else in the answer, is no other person.
    explaining_text = gold if is_choice else f"{question} {gold}"
    rivals = find_rival_names(text, hits, explaining_text)
    if CALENDAR.fullmatch(gold) and not find_days(text):
        months = [Span(match.start(), match.end()) for match in CALENDAR.finditer(text)]
        rivals += [span for span in months if all(span.start >= hit.end or hit.start >= span.end for hit in hits)]
    return Reading(tuple(hits), tuple(rivals))


def _join_brackets(text: str, hits: list[Span]) -> list[Span]:
    """Return the hits with a name and its other spelling in brackets as one: "World Health Organization (WHO)"."""
    joined: list[Span] = []
    for hit in hits:
        last = joined[-1] if joined else None
        is_bracketed = last and text[last.end : hit.start].strip() == "(" and text[hit.end : hit.end + 1] == ")"
        if last and is_bracketed and text[last.start : last.end].casefold() != text[hit.start : hit.end].casefold():
            joined[-1] = Span(last.start, hit.end + 1)
        else:
            joined.append(hit)
    return joined


def read_measures(text: str, gold: str, question: str) -> Reading:
    """Return the numbers of a text that equal the accepted one, and the others of its kind."""
    expected = find_measures(gold)[0]
    days = [Span(mention.start, mention.end) for mention in find_days(text)] if not expected.has_year_form else []
    measures = find_measures(text, days)
    hits = [
        mention
        for mention in measures
        if agree(mention, expected, question)
        # "47 states" is no "47th state".
        and not (expected.is_ordinal and not mention.is_ordinal and re.match(r" [a-z]+s\b", text[mention.end :]))
    ]
    question_values = {mention.values for mention in find_measures(question)}
    rivals = [
        mention
        for mention in measures
        if mention not in hits and _competes(text, mention, expected) and mention.values not in question_values
    ]
    return Reading(
        tuple(Span(mention.start, mention.end) for mention in hits),
        tuple(Span(mention.start, mention.end) for mention in rivals),
    )


def _competes(text: str, mention: Measure, expected: Measure) -> bool:
    """True if a number is of the kind of the accepted one, and not its conversion or a year beside it."""
    # "the first survey", "one of them": no counts.
    if (mention.is_ordinal and not expected.is_ordinal) or text[mention.start : mention.end].casefold() == "one":
        return False
    ahead = text[max(0, mention.start - 30) : mention.start]
    if is_conversion(mention, expected) and ahead.rfind("(") > ahead.rfind(")"):
        return False
    # "H2O" has no number.
    if mention.is_odd and text[mention.start - 1 : mention.start].isalpha() and text[mention.start - 1] not in "xX":
        return False
    if mention.dimension and expected.dimension and mention.dimension != expected.dimension:
        return mention.dimension.startswith("money ") and expected.dimension.startswith("money ")
    if mention.has_year_form and mention.follows_year_word and not mention.is_odd and not expected.has_year_form:
        return False
    if expected.dimension and not mention.dimension:
        return mention.is_odd and not mention.has_year_form
    return not (mention.dimension and not expected.dimension) or mention.is_odd


def read_day_ranges(text: str, gold: str) -> Reading:
    """Return the ranges of days of a text that equal the accepted one, and all other dates."""
    expected = find_day_ranges(gold)[0][0]
    hits = [Span(start, end) for key, start, end in find_day_ranges(text) if key == expected]
    days = [Span(mention.start, mention.end) for mention in find_days(text)]
    return Reading(
        tuple(hits), tuple(span for span in days if not any(one.start <= span.start < one.end for one in hits))
    )


def read_days(text: str, gold: str, question: str) -> Reading:
    """Return the dates of a text that say the accepted one, and the others."""
    gold_days = find_days(gold)
    if not gold_days:
        return _read_year(text, int(gold), question)
    days = find_days(text)
    hits = [Span(mention.start, mention.end) for mention in days if days_agree(mention, gold_days[0])]
    rivals = [Span(mention.start, mention.end) for mention in days if not days_agree(mention, gold_days[0])]
    if gold_days[0].month is None:
        day_spans = [Span(mention.start, mention.end) for mention in days]
        years = find_measures(text, day_spans)
        fits = [
            mention
            for mention in years
            if mention.values[0] == gold_days[0].year
            and not gold_days[0].is_before_christ
            and not mention.is_odd
            and not mention.dimension
        ]
        hits += [Span(mention.start, mention.end) for mention in fits]
        rivals += [
            Span(mention.start, mention.end)
            for mention in years
            if mention not in fits and (mention.has_year_form or not mention.dimension)
        ]
    else:
        day_spans = [Span(mention.start, mention.end) for mention in days]
        rivals += [
            Span(mention.start, mention.end) for mention in find_measures(text, day_spans) if mention.has_year_form
        ]
    return Reading(tuple(hits), tuple(rivals))


def _read_year(text: str, year: int, question: str) -> Reading:
    days = find_days(text)
    fits = [
        Span(mention.start, mention.end)
        for mention in days
        if mention.year == year and mention.is_valid and not mention.is_before_christ
    ]
    rivals = [
        Span(mention.start, mention.end)
        for mention in days
        if mention.year not in (year, None) or mention.is_before_christ or not mention.is_valid
    ]
    day_spans = [Span(mention.start, mention.end) for mention in days]
    question_values = {mention.values for mention in find_measures(question)}
    for mention in find_measures(text, day_spans):
        span = Span(mention.start, mention.end)
        if mention.values[0] == year and not mention.is_odd and not mention.dimension and not mention.is_ordinal:
            fits.append(span)
        elif (mention.has_year_form or mention.is_odd) and mention.values not in question_values:
            rivals.append(span)
    return Reading(tuple(fits), tuple(rivals))


def read_times(text: str, gold: str) -> Reading:
    """Return the times of day of a text that say the accepted one, and the others."""
    expected = find_times(gold)[0]
    times = find_times(text)
    hits = tuple(Span(mention.start, mention.end) for mention in times if times_agree(mention, expected))
    return Reading(
        hits, tuple(Span(mention.start, mention.end) for mention in times if not times_agree(mention, expected))
    )
