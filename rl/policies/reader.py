"""Answer extraction without a model: finds the value next to the words of the question, in the form that it asks for.

A plain heuristic for baselines. Rows of tables and infoboxes, then sentences, are weighted by the words that they
share with the question; rare words of the page count more. Pure.
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
    """Return the best candidate in a text; empty if there is none.

    extract_answer("When was Arlen founded?", "Founded: 12 March 1904")  # "12 March 1904"
    """
    return best(question, text)[1]


def best(question: str, text: str) -> tuple[float, str]:
    """Return the weight and the text of the best candidate; (0, "") if there is none."""
    wanted, words = _form(question), _words(question)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    frequency = Counter(word for line in lines for word in set(_words(line)))
    most, found = 0.0, ""
    for number, line in enumerate(lines):
        for part, rest in _parts(line):
            weight = sum(1 / frequency.get(word, 1) for word in set(_words(part)) & set(words))
            candidate = next((one for one in _candidates(rest, wanted) if not _asked(one, question)), "")
            # Among equal weights the earlier line wins.
            if candidate and weight - number / 10**6 > most:
                most, found = weight - number / 10**6, candidate
    return most, found


def _form(question: str) -> str:
    """Return the form of answer that a question asks for: `date`, `number` or `name`."""
    asked = f" {normalise(question)} "
    if re.search(r" (?:when|what date|what day|year|date) ", asked):
        return "date"
    numbers = r" (?:how many|how much|how long|how far|how tall|population|number|length|height|total|sum) "
    return "number" if re.search(numbers, asked) else "name"


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """Yield (text to compare with the question, text to read the answer from): label and value of a table row, then
    each sentence as both.
    """
    cells = [cell for cell in _CELLS.split(line) if cell]
    if len(cells) > 1 and len(cells[0]) < 60:
        yield cells[0], " | ".join(cells[1:])
    for sentence in _SENTENCE.split(line):
        yield sentence, sentence


def _candidates(text: str, wanted: str) -> Iterator[str]:
    """Yield texts that have the form of the answer."""
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
