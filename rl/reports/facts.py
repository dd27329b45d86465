"""Facts of a sentence that can be looked up in a page as strings: its names, figures and quotes.

Tasks are made and checked with these. Whether a page bears a whole claim is for `webemu.rl.reports.support`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.gates import contains_phrase, normalise_lines
from webemu.rl.verify import normalise

_CITATION = re.compile(r"\[(\d{1,3})\]")
_QUOTE = re.compile(r"[\"“]([^\"”]{3,300})[\"”]")
_MONTH = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_FIGURE = re.compile(r"(?:date|minus)?\d+(?:point\d+)?")
_EDGE_PUNCTUATION = "\"“”„«»‹›'’‘.,;:!?()[]{}*_#•–—-…"
_NAME_PARTICLES = frozenset("of the de la le du von van der den del di y".split())
"""Small words that may stand between the words of a name."""
_COMMON_WORDS = frozenset(
    """a according after all also although among an and as at because before both but by despite during each every few
    for from had has have he her here his how however i i'm i've if in into is it its many moreover most no not now of
    on once one only or other our over people several she since so some such than that the their then there these they
    this those though through thus to today together under until up was we were what when where which while who why
    with you""".split()
)
"""Words that are not part of a name although a sentence may begin with them."""


def is_in_text(page_parts: tuple[str, ...], sentence_facts: list[str]) -> bool:
    """True if each of the facts occurs in at least one of the texts that were shown."""
    return all(any(_contains_fact(part, fact) for part in page_parts) for fact in sentence_facts)


def extract_facts(sentence: str) -> list[str]:
    """Return the parts of a sentence that can be looked up: its quotes, names, numbers and dates."""
    text = _strip_citations(sentence)
    return [*_QUOTE.findall(text), *find_names(text), *_find_figures(text)]


def _find_figures(text: str) -> list[str]:
    """Return the normalised numbers and dates of a text. The word "one" is left out, since it often is no number."""
    tokens = normalise(re.sub(r"\bone\b", " ", text, flags=re.IGNORECASE)).split()
    return [token for token in tokens if _FIGURE.fullmatch(token)]


def find_names(text: str) -> list[str]:
    """Return runs of capitalised words. Months, and a single capitalised word at the beginning, are left out."""
    found_names: list[str] = []
    for position, run in _find_name_runs(text):
        # "The Arlen Bridge" at the beginning of a sentence is the name "Arlen Bridge".
        while run and run[0].casefold() in _COMMON_WORDS:
            run, position = run[1:], position + 1
        while run and run[-1] in _NAME_PARTICLES:
            run.pop()
        if run and (position or len(run) > 1):
            found_names.append(re.sub(r"['’]s$", "", " ".join(run)))
    return found_names


def _find_name_runs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of capitalised words, each with the position of its first word."""
    start, run = 0, list[str]()
    for position, token in enumerate(text.strip(_EDGE_PUNCTUATION + " ").split()):
        word = token.strip(_EDGE_PUNCTUATION)
        opens_quote, is_name = (
            token[0] in _EDGE_PUNCTUATION,
            word[:1].isupper() and not _MONTH.fullmatch(word.casefold()),
        )
        if run and (opens_quote or not (is_name or word in _NAME_PARTICLES)):
            yield start, run
            run = []
        if is_name or (run and word in _NAME_PARTICLES):
            start, run = (start, [*run, word]) if run else (position, [word])
        if run and (token[-1] in ',;:!?)"”' or re.search(r"['’]s$", word)):
            yield start, run
            run = []
    if run:
        yield start, run


def _contains_fact(page_text: str, fact: str) -> bool:
    """True if the text of a page contains a fact. Like `webemu.rl.gates.contains_answer`, but also matches a
    possessive.
    """
    return _contains_words(normalise_lines(page_text), normalise(fact))


def _contains_words(text: str, words: str) -> bool:
    """True if a normalised text contains these words; the last one may be a possessive (`NASA's`)."""
    return contains_phrase(text, words) or (words[-1:].isalpha() and contains_phrase(text, f"{words}s"))


def _strip_citations(sentence: str) -> str:
    """Return a sentence without its citations."""
    return _CITATION.sub("", sentence)
