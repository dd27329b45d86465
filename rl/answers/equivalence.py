"""Judgement of a short answer: extraction of what it asserts, and equivalence by the kind of the accepted answer.

The kind is declared by the task or read off the accepted answer: yes or no, "not found", a URL, a date, a time, a
number with or without a unit, a list, a code, or a name. Pure and bounded: longer answers than 2,000 characters are
wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from webemu.rl.answers import lists, polarity, wording
from webemu.rl.answers.assertion import MAX_ANSWER_CHARACTERS, is_asserted, is_excuse
from webemu.rl.answers.cleaning import MAX_CHARACTERS, clean, has_hidden_characters
from webemu.rl.answers.codes import find_code, find_range, has_code_form, is_range, urls_agree
from webemu.rl.answers.dates import days_agree, find_days, find_times, times_agree
from webemu.rl.answers.expectation import Expectation
from webemu.rl.answers.folding import split_words
from webemu.rl.answers.measures import Measure, agree, find_measures, is_conversion
from webemu.rl.answers.mention import Reading, Span
from webemu.rl.answers.names import find_name, spell_out
from webemu.rl.answers.regions import level_of
from webemu.rl.answers.rivals import find_rival_names
from webemu.rl.answers.sentences import split_sentences

Reader = Callable[[str, str, str], Reading]
"""Function of a text, an accepted answer and the question that returns what the text mentions."""
_BOX = re.compile(
    r"(?:^|(?<=[.:!?\n]))[ \t$]{0,6}\\boxed\{([^{}]{0,200}(?:\{[^{}]{0,200}\}[^{}]{0,100})?)\}[ \t$.]{0,6}(?=\n|$)"
)
_KINDS = "(?:lake|mount|river|island|county|province|district)"
"""Kinds of places that a name may have with it."""
_CALENDAR = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
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
    for spelling, context in _spellings(gold, question):
        read, expected = _choose_reader(clean(spelling) or spelling.strip(), answer_type, context, evidence)
        if _says(answer, read, expected):
            return True
    return False


def _spellings(gold: str, question: str) -> list[tuple[str, str]]:
    """Return an accepted answer, without its bracket, and without its country, each with the question. The country is
    added to the question, so that another one contradicts it.
    """
    spellings = [(gold, question)]
    if match := re.fullmatch(r"([^()]+?)\s?\([^()]*\)", gold.strip()):
        spellings.append((match[1], question))
    place, comma, region = gold.partition(", ")
    if comma and level_of(region) == 2 and not level_of(place):
        spellings.append((place, f"{question} {region}"))
    return spellings


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
        all(is_asserted(mention, read(mention), expected) for mention in payloads if mention)
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
    mention, other = " ".join(answer.split()), " ".join(gold.split())
    return mention == other or (mention.casefold() == other.casefold() and not re.search(r"\d", gold) and len(gold) > 3)


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
            return lists.join_readings([mention(text) for mention, _ in readers])

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
    if kind == "range":
        return (lambda text: find_range(text, gold)), Expectation(gold, question, "number")
    if kind == "code":
        return (lambda text: find_code(text, gold)), Expectation(gold, question, "number")
    names = [spelling for core in _cores(gold, question) for spelling in spell_out(core, evidence)]
    if gold.islower() and gold.isalpha() and len(gold) > 3:
        # A common noun may be said of one or of several.
        names.append(gold[:-1] if gold.endswith("s") and not gold.endswith("ss") else f"{gold}s")
    return (
        lambda text: _read_names(text, gold, names, question, is_choice),
        Expectation(gold, question, "name", is_choice=is_choice),
    )


def _classify(gold: str, answer_type: str, question: str) -> str:
    """Return the kind of a single accepted answer: `date`, `time`, `number`, `range`, `code` or `name`."""
    days = find_days(gold)
    if len(days) == 1 and _covers(gold, days[0].start, days[0].end):
        return "date"
    times = find_times(gold)
    if len(times) == 1 and _covers(gold, times[0].start, times[0].end):
        return "time"
    if is_range(gold) and not days:
        return "range"
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


def _cores(gold: str, question: str) -> list[str]:
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
    kind = re.fullmatch(rf"(?:the )?(?:{_KINDS} (.+)|(.+) {_KINDS})", gold, re.IGNORECASE)
    if kind and re.search(rf"\b{_KINDS}\b", question, re.IGNORECASE):
        cores.append(kind[1] or kind[2])
    if (without := re.sub(r"\s?\([^()]*\)$", "", gold).strip()) != gold and without:
        cores.append(without)
    return cores


def _read_names(text: str, gold: str, names: list[str], question: str, is_choice: bool) -> Reading:
    hits = _join_brackets(text, find_name(text, names))
    # The family name alone, somewhere else in the answer, is no other person.
    explaining_text = gold if is_choice else f"{question} {gold}"
    rivals = find_rival_names(text, hits, explaining_text)
    if _CALENDAR.fullmatch(gold) and not find_days(text):
        months = [Span(match.start(), match.end()) for match in _CALENDAR.finditer(text)]
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


def _read_measures(text: str, gold: str, question: str) -> Reading:
    """Return the numbers of a text that equal the accepted one, and the others of its kind."""
    expected = find_measures(gold)[0]
    days = [Span(mention.start, mention.end) for mention in find_days(text)] if not expected.has_year_form else []
    measures = find_measures(text, days)
    hits = [mention for mention in measures if agree(mention, expected, question)]
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
    if is_conversion(mention, expected) and "(" in text[max(0, mention.start - 3) : mention.start]:
        return False
    if mention.dimension and expected.dimension and mention.dimension != expected.dimension:
        return mention.dimension.startswith("money ") and expected.dimension.startswith("money ")
    if mention.has_year_form and mention.follows_year_word and not mention.is_odd and not expected.has_year_form:
        return False
    if expected.dimension and not mention.dimension:
        return mention.is_odd and not mention.has_year_form
    return not (mention.dimension and not expected.dimension) or mention.is_odd


def _read_days(text: str, gold: str, question: str) -> Reading:
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


def _read_times(text: str, gold: str, question: str) -> Reading:
    expected = find_times(gold)[0]
    times = find_times(text)
    hits = tuple(Span(mention.start, mention.end) for mention in times if times_agree(mention, expected))
    return Reading(
        hits, tuple(Span(mention.start, mention.end) for mention in times if not times_agree(mention, expected))
    )
