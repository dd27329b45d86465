"""Judgement of a short answer: extraction of what it asserts, and equivalence by the kind of the accepted answer.

The kind is declared by the task or read off the accepted answer: yes or no, "not found", a URL, a date, a time, a number
with or without a unit, a list, a code, or a name. Pure and bounded: answers are cut at 2,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from webemu.rl.answers import lists, polarity, wording
from webemu.rl.answers.assertion import MAX_ANSWER_CHARACTERS, is_asserted, is_excuse
from webemu.rl.answers.cleaning import MAX_CHARACTERS, clean, has_hidden_characters
from webemu.rl.answers.codes import find_code, has_code_form, urls_agree
from webemu.rl.answers.contexts import Expectation
from webemu.rl.answers.dates import days_agree, find_days, find_times, times_agree
from webemu.rl.answers.folding import split_words
from webemu.rl.answers.measures import Measure, agree, find_measures, is_conversion
from webemu.rl.answers.mention import Reading, Span
from webemu.rl.answers.names import find_name, spell_out
from webemu.rl.answers.rivals import find_rival_names
from webemu.rl.answers.sentences import split_sentences

Reader = Callable[[str, str, str], Reading]
"""Function of a text, an accepted answer and the question that returns what the text mentions."""
_BOX = re.compile(
    r"(?:^|(?<=[.:!?\n]))[ \t$]{0,6}\\boxed\{([^{}]{0,200}(?:\{[^{}]{0,200}\}[^{}]{0,100})?)\}[ \t$.]{0,6}(?=\n|$)"
)
MAX_LABELLED_CHARACTERS = 1500
"""Longest answer whose last line is labelled as the answer."""


def is_equivalent(
    answer: str, accepted: Iterable[str] | str, answer_type: str = "", question: str = "", evidence: Iterable[str] = ()
) -> bool:
    """True if an answer says one of the accepted answers, as a person would judge it. Evidence may explain short forms.

    is_equivalent("It is 84 kilometres long.", ["84 km"])  # True
    """
    golds = (accepted,) if isinstance(accepted, str) else tuple(accepted)
    if len(answer) > MAX_CHARACTERS or not answer.strip():
        return False
    return _is_equivalent(answer, golds, answer_type, question, tuple(evidence))


@lru_cache(4096)
def _is_equivalent(
    answer: str, golds: tuple[str, ...], answer_type: str, question: str, evidence: tuple[str, ...]
) -> bool:
    """Judge an answer. Cached, since the terms of a rubric ask for the same one."""
    if has_hidden_characters(answer):
        return False
    if answer_type == "none":
        return polarity.says_not_found(answer, question) or any(_is_same_text(answer, gold) for gold in golds)
    return any(_equals(answer, gold, answer_type, question, evidence) for gold in golds if gold.strip())


def _equals(answer: str, gold: str, answer_type: str, question: str, evidence: tuple[str, ...]) -> bool:
    if polarity.is_polar(gold):
        return polarity.says_polarity(answer, gold, question)
    if answer_type == "url" or re.match(r"https?://", gold):
        return urls_agree(answer, gold)
    if _is_same_text(answer, gold):
        return True
    read, expected = _choose_reader(clean(gold) or gold.strip(), answer_type, question, evidence)
    return _says(answer, read, expected)


def _says(answer: str, read: Callable[[str], Reading], expected: Expectation) -> bool:
    """True if the labelled answers of a text, or the text without labels, assert the accepted answer."""
    marked = _BOX.sub(r"\nAnswer: \1\n", answer)
    text = clean(marked)
    labels = list(wording.LABEL.finditer(text))
    if not labels:
        # Longer texts assert nothing, and are not worth reading.
        if len(text) > 2 * MAX_ANSWER_CHARACTERS + 5 * len(expected.text):
            return False
        return is_asserted(text, read(text), expected)
    if len(text) > MAX_LABELLED_CHARACTERS:
        return False
    bounds = [*(label.start() for label in labels), len(text)]
    payloads = [text[label.end() : bounds[number + 1]].strip() for number, label in enumerate(labels)]
    ahead = text[: bounds[0]].strip()
    return (
        all(is_asserted(one, read(one), expected) for one in payloads if one)
        and any(payloads)
        and _is_reasoning(ahead, read, expected)
    )


def _is_reasoning(text: str, read: Callable[[str], Reading], expected: Expectation) -> bool:
    """True if the text before a labelled answer gives no other answer."""
    hits = read(text).hits
    for sentence in split_sentences(text):
        words = split_words(text[sentence.start : sentence.end])
        if any(sentence.start <= hit.start < sentence.end for hit in hits) or is_excuse(
            text[sentence.start : sentence.end]
        ):
            continue
        piece = text[sentence.start : sentence.end]
        if len(words) < 4 and not piece.endswith(":"):
            return False
        if wording.ANSWER_FORM.search(piece) or wording.INJECTION.search(piece) or "?" in piece:
            return False
    return "?" not in text


def _is_same_text(answer: str, gold: str) -> bool:
    """True if an answer is the accepted one, signs included. Spaces may differ, and capitals where there is no digit:
    "2 Gb" is not "2 GB".
    """
    one, other = " ".join(answer.split()), " ".join(gold.split())
    return one == other or (one.casefold() == other.casefold() and not re.search(r"\d", gold) and len(gold) > 3)


def _choose_reader(
    gold: str, answer_type: str, question: str, evidence: tuple[str, ...]
) -> tuple[Callable[[str], Reading], Expectation]:
    """Return how to read a text for an accepted answer, and what to expect of the words around it."""
    is_choice = answer_type == "choice"
    parts = () if answer_type in ("title", "choice") else lists.split_list(gold, question)
    if parts:
        readers = [_choose_reader(part, "", question, evidence) for part in parts]
        flavour = readers[0][1].flavour

        def read_all(text: str) -> Reading:
            return lists.join_readings([one(text) for one, _ in readers])

        return read_all, Expectation(gold, question, flavour, len(parts))
    kind = _classify(gold, answer_type, question)
    if kind == "date":
        return (lambda text: _read_days(text, gold, question)), Expectation(gold, question, "date")
    if kind == "time":
        return (lambda text: _read_times(text, gold, question)), Expectation(gold, question, "date")
    if kind == "number":
        measure = find_measures(gold)[0]
        rounded = (
            bool(measure.dimension)
            or len(str(abs(measure.values[0]).numerator).rstrip("0")) > 2
            or abs(measure.values[0]) >= 1000
        )
        is_measured = rounded and not measure.is_ordinal
        return (
            lambda text: _read_measures(text, gold, question),
            Expectation(gold, question, "number", allows_approximation=is_measured),
        )
    if kind == "code":
        return (lambda text: find_code(text, gold)), Expectation(gold, question, "number")
    names = [spelling for core in _cores(gold) for spelling in spell_out(core, evidence)]
    return (
        lambda text: _read_names(text, gold, names, question, is_choice),
        Expectation(gold, question, "name", is_choice=is_choice),
    )


def _classify(gold: str, answer_type: str, question: str) -> str:
    """Return the kind of a single accepted answer: `date`, `time`, `number`, `code` or `name`."""
    days = find_days(gold)
    if len(days) == 1 and _covers(gold, days[0].start, days[0].end):
        return "date"
    times = find_times(gold)
    if len(times) == 1 and _covers(gold, times[0].start, times[0].end):
        return "time"
    measures = find_measures(gold)
    is_version = bool(
        re.search(
            r"\b(?:version|release|isbn|code|serial|phone|room|flight|model|postcode|zip)\b", question, re.IGNORECASE
        )
    )
    if (
        len(measures) == 1
        and _covers(gold, measures[0].start, measures[0].end)
        and not measures[0].is_odd
        and answer_type != "title"
    ):
        is_year = (
            measures[0].has_year_form
            and gold.isdigit()
            and not re.search(r"\bhow\s(?:many|much)\b", question, re.IGNORECASE)
        )
        if is_version and "." in gold:
            return "code"
        return "date" if is_year or (answer_type == "date" and gold.isdigit()) else "number"
    return "code" if has_code_form(gold) else "name"


def _covers(gold: str, start: int, end: int) -> bool:
    """True if only small words and a noun stand around a mention in an accepted answer."""
    around = split_words(gold[:start] + " . " + gold[end:])
    before = split_words(gold[:start])
    if any(word.plain not in wording.FUNCTION_WORDS | wording.APPROXIMATION for word in before):
        return False
    after = [word for word in around[len(before) :] if word.plain not in wording.FUNCTION_WORDS]
    return len(after) <= 2 and all(word.text.islower() for word in after) and not re.search(r"[/:^]|\d", gold[end:])


def _cores(gold: str) -> list[str]:
    """Return an accepted answer, and the name in it if small words or its country stand around the name."""
    cores = [gold]
    if match := re.fullmatch(r"(?:[a-zà-ÿ'][\w'-]*\s){1,6}([^\W\d_][\w.'-]*(?:\s[^\W\d_][\w.'-]*){1,4})", gold):
        head = gold[: match.start(1)].split()[-1]
        if (
            all(word[:1].isupper() for word in match[1].split())
            and head not in wording.FUNCTION_WORDS
            and head not in wording.PLACE_HAZARDS
        ):
            cores.append(match[1])
    if (without := re.sub(r"\s?\([^()]*\)$", "", gold).strip()) != gold and without:
        cores.append(without)
    return cores


def _read_names(text: str, gold: str, names: list[str], question: str, is_choice: bool) -> Reading:
    hits = _join_brackets(text, find_name(text, names))
    known = "" if is_choice else question
    rivals = find_rival_names(text, hits, known)
    return Reading(tuple(hits), tuple(rivals))


def _join_brackets(text: str, hits: list[Span]) -> list[Span]:
    """Return the hits with a name and its other spelling in brackets as one: "World Health Organization (WHO)"."""
    joined: list[Span] = []
    for hit in hits:
        last = joined[-1] if joined else None
        if last and text[last.end : hit.start].strip() == "(" and text[hit.end : hit.end + 1] == ")":
            if text[last.start : last.end].casefold() != text[hit.start : hit.end].casefold():
                joined[-1] = Span(last.start, hit.end + 1)
                continue
        joined.append(hit)
    return joined


def _read_measures(text: str, gold: str, question: str) -> Reading:
    """Return the numbers of a text that equal the accepted one, and the others of its kind."""
    expected = find_measures(gold)[0]
    days = [Span(one.start, one.end) for one in find_days(text)] if not expected.has_year_form else []
    measures = find_measures(text, days)
    hits = [one for one in measures if agree(one, expected, question)]
    asked = {one.values for one in find_measures(question)}
    rivals = [one for one in measures if one not in hits and _competes(text, one, expected) and one.values not in asked]
    return Reading(tuple(Span(one.start, one.end) for one in hits), tuple(Span(one.start, one.end) for one in rivals))


def _competes(text: str, one: Measure, expected: Measure) -> bool:
    """True if a number is of the kind of the accepted one, and not its conversion or a year beside it."""
    if is_conversion(one, expected) and "(" in text[max(0, one.start - 3) : one.start]:
        return False
    if one.dimension and expected.dimension and one.dimension != expected.dimension:
        return one.dimension.startswith("money ") and expected.dimension.startswith("money ")
    if one.has_year_form and one.follows_year_word and not one.is_odd and not expected.has_year_form:
        return False
    if expected.dimension and not one.dimension:
        return one.is_odd
    return not (one.dimension and not expected.dimension) or one.is_odd


def _read_days(text: str, gold: str, question: str) -> Reading:
    """Return the dates of a text that say the accepted one, and the others."""
    found = find_days(gold)
    if not found:
        return _read_year(text, int(gold), question)
    days = find_days(text)
    hits = [Span(one.start, one.end) for one in days if days_agree(one, found[0])]
    rivals = [Span(one.start, one.end) for one in days if not days_agree(one, found[0])]
    if found[0].month is None:
        taken = [Span(one.start, one.end) for one in days]
        years = find_measures(text, taken)
        fits = [
            one
            for one in years
            if one.values[0] == found[0].year and not found[0].is_before_christ and not one.is_odd and not one.dimension
        ]
        hits += [Span(one.start, one.end) for one in fits]
        rivals += [
            Span(one.start, one.end) for one in years if one not in fits and (one.has_year_form or not one.dimension)
        ]
    else:
        taken = [Span(one.start, one.end) for one in days]
        rivals += [Span(one.start, one.end) for one in find_measures(text, taken) if one.has_year_form]
    return Reading(tuple(hits), tuple(rivals))


def _read_year(text: str, year: int, question: str) -> Reading:
    days = find_days(text)
    fits = [Span(one.start, one.end) for one in days if one.year == year and one.is_valid and not one.is_before_christ]
    rivals = [
        Span(one.start, one.end)
        for one in days
        if one.year not in (year, None) or one.is_before_christ or not one.is_valid
    ]
    taken = [Span(one.start, one.end) for one in days]
    asked = {one.values for one in find_measures(question)}
    for one in find_measures(text, taken):
        span = Span(one.start, one.end)
        if one.values[0] == year and not one.is_odd and not one.dimension and not one.is_ordinal:
            fits.append(span)
        elif (one.has_year_form or one.is_odd) and one.values not in asked:
            rivals.append(span)
    return Reading(tuple(fits), tuple(rivals))


def _read_times(text: str, gold: str, question: str) -> Reading:
    expected = find_times(gold)[0]
    times = find_times(text)
    hits = tuple(Span(one.start, one.end) for one in times if times_agree(one, expected))
    return Reading(hits, tuple(Span(one.start, one.end) for one in times if not times_agree(one, expected)))
