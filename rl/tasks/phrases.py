"""What a question is made of: quoted names, capitalised names, words that mean something. Pure; English, and harmless
elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = re.compile(r'"([^"]{2,1000})"|“([^”]{2,1000})”|„([^“”]{2,1000})[“”]|«([^»]{2,1000})»')
MARK = "◌"
"""Stands in the place of what was quoted."""
_EDGES = "\"“”„«»‹›'’‘.,;:!?()[]{}"
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_INSIDE = frozenset("of the de la le du von van der den and & y e".split())
"""Small words that may stand between the words of a name."""
STOP = frozenset(
    """a about after all an and any are as at be been before being between both but by can could did do does during each
    for from had has have he her his how i if in into is it its many me more most much named name no not of on one or
    other our out over own she so some such tell than that the their them then there these they this those through to
    too under until up was we were what when where which while who whom whose why will with would you your""".split()
)
"""Words that a question has whatever it asks."""


def quoted(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [" ".join("".join(found.groups("")).split()) for found in _QUOTED.finditer(text)]


def unquoted(text: str) -> str:
    """The text with a mark in the place of what stands in quotation marks."""
    return _QUOTED.sub(MARK, text)


def names(text: str) -> list[str]:
    """Quoted names, then runs of capitalised words and numbers, as they stand; each once."""
    return list(dict.fromkeys([*quoted(text), *_runs(unquoted(text))]))


def content(text: str) -> list[str]:
    """The words that mean something, in order, lower case."""
    words = (word.casefold() for word in _WORD.findall(text))
    return [word for word in words if word not in STOP]


def queries(question: str) -> list[str]:
    """What one would search for who has only the question: all of it, its words, its names one by one."""
    words, named = content(question), names(question)
    asked = [question, " ".join(words), *named, " ".join(f'"{name}"' for name in named[:1])]
    return list(dict.fromkeys(query for query in asked if query))


def _runs(text: str) -> Iterator[str]:
    run: list[str] = []
    for token in text.split():
        word = token.strip(_EDGES)
        is_initial = len(word) == 1 and token.endswith(".")
        word += "." * is_initial
        if _is_named(word) or (run and word in _INSIDE):
            run.append(word)
        else:
            yield from _closed(run)
            run = []
        if run and token[-1] in ".,;:!?)" and not is_initial:
            yield from _closed(run)
            run = []
    yield from _closed(run)


def _is_named(word: str) -> bool:
    return bool(word) and (word[0].isupper() or word[0].isdigit()) and word.casefold() not in STOP


def _closed(run: list[str]) -> Iterator[str]:
    while run and run[-1] in _INSIDE:
        run.pop()
    if run:
        yield " ".join(run)
