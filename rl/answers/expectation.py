"""Accepted answer as the checks of the words around a mention need it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from webemu.rl.answers.folding import split_words
from webemu.rl.answers.verbs import asks_verb

_CHAINED = re.compile(
    r"\b(?:of|in|by|for|to|at|the|'s)\b.*\b(?:of the \w+ of|that|which|where|whose|during|(?<!^)who|'s \w+'s)\b",
    re.IGNORECASE,
)
MASK = "\x01"
"""Sign that stands in place of a mention of the accepted answer."""
Flavour = Literal["name", "number", "date"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Accepted answer, and what the question says of it."""

    text: str
    """Accepted answer as it is written."""
    question: str
    flavour: Flavour
    parts: int = 1
    """Number of parts of a list; 1 for a single answer."""
    allows_approximation: bool = False
    """True if "about" may stand before it."""
    is_choice: bool = False
    """True if the question names the answers to choose from."""

    @property
    def is_capitalised(self) -> bool:
        """True if the accepted answer has a word with a capital letter."""
        return any(word.is_capitalised for word in split_words(self.text))

    @property
    def is_chained(self) -> bool:
        """True if the question asks for something of something else, which an answer may name first."""
        return bool(_CHAINED.search(self.question))

    def asks(self, word: str) -> bool:
        """True if a word, or another form of it, stands in the question."""
        stem = word[: max(4, len(word) - 3)]
        return any(
            one.plain == word or (len(word) > 3 and one.plain.startswith(stem)) for one in split_words(self.question)
        )

    def asks_verb(self, verb: str) -> bool:
        """True if the question asks for what a verb says: "portrayed" for "plays"."""
        return self.asks(verb) or asks_verb(self.question, verb)
