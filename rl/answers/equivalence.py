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
from webemu.rl.answers.bounds import relax
from webemu.rl.answers.cleaning import MAX_CHARACTERS, clean, has_hidden_characters
from webemu.rl.answers.codes import find_code, find_range, has_code_form, is_range, urls_agree
from webemu.rl.answers.dates import find_day_ranges, find_days, find_times
from webemu.rl.answers.expectation import Expectation
from webemu.rl.answers.folding import split_words
from webemu.rl.answers.measures import find_measures
from webemu.rl.answers.mention import Reading
from webemu.rl.answers.names import spell_out
from webemu.rl.answers.readings import (
    CALENDAR,
    read_day_ranges,
    read_days,
    read_measures,
    read_names,
    read_times,
)
from webemu.rl.answers.regions import level_of
from webemu.rl.answers.sentences import split_sentences

Reader = Callable[[str, str, str], Reading]
"""Function of a text, an accepted answer and the question that returns what the text mentions."""
_BOX = re.compile(
    r"(?:^|(?<=[.:!?\n]))[ \t$]{0,6}\\boxed\{([^{}]{0,200}(?:\{[^{}]{0,200}\}[^{}]{0,100})?)\}[ \t$.]{0,6}(?=\n|$)"
)
_TURNED = "University|Treaty|Battle|Siege|Congress|Council|Conference|Gulf"
"""Words of names such as "Treaty of Versailles", which is the Versailles Treaty too."""
_KINDS = "(?:lake|mount|river|island|county|province|district)"
"""Kinds of places that a name may have with it."""
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
    return any(
        _equals(_drop_aliases(answer, gold, golds), gold, answer_type, question, evidence)
        for gold in golds
        if gold.strip()
    )


def _drop_aliases(answer: str, gold: str, golds: tuple[str, ...]) -> str:
    """Return the answer without other accepted answers beside one: "a hecatontagon or hectogon"."""
    for other in golds:
        if other != gold and 2 < len(other) < 80 and len(gold) < 80 and not (set(other + gold) & set("0123456789")):
            gold_pattern, alias_pattern = re.escape(gold), re.escape(other)
            link = r",? (?:or|also called|also known as|aka|a\.k\.a\.) (?:simply )?(?:the |an? )?"
            answer = re.sub(
                rf"(?i)\b{alias_pattern}{link}(?={gold_pattern}\b)|(?<={gold_pattern}){link}{alias_pattern}\b",
                "",
                answer,
            )
    return answer


def _equals(answer: str, gold: str, answer_type: str, question: str, evidence: tuple[str, ...]) -> bool:
    if polarity.is_polar(gold):
        return polarity.says_polarity(answer, gold, question)
    if answer_type == "url" or re.match(r"https?://", gold):
        return urls_agree(answer, gold)
    if _is_same_text(answer, gold):
        return True
    if _has_other_bracket(answer, gold):
        return False
    for spelling, context in _spellings(gold, question):
        read, expected = _choose_reader(
            ("_" not in spelling and clean(spelling)) or spelling.strip(), answer_type, context, evidence
        )
        if _says(answer, read, expected):
            return True
    return False


def _has_other_bracket(answer: str, gold: str) -> bool:
    """True if an answer has another word in the bracket of the accepted one: another party, say."""
    gold_match = re.fullmatch(r"([^()]+?)\s?\((\w+)\)", gold.strip())
    answer_match = re.search(re.escape(gold_match[1]) + r"\s?\((\w+)\)", answer) if gold_match else None
    return bool(gold_match and answer_match and gold_match[2] != answer_match[1])


def _spellings(gold: str, question: str) -> list[tuple[str, str]]:
    """Return an accepted answer, without its bracket, and without its country, each with the question. The country is
    added to the question, so that another one contradicts it.
    """
    spellings = [(gold, question)]
    if match := re.fullmatch(r"([^()]+?)\s?\([^()]*\)", gold.strip()):
        spellings.append((match[1], question))
    place, comma, region = re.sub(r" in (?=(?:the )?[A-Z])", ", ", gold).partition(", ")
    if comma and level_of(region) > 1 and not level_of(place):
        spellings.append((place, f"{question} {region}"))
    return spellings


def _says(answer: str, read: Callable[[str], Reading], expected: Expectation) -> bool:
    """True if the labelled answers of a text, or the text without labels, assert the accepted answer."""
    text = clean(_BOX.sub(r"\nAnswer: \1\n", answer))
    text = relax(text, expected.question) if expected.flavour == "number" else text
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
        return (lambda text: read_days(text, gold, question)), Expectation(gold, question, "date")
    if kind == "days":
        return (lambda text: read_day_ranges(text, gold)), Expectation(gold, question, "date")
    if kind == "time":
        return (lambda text: read_times(text, gold)), Expectation(gold, question, "date")
    if kind == "number":
        measure = find_measures(gold)[0]
        rounded = (
            bool(measure.dimension)
            or len(str(abs(measure.values[0]).numerator).rstrip("0")) > 2
            or abs(measure.values[0]) >= 1000
        )
        is_measured = rounded and not measure.is_ordinal
        return (
            lambda text: read_measures(text, gold, question),
            Expectation(gold, question, "number", allows_approximation=is_measured),
        )
    if kind == "range":
        return (lambda text: find_range(text, gold)), Expectation(gold, question, "number")
    if kind == "code":
        return (lambda text: find_code(text, gold)), Expectation(gold, question, "number")
    names = _list_spellings(gold, question, evidence)
    return (
        lambda text: read_names(text, gold, names, question, is_choice),
        Expectation(gold, question, "name", is_choice=is_choice),
    )


def _list_spellings(gold: str, question: str, evidence: tuple[str, ...]) -> list[str]:
    """Return the spellings under which a name may be given."""
    asked_words = {word.plain for word in split_words(question)}
    names = [
        spelling
        for core in _cores(gold, question)
        for spelling in spell_out(core, evidence)
        # "NATO" is no answer to what NATO stands for.
        if spelling == core or not {word.plain for word in split_words(spelling)} <= asked_words
    ]
    names += _without_kind(gold, question)
    if re.search(r"(?:^|[a-z] )[a-z]{4,}$", gold):
        # A common noun may be said of one or of several.
        names.append(gold[:-1] if gold.endswith("s") and not gold.endswith("ss") else f"{gold}s")
    return names


def _classify(gold: str, answer_type: str, question: str) -> str:
    """Return the kind of a single accepted answer: `days`, `date`, `time`, `number`, `range`, `code` or `name`."""
    days = find_days(gold)
    day_ranges = find_day_ranges(gold)
    if len(day_ranges) == 1 and _covers(gold, *day_ranges[0][1:]):
        return "days"
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
    # "Luna 9" and "Article 17" are names.
    return "code" if has_code_form(gold) and not re.fullmatch(r"[A-Z][a-z]+ \d+", gold) else "name"


def _covers(gold: str, start: int, end: int) -> bool:
    """True if only small words and a noun stand around a mention in an accepted answer."""
    around = split_words(gold[:start] + " . " + gold[end:])
    before = split_words(gold[:start])
    # "Article 17" is a name.
    if any(
        word.plain not in wording.FUNCTION_WORDS | wording.APPROXIMATION
        or word.plain in ("article", "page", "document")
        for word in before
    ):
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
    if CALENDAR.fullmatch(gold) and "day" not in gold:
        cores += [gold[:3], gold[:4]]
    kind = re.fullmatch(rf"(?:the )?(?:{_KINDS} (.+)|(.+) {_KINDS})", gold, re.IGNORECASE)
    if kind and re.search(rf"\b{_KINDS}|\b(?:peak|summit|volcano)\b", question, re.IGNORECASE):
        cores.append(kind[1] or kind[2])
    turned = re.fullmatch(rf"(?:the )?({_TURNED}) of (\w+(?: \w+)?)|(\w+(?: \w+)?) ({_TURNED})", gold)
    if turned and ("University" not in (turned[1], turned[4]) or not level_of(turned[2] or turned[3])):
        cores.append(f"{turned[2]} {turned[1]}" if turned[1] else f"{turned[4]} of {turned[3]}")
    if (without := re.sub(r"\s?\([^()]*\)$", "", gold).strip()) != gold and without:
        cores.append(without)
    return cores


def _without_kind(gold: str, question: str) -> list[str]:
    """Return a name without its last word if the question asks for it: "MIT" for "Which licence?"."""
    match = re.fullmatch(r"((?:[A-Z][\w.&'-]* ){0,3}[A-Z][\w.&'-]*) ([A-Za-z]{3,})", gold)
    stem = match[2].casefold()[:4] if match else ""
    if not match or stem == "city" or level_of(match[1]):
        return []
    return [match[1]] if re.search(rf"\b(?:which|what)\b.{{0,40}}\b{stem}", question, re.IGNORECASE) else []
