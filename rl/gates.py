"""Checks of an answer's form that come before its content: one short text, written by the agent, without tricks.

Pure. Apart from the length, form and place in the question of the accepted answers, the checks do not look at them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from webemu.rl.sanitizing import has_template_tokens
from webemu.rl.verify import fold_text, is_exact_match, normalise

MIN_LENGTH_CAP = 40
"""Characters that any answer may have, however short the accepted answers are."""
_LINE_BREAK = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
_SEPARATOR = re.compile(
    r"(?<!\d),|,(?!\d)|[;|/\\•·&+]|\b(?:or|and|nor|either|both|alias|aka|versus|vs|maybe|oder|und|ou|et)\b|[()\[\]{}]"
    r"|\.\s+(?=\w{2})|(?<=\d)\s*(?:[-–—~]|\bto\b)\s*(?=\d)|\b(?:between|from)\s+\d"
)
"""Separators that suggest several answers, alternatives or a range."""


def is_plain(answer: str) -> bool:
    """True if the answer is one line, not empty, and without chat template tokens or invisible characters."""
    return bool(normalise(answer)) and not _LINE_BREAK.search(answer.strip()) and not has_template_tokens(answer)


def is_short(answer: str, accepted: Iterable[str]) -> bool:
    """True if the answer is at most three times as long as the longest accepted answer, or within `MIN_LENGTH_CAP`."""
    return len(answer) <= max(MIN_LENGTH_CAP, 3 * max(map(len, accepted), default=0))


def is_single(answer: str, accepted: tuple[str, ...]) -> bool:
    """True if the answer is not a list, range or choice: it has no more parts than an accepted one, or equals one."""
    return is_exact_match(answer, accepted) or count_parts(answer) <= max(map(count_parts, accepted), default=1)


def count_parts(answer: str) -> int:
    """Return how many things an answer seems to name: one more than it has separators.

    count_parts("Paris or Rome")  # 2
    """
    return 1 + len(_SEPARATOR.findall(" ".join(fold_text(answer).split())))


def is_not_from_question(answer: str, question: str, accepted: Iterable[str]) -> bool:
    """True if the answer does not repeat text of the question, nor contain the whole question.

    If the question itself contains an accepted answer (a choice between two), the answer must be an accepted one or
    not be in the question.
    """
    normal_question = normalise(question)
    # A choice between two: the accepted answer is part of the question.
    if any(contains_phrase(normal_question, normalise(gold)) for gold in accepted):
        return is_exact_match(answer, accepted) or not contains_phrase(normal_question, normalise(answer))
    normal_answer = normalise(answer)
    return not contains_phrase(normal_question, normal_answer) and not (
        normal_question and contains_phrase(normal_answer, normal_question)
    )


def classify_form(answer: str) -> str:
    """Return the form of an answer: `date`, `number`, `words`, or `mixed` for words with digits."""
    text = normalise(answer)
    if re.fullmatch(r"date\d{6,8}", text):
        return "date"
    if re.fullmatch(r"(?:minus)?\d+(?:point\d+)?", text):
        return "number"
    return "mixed" if re.search(r"\d", text) else "words"


def contains_phrase(text: str, phrase: str) -> bool:
    """True if a normalised text contains another one as a run of whole words; False for an empty phrase."""
    return bool(phrase) and f" {phrase} " in f" {text} "


def contains_answer(page_text: str, answer: str) -> bool:
    """True if the text of a page contains an answer as a run of words, in any spelling of numbers and dates."""
    return contains_phrase(normalise_lines(page_text), normalise(answer))


@lru_cache(512)
def normalise_lines(page_text: str) -> str:
    """Return the text of a page normalised line by line. Cached, since an answer has several spellings and the samples
    of a task see the same pages.
    """
    return " ".join(normalise(line) for line in re.split(r"[\n\t|]+", page_text))
