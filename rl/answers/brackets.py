"""Brackets behind a mention: a region, years, a short form or a remark say more of it; another name does not."""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.excuses import BUILDING
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, fold, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.names import is_acronym
from webemu.rl.answers.persons import asks_for_person
from webemu.rl.answers.regions import contains, contradicts

YEARS = re.compile(
    r"(?:born\s|b\.\s?|\*\s?|released\s|published\s)?(?:c\.\s?)?\d{3,4}(?:\s?[-–—]\s?(?:\d{2,4}|present)?)?"
)
_REMARK = re.compile(r"[a-z][a-z'-]*(?: [a-z'-]+){0,5} (?:of|in|from) (?:the )?[A-Z][\w'-]*(?: [A-Z][\w'-]*)?")
"""Remark with one name in it: "capital of Peru"."""
_SINCE = re.compile(r"(?:until|till|since|from|after|in) \d{3,4}")
_RESULT = re.compile(r"\d+[–-]\d+ (?:against|over|vs|win)\b")
"""Result of a match: "4–2 against West Germany"."""
_AUTHOR_AND_YEAR = re.compile(r"[A-Z][\w.]+(?: [A-Z]\w+)?,? \d{1,4}")
"""Author of a species: "Linnaeus, 1758"."""
_PLACE = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)?")
_SYMBOL = re.compile(
    r"(?:(?:chemical )?symbol:? )?[\d⁰¹²³⁴-⁹]*[A-Z][a-z]?|[A-Z]{2,6}\d?|Democrat|Republican|Labour|Conservative|Liberal"
    r"|\W+"
)


def bracket_holds(inside: str, expected: Expectation) -> bool:
    """True if what stands in brackets behind a mention says more of it, and names nothing else."""
    text = inside.strip()
    if _repeats_answer(text, expected) or YEARS.fullmatch(text) or _SINCE.fullmatch(text):
        return True
    if expected.flavour != "name":
        # Conversions are hits or no rivals; see `webemu.rl.answers.measures`.
        return True
    if _is_other_form(text, expected.text) or _RESULT.match(text) or _AUTHOR_AND_YEAR.fullmatch(text):
        return True
    words, is_person = split_words(text), asks_for_person(expected.question)
    if is_person and re.search(r"\b(?:University|Institute|College|School)\b", text):
        return True
    if is_person and re.search(r"\b(?:play|portray|voice|role)", expected.question):
        return all(word.is_capitalised for word in words)
    if BUILDING.search(expected.question) and _PLACE.fullmatch(text):
        return True
    is_stage_name = len(expected.text.split()) == 1 or bool(re.search(r" [IVX]+$", expected.text))
    if is_person and is_stage_name and len(words) in (2, 3, 4):
        # The full name behind a stage name.
        return all(word.is_capitalised for word in words)
    return _is_remark(text, words, expected)


def _repeats_answer(text: str, expected: Expectation) -> bool:
    """True if a text is empty, the mention itself, or a list of regions that contain the answer."""
    return set(text) <= {MASK} or all(
        contains(one, expected.text) and not contradicts(one, expected.question, expected.text)
        for one in text.split(", ")
    )


def _is_other_form(text: str, answer: str) -> bool:
    """True for an acronym or its long form, a translation, and signs without a letter of the Latin alphabet."""
    is_short_form = is_acronym(text, answer) or is_acronym(answer, text) or expands_initials(text, answer)
    return is_short_form or is_translation(text) or not re.search(r"[a-z\d]", fold(text))


def _is_remark(text: str, words: list[Word], expected: Expectation) -> bool:
    """True for a symbol, a party, a measure, and a description without a name of its own."""
    if (_SYMBOL.fullmatch(text) and len(expected.text) > 2) or _REMARK.fullmatch(text):
        return True
    if not words:
        return False
    is_measure = bool(re.match(r"[\d.,]+", text)) and not any(word.is_capitalised for word in words)
    is_described = len(words) > 1 and wording.is_demonym(words[0].plain) and words[1].text.islower()
    is_plain = (expected.is_capitalised or len(words) > 1) and len(words) <= 6 and text.islower()
    is_plain = is_plain and words[0].plain not in wording.COORDINATION
    is_opening = words[0].plain in wording.FUNCTION_WORDS | wording.FOLLOWERS | wording.RENAMED
    return is_measure or is_described or is_plain or is_opening


def is_in_bracket(text: str, rival: Span, expected: Expectation) -> bool:
    """True if a rival is the long form of the answer, or stands in brackets that only say more of the mention before
    them.
    """
    if expected.flavour == "name" and expands_initials(text[rival.start : rival.end], expected.text):
        return True
    opened = text.rfind("(", max(0, rival.start - 120), rival.start)
    closed = text.find(")", rival.end, rival.end + 120)
    if opened < 0 or closed < 0 or ")" in text[opened : rival.start]:
        return False
    # A bracket right behind the answer is judged with the words behind it.
    inside = text[opened + 1 : closed]
    if expected.flavour == "date" and re.match(r"(?!or )[a-z]+ [a-z]+ ", inside):
        return text[:opened].endswith((MASK, MASK + " "))
    is_behind = expected.flavour == "name" and text[:opened].endswith((MASK, MASK + " "))
    return is_behind or is_acronym(inside, expected.text)


def is_translation(inside: str) -> bool:
    """True for a bracket such as "German: Donau"."""
    language, colon, _ = inside.partition(":")
    return bool(colon) and (
        wording.is_demonym(fold(language)) or fold(language) in ("latin", "arabic", "hebrew", "hindi", "native")
    )


def brackets_acronym(plain: str, expected: Expectation) -> bool:
    """True if the words before a bracket are the long or the short form of the accepted answer."""
    words = split_words(plain)
    return bool(words) and any(
        is_acronym(expected.text, plain[words[-n].start : words[-1].end])
        or is_acronym(words[-1].text, expected.text)
        or expands_initials(plain[words[-n].start : words[-1].end], expected.text)
        or expands_initials(expected.text, plain[words[-n].start : words[-1].end])
        for n in range(1, min(len(words), 10) + 1)
    )


def expands_initials(text: str, name: str) -> bool:
    """True if a text is a name with the same family name, whose other words begin with the same letters."""
    words, hit_lead = split_words(text), split_words(name)
    if len(words) < 2 or not hit_lead or words[-1].plain != hit_lead[-1].plain:
        return False
    letters = "".join(
        one.plain if len(one.plain) <= 3 and one.text.isupper() else one.plain[0] for one in hit_lead[:-1]
    )
    return letters == "".join(one.plain[0] for one in words[:-1]) and any(
        len(one.plain) == 1 or one.text.isupper() for one in hit_lead
    )
