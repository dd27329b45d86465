"""Reads an answer off a page without a model: the value beside the words of the question, in the form it asks for.

Pure. A plain heuristic, for comparison: rows of tables and infoboxes, then sentences, weighed by the words they share
with the question; rarer words of the page weigh more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from webemu.rl.gates import form, holds
from webemu.rl.verify import normalise

_STOP = frozenset(
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


def answer(question: str, text: str) -> str:
    """The best candidate; empty where the text has none."""
    return best(question, text)[1]


def best(question: str, text: str) -> tuple[float, str]:
    """The best candidate, and how much speaks for it."""
    wanted, words = _form(question), _words(question)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    frequency = Counter(word for line in lines for word in set(_words(line)))
    most, found = 0.0, ""
    for number, line in enumerate(lines):
        for part, rest in _parts(line):
            weight = sum(1 / frequency.get(word, 1) for word in set(_words(part)) & set(words))
            candidate = next((one for one in _candidates(rest, wanted) if not _asked(one, question)), "")
            if candidate and weight - number / 10**6 > most:
                most, found = weight - number / 10**6, candidate
    return most, found


def _form(question: str) -> str:
    asked = f" {normalise(question)} "
    if re.search(r" (?:when|what date|what day|year|date) ", asked):
        return "date"
    numbers = r" (?:how many|how much|how long|how far|how tall|population|number|length|height|total|sum) "
    return "number" if re.search(numbers, asked) else "name"


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """(what is compared with the question, what is read): label and value of a row, or a sentence twice."""
    cells = [cell for cell in _CELLS.split(line) if cell]
    if len(cells) > 1 and len(cells[0]) < 60:
        yield cells[0], " | ".join(cells[1:])
    for sentence in _SENTENCE.split(line):
        yield sentence, sentence


def _candidates(text: str, wanted: str) -> Iterator[str]:
    if wanted == "name":
        if "|" not in text and len(text) < 60 and form(text) == "words" and not text.endswith("."):
            yield text
        yield from (found[0] for found in _NAME.finditer(text) if not _MONTH.fullmatch(found[0]))
        return
    yield from (found[0] for found in (_DATE if wanted == "date" else _NUMBER).finditer(text))


def _asked(candidate: str, question: str) -> bool:
    return holds(normalise(question), normalise(candidate))


def _words(text: str) -> list[str]:
    return [word for word in normalise(text).split() if word not in _STOP]
