"""Parts of a question: quoted names, capitalised names, content words. Pure.

The rules are made for English; in other languages they find less, but do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTATION = re.compile(r'"([^"]{2,1000})"|“([^”]{2,1000})”|„([^“”]{2,1000})[“”]|«([^»]{2,1000})»')
MASK = "◌"
"""Placeholder for a quoted text."""
_EDGE_PUNCTUATION = "\"“”„«»‹›'’‘.,;:!?()[]{}"
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_NAME_PARTICLES = frozenset("of the de la le du von van der den and & y e".split())
"""Small words that may stand between the words of a name."""
STOP_WORDS = frozenset(
    """a about after all an and any are as at be been before being between both but by can could did do does during each
    for from had has have he her his how i if in into is it its many me more most much named name no not of on one or
    other our out over own she so some such tell than that the their them then there these they this those through to
    too under until up was we were what when where which while who whom whose why will with would you your""".split()
)
"""Words that questions have whatever they ask; they are no content words."""


def find_quotations(text: str) -> list[str]:
    """Return the texts in quotation marks, in order."""
    return [" ".join("".join(match.groups("")).split()) for match in _QUOTATION.finditer(text)]


def mask_quotations(text: str) -> str:
    """Return the text with `MASK` in place of everything in quotation marks."""
    return _QUOTATION.sub(MASK, text)


def find_names(text: str) -> list[str]:
    """Return the quoted texts, then the runs of capitalised words and numbers, each once and as written."""
    return list(dict.fromkeys([*find_quotations(text), *_find_name_runs(mask_quotations(text))]))


def content_words(text: str) -> list[str]:
    """Return the words that are no stop words, in order, in lower case."""
    words = (word.casefold() for word in _WORD.findall(text))
    return [word for word in words if word not in STOP_WORDS]


def build_queries(question: str) -> list[str]:
    """Return the searches that somebody would try who has only the question: all of it, its content words, each of its
    names, and the first name in quotation marks.
    """
    words, question_names = content_words(question), find_names(question)
    candidates = [question, " ".join(words), *question_names, " ".join(f'"{name}"' for name in question_names[:1])]
    return list(dict.fromkeys(query for query in candidates if query))


def _find_name_runs(text: str) -> Iterator[str]:
    """Yield runs of capitalised words and numbers. Punctuation ends a run, except after an initial."""
    run: list[str] = []
    for token in text.split():
        word = token.strip(_EDGE_PUNCTUATION)
        is_initial = len(word) == 1 and token.endswith(".")
        # "J. S. Bach" is one run: the full stop of an initial does not end it.
        word += "." * is_initial
        if _is_name_word(word) or (run and word in _NAME_PARTICLES):
            run.append(word)
        else:
            yield from _finish_run(run)
            run = []
        if run and token[-1] in ".,;:!?)" and not is_initial:
            yield from _finish_run(run)
            run = []
    yield from _finish_run(run)


def _is_name_word(word: str) -> bool:
    """True if the word may be part of a name: it begins with a capital or a digit and is no stop word."""
    return bool(word) and (word[0].isupper() or word[0].isdigit()) and word.casefold() not in STOP_WORDS


def _finish_run(run: list[str]) -> Iterator[str]:
    """Yield the run as text, without small words at its end; nothing if it is empty."""
    # "University of" is no name; the small words at the end belong to the sentence.
    while run and run[-1] in _NAME_PARTICLES:
        run.pop()
    if run:
        yield " ".join(run)
