"""What a model says is believed only where strings bear it out. Each check raises `Dropped` with its reason."""

from __future__ import annotations

import re

from webemu.rl import longform
from webemu.rl.gates import contains_phrase, count_parts, is_plain
from webemu.rl.tasks.filters.wording import leans
from webemu.rl.tasks.model.generation import Dropped
from webemu.rl.tasks.phrases import content
from webemu.rl.verify import is_exact_match, normalise

LONGEST, MOST_WORDS = 60, 6
"""Characters and words of an answer."""
LONGEST_QUESTION, LONGEST_QUOTE = 400, 500
_PLAIN = str.maketrans("‘’‚“”„–—−\u2010\u2011", "'''\"\"\"-----")
SHARED = 2
"""Words that a description has of its quote, beside those that the question had before."""


def question(text: str, answer: str, source: str) -> None:
    """A question that does not give its answer away."""
    if text and not text.endswith("?"):
        raise Dropped("not one question")
    task(text, source)
    if contains_phrase(normalise(text), normalise(answer)):
        raise Dropped("answer in the question")


def task(text: str, source: str) -> None:
    """Words of its own that stand alone."""
    if not text or len(text) > LONGEST_QUESTION or not is_plain(text):
        raise Dropped("no question")
    if leans(text):
        raise Dropped("question leans on its page")
    if normalise(text) in normalise(source):
        raise Dropped("question copied from the page")


def answer(text: str) -> None:
    """One short thing."""
    if not normalise(text):
        raise Dropped("no answer")
    if len(text) > LONGEST or len(text.split()) > MOST_WORDS or not is_plain(text) or count_parts(text) > 1:
        raise Dropped("answer not one short thing")


def quote(text: str, source: str) -> str:
    """Words of the page, one after another, as the page has them: white space, dashes and quotes may differ."""
    if not text or len(text) > LONGEST_QUOTE:
        raise Dropped("no quote")
    flat = " ".join(source.split())
    found = re.search(rf"(?<!\w){re.escape(text.translate(_PLAIN))}(?!\w)", flat.translate(_PLAIN))
    if not found:
        raise Dropped("quote not on the page")
    return flat[found.start() : found.end()]


def quote_states(text: str, value: str) -> None:
    if not contains_phrase(normalise(text), normalise(value)):
        raise Dropped("answer not in the quote")


def without(text: str, name: str) -> None:
    """No longer names what it describes, nor by a word of the name that is written with a capital."""
    words = {word for word in name.split() if word[:1].isupper()}
    said = {word.strip(".,;:!?\"'“”’").removesuffix("'s").removesuffix("’s") for word in text.split()}
    if contains_phrase(normalise(text), normalise(name)) or words & said:
        raise Dropped("name still in the question")


def described(text: str, before: str, quoted: str, *texts: str) -> None:
    """The description is taken from its quote, and no name or figure from nowhere."""
    added = set(content(text)) - set(content(before))
    if len(added & set(content(quoted))) < SHARED:
        raise Dropped("description not from its quote")
    if not longform.is_in_text((before, *texts), longform.extract_facts(text)):
        raise Dropped("description made up")


def derived(given: str, expected: str) -> None:
    """The answer that a model finds in the evidence alone."""
    if not is_exact_match(given, (expected,)):
        raise Dropped("answer does not follow from the evidence")
