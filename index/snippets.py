"""Snippets of whole sentences: what a query looks for in a page's sentences, and what its question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from webemu.emulator.types import Hit
from webemu.index.fragments import ANY, NAME, NUMBER, YEAR, Words

try:
    from webemu.index._reading import choose_fragments
except ImportError:  # no compiler where it was installed
    from webemu.index.fragments import choose_fragments

__all__ = ["SnippetChoice", "choose_snippet", "find_question_kind"]

_KINDS = (
    (YEAR, re.compile(r"\b(?:when|(?:what|which) (?:\w+ ){0,3}(?:year|date|day|month|century|decade|time))\b", re.I)),
    (
        NUMBER,
        re.compile(
            r"\bhow (?:many|much|long|far|old|tall|high|large|big|fast|often|deep|wide|heavy)\b"
            r"|\b(?:what|which) (?:\w+ ){0,3}(?:percent|percentage|number|amount|population|age|version|price|"
            r"size|length)\b",
            re.I,
        ),
    ),
    (
        NAME,
        re.compile(
            r"\b(?:who|whose|whom|where)\b|\b(?:what|which) (?:\w+ ){0,3}(?:name|person|city|country|state|town|river|"
            r"company|team|group|organization|university|author|artist|actor|king|president|language)\b",
            re.I,
        ),
    ),
)
"""Kinds of questions by what they say, in the order in which they are tried."""
_WEIGHT_STEPS = 1000
"""Steps of a word's weight for each unit of its rareness."""


@dataclass(frozen=True, slots=True)
class SnippetChoice:
    """The words and the kind of question by which sentences are chosen."""

    characters: int = 0
    """Characters of a snippet at most; 0 leaves snippets as they are."""
    words: Words = ()
    """Words of the query."""
    kind: int = ANY
    """Kind of thing that the query asks for, if it is a question."""


NO_CHOICE = SnippetChoice()
"""Choice of a search whose snippets are one passage each."""


def plan_snippets(words: Iterable[tuple[Iterable[str], float]], text: str, characters: int) -> SnippetChoice:
    """Return the choice for a query: its words as the terms that they may be in the index, with their rareness."""
    weighted = [
        (tuple(map(_find_beginning, terms)), max(1, int(_WEIGHT_STEPS * rareness))) for terms, rareness in words
    ]
    return SnippetChoice(characters, weighted, find_question_kind(text))


def find_question_kind(text: str) -> int:
    """Return what a question in English asks for: a year, a number, a name; `ANY` if it does not say."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), ANY)


def _find_beginning(term: str) -> bytes:
    """Return how a word begins that has this term. English stems have an `i` where the word may have a `y`; a word of
    one or two letters must be the whole word, since too many begin like it.
    """
    if len(term) <= 2 and term.isascii():
        return f"{term} ".encode()
    return (term[:-1] if term.endswith("i") else term).encode("utf-8", "surrogatepass")


def choose_snippet(hit: Hit, record: memoryview, choice: SnippetChoice) -> Hit:
    """Return a hit whose snippet has the best sentences around the passage that was found."""
    snippet = choose_fragments(record, hit.snippet_json, choice.words, choice.kind, choice.characters)
    return hit._replace(snippet_json=snippet)
