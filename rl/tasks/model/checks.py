"""Checks of a model's proposals by string comparison. Each raises `CandidateRejected` with a reason if it fails."""

from __future__ import annotations

import re

from webemu.rl.answers import is_equivalent
from webemu.rl.gates import contains_phrase, count_parts, is_plain
from webemu.rl.reports import facts
from webemu.rl.tasks.filters.wording import find_reference
from webemu.rl.tasks.model.generation import CandidateRejected
from webemu.rl.tasks.phrases import content_words
from webemu.rl.verify import normalise

MAX_ANSWER_CHARACTERS, MAX_ANSWER_WORDS = 60, 6
"""Largest number of characters and of words in an answer."""
MAX_QUESTION_CHARACTERS, MAX_QUOTE_CHARACTERS = 400, 500
"""Largest number of characters in a question and in a quote."""
# Models write typographic characters as plain ones; each maps to one character, so that positions stay the same.
_PLAIN_CHARACTERS = str.maketrans("‘’‚“”„–—−\u2010\u2011", "'''\"\"\"-----")
MIN_SHARED_WORDS = 2
"""Smallest number of words that a description shares with its quote, besides those the question had before."""


def check_question(text: str, answer: str, source: str) -> None:
    """Require one question that does not contain its answer."""
    if text and not text.endswith("?"):
        raise CandidateRejected("not one question")
    check_task_text(text, source)
    if contains_phrase(normalise(text), normalise(answer)):
        raise CandidateRejected("answer in the question")


def check_task_text(text: str, source: str) -> None:
    """Require a self-contained text in words of its own."""
    if not text or len(text) > MAX_QUESTION_CHARACTERS or not is_plain(text):
        raise CandidateRejected("no question")
    if find_reference(text):
        raise CandidateRejected("question leans on its page")
    if normalise(text) in normalise(source):
        raise CandidateRejected("question copied from the page")


def check_answer(text: str) -> None:
    """Require a single short answer."""
    if not normalise(text):
        raise CandidateRejected("no answer")
    if (
        len(text) > MAX_ANSWER_CHARACTERS
        or len(text.split()) > MAX_ANSWER_WORDS
        or not is_plain(text)
        or count_parts(text) > 1
    ):
        raise CandidateRejected("answer not one short thing")


def find_quote(text: str, source: str) -> str:
    """Require consecutive words of the page, and return them as the page has them.

    White space, dashes and quotation marks may differ.
    """
    if not text or len(text) > MAX_QUOTE_CHARACTERS:
        raise CandidateRejected("no quote")
    flat = " ".join(source.split())
    # Found in the plain text, returned from the original: both have the same length.
    match = re.search(
        rf"(?<!\w){re.escape(text.translate(_PLAIN_CHARACTERS))}(?!\w)", flat.translate(_PLAIN_CHARACTERS)
    )
    if not match:
        raise CandidateRejected("quote not on the page")
    return flat[match.start() : match.end()]


def check_quote_states(text: str, value: str) -> None:
    """Require a quote that contains the value."""
    if not contains_phrase(normalise(text), normalise(value)):
        raise CandidateRejected("answer not in the quote")


def check_name_gone(text: str, name: str) -> None:
    """Require a question without the name, and without any capitalised word of the name."""
    # Small words of a name ("of", "the") may stay.
    words = {word for word in name.split() if word[:1].isupper()}
    question_words = {word.strip(".,;:!?\"'“”’").removesuffix("'s").removesuffix("’s") for word in text.split()}
    if contains_phrase(normalise(text), normalise(name)) or words & question_words:
        raise CandidateRejected("name still in the question")


def check_description(text: str, old_question: str, quote_text: str, *texts: str) -> None:
    """Require a description that is taken from its quote and adds no name or number that its sources do not have."""
    new_words = set(content_words(text)) - set(content_words(old_question))
    if len(new_words & set(content_words(quote_text))) < MIN_SHARED_WORDS:
        raise CandidateRejected("description not from its quote")
    if not facts.is_in_text((old_question, *texts), facts.extract_facts(text)):
        raise CandidateRejected("description made up")


def check_derived(model_answer: str, expected: str) -> None:
    """Require that the model's answer from the evidence alone is the expected one."""
    if not is_equivalent(model_answer, expected):
        raise CandidateRejected("answer does not follow from the evidence")
