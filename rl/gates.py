"""What an answer must be before it is looked at: one short text of its own, without tricks. Pure, and blind to the gold
but for its length and form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from webemu.rl.sanitizing import has_tokens
from webemu.rl.verify import exact, folded, normalise

SHORTEST_CAP = 40
"""Characters that any answer may have."""
_LINES = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
_APART = re.compile(
    r"(?<!\d),|,(?!\d)|[;|/\\•·&+]|\b(?:or|and|nor|either|both|alias|aka|versus|vs|maybe|oder|und|ou|et)\b|[()\[\]{}]"
    r"|\.\s+(?=\w{2})|(?<=\d)\s*(?:[-–—~]|\bto\b)\s*(?=\d)|\b(?:between|from)\s+\d"
)


def is_plain(answer: str) -> bool:
    """One line, not empty, without tokens of chat templates and unseen characters."""
    return bool(normalise(answer)) and not _LINES.search(answer.strip()) and not has_tokens(answer)


def is_short(answer: str, accepted: Iterable[str]) -> bool:
    """At most three times as long as the longest accepted answer."""
    return len(answer) <= max(SHORTEST_CAP, 3 * max(map(len, accepted), default=0))


def is_single(answer: str, accepted: tuple[str, ...]) -> bool:
    """Not a list, a range or a choice: no more parts than an accepted answer has; what is right as it stands is one."""
    return exact(answer, accepted) or parts(answer) <= max(map(parts, accepted), default=1)


def parts(answer: str) -> int:
    """How many things an answer seems to name."""
    return 1 + len(_APART.findall(" ".join(folded(answer).split())))


def is_own(answer: str, question: str, accepted: Iterable[str]) -> bool:
    """Not text of the question, unless an accepted answer is (a choice between two)."""
    asked = normalise(question)
    if any(holds(asked, normalise(gold)) for gold in accepted):
        return exact(answer, accepted) or not holds(asked, normalise(answer))
    given = normalise(answer)
    return not holds(asked, given) and not (asked and holds(given, asked))


def form(answer: str) -> str:
    """What an answer looks like."""
    text = normalise(answer)
    if re.fullmatch(r"date\d{6,8}", text):
        return "date"
    if re.fullmatch(r"(?:minus)?\d+(?:point\d+)?", text):
        return "number"
    return "mixed" if re.search(r"\d", text) else "words"


def holds(text: str, part: str) -> bool:
    """Whether a normalised text has another as a run of its words."""
    return bool(part) and f" {part} " in f" {text} "


def says(shown: str, answer: str) -> bool:
    """Whether a page's text has an answer as a run of words, in any spelling of numbers and dates."""
    return holds(lines(shown), normalise(answer))


@lru_cache(512)
def lines(shown: str) -> str:
    """A page's text normalised line by line. Kept, since an answer has several spellings, and the samples of a task
    show the same pages."""
    return " ".join(normalise(line) for line in re.split(r"[\n\t|]+", shown))
