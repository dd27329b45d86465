"""Answer extraction without a model: finds the value next to the words of the question, in the form that it asks for.

A plain heuristic for baselines. Rows of tables and infoboxes, then sentences, are weighted by the words that they
share with the question; rare words of the page count more. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from webemu.rl.gates import classify_form, contains_phrase
from webemu.rl.verify import normalise

_STOP_WORDS = frozenset(
    "what which who whom whose when where how many much is was are were did does do in on of at to for by with from and"
    " or that this it its name named page site states".split()
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}(?:st|nd|rd|th)? [A-Z][a-z]+ \d{4}\b|\b[A-Z][a-z]+ \d{1,2},? \d{4}\b|\b[12]\d{3}\b"
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s(?:million|billion|thousand))?\b")
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*(?:\s+(?:(?:of|the|de|von)\s+)?[A-ZÀ-Þ][\w'’-]*)*")
_MONTH = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Þ\d])")
_CELLS = re.compile(r"\s*\|\s*|\t+|:\s+")


def extract_answer(question: str, text: str) -> str:
    """Return the best candidate in a text; empty if there is none.

    extract_answer("When was Arlen founded?", "Founded: 12 March 1904")  # "12 March 1904"
    """
    return best_candidate(question, text).answer


@dataclass(frozen=True, slots=True)
class Candidate:
    """Candidate for the answer."""

    weight: float
    """Weight of the words that its line shares with the question; 0 if there is no candidate."""
    answer: str
    """Empty if there is no candidate."""


def best_candidate(question: str, text: str) -> Candidate:
    """Return the best candidate in a text."""
    expected_form, words = _expected_form(question), _content_words(question)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    frequency = Counter(word for line in lines for word in set(_content_words(line)))
    best = Candidate(0.0, "")
    for number, line in enumerate(lines):
        for part, answer_text in _split_line(line):
            weight = sum(1 / frequency.get(word, 1) for word in set(_content_words(part)) & set(words))
            candidate = next(
                (one for one in _find_candidates(answer_text, expected_form) if not _is_in_question(one, question)), ""
            )
            # Among equal weights the earlier line wins.
            if candidate and weight - number / 10**6 > best.weight:
                best = Candidate(weight - number / 10**6, candidate)
    return best


def _expected_form(question: str) -> str:
    """Return the form of answer that a question asks for: `date`, `number` or `name`."""
    normal_question = f" {normalise(question)} "
    if re.search(r" (?:when|what date|what day|year|date) ", normal_question):
        return "date"
    numbers = r" (?:how many|how much|how long|how far|how tall|population|number|length|height|total|sum) "
    return "number" if re.search(numbers, normal_question) else "name"


def _split_line(line: str) -> Iterator[tuple[str, str]]:
    """Yield (text to compare with the question, text to read the answer from): label and value of a table row, then
    each sentence as both.
    """
    cells = [cell for cell in _CELLS.split(line) if cell]
    if len(cells) > 1 and len(cells[0]) < 60:
        yield cells[0], " | ".join(cells[1:])
    for sentence in _SENTENCE.split(line):
        yield sentence, sentence


def _find_candidates(text: str, expected_form: str) -> Iterator[str]:
    """Yield texts that have the form of the answer."""
    if expected_form == "name":
        if "|" not in text and len(text) < 60 and classify_form(text) == "words" and not text.endswith("."):
            yield text
        yield from (match[0] for match in _NAME.finditer(text) if not _MONTH.fullmatch(match[0]))
        return
    yield from (match[0] for match in (_DATE if expected_form == "date" else _NUMBER).finditer(text))


def _is_in_question(candidate: str, question: str) -> bool:
    return contains_phrase(normalise(question), normalise(candidate))


def _content_words(text: str) -> list[str]:
    return [word for word in normalise(text).split() if word not in _STOP_WORDS]
