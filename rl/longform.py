"""Measures of long answers: how many claims of the hidden report they cover, and whether their citations support them.

A sentence cites as `[1]`, the first of the citations given to `finish`. The text before a citation is supported if all
of its numbers, dates, quotes and names occur in what the cited page showed. Only strings are compared; `webemu.rl.judge`
compares meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil

from webemu.rl.gates import holds, lines
from webemu.rl.record import Record
from webemu.rl.sanitizing import has_tokens
from webemu.rl.tasks import Evidence
from webemu.rl.verify import normalise

MOST = 20_000
"""Longest report, in characters, whatever the number of claims."""
PER_CLAIM, SPARE = 300, 400
"""Characters that a report may have: for each claim, and in addition."""
MOST_WORDS = 60
"""Words of a sentence. A longer one is treated as a list of everything."""
FEW, DENSE = 3, 0.85
"""Names and figures that any sentence may have, and the largest share of its words that they may be if there are more.
Of 900 sentences of two crawls that state something, the densest had 0.79."""
MOST_TOGETHER = 3
"""Pages that may be cited at one place. Citing more is treated as citing everything, and counts as nothing."""
CONTEXT = 2
"""Words of a claim's quote, apart from its value, that a sentence needs to state the claim; a third of them if the
quote is short.
"""
_ABBREVIATED = "".join(
    rf"(?<!\b{word}\.)" for word in "Dr Mr Mrs Ms St Prof No vs Jr Sr Inc Ltd Co Rev Gen Vol etc e.g i.e".split()
)
_SENTENCE = re.compile(rf"(?<=[.!?])(?<!\b[A-Z]\.){_ABBREVIATED}(?:\s*\[\d+\])*\s+(?=[\"“A-ZÀ-Þ\d])|\n+")
"""End of a sentence: not after initials and common abbreviations."""
_CITED = re.compile(r"\[(\d{1,3})\]")
_TOGETHER = re.compile(r"((?:\s*\[\d{1,3}\])+)")
_IS_FRAME = re.compile(
    r"#{1,6} .*|\*\*[^*]+\*\*:?|(?:.{0,200}[\s<(])?https?://\S+|(?:sources|references):?", re.IGNORECASE
)
"""Heading, or line of a list of sources: neither counts as a statement."""
_QUOTE = re.compile(r"[\"“]([^\"”]{3,300})[\"”]")
_MONTH = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_FIGURE = re.compile(r"(?:date|minus)?\d+(?:point\d+)?")
_EDGES = "\"“”„«»‹›'’‘.,;:!?()[]{}*_#•–—-…"
_INSIDE = frozenset("of the de la le du von van der den del di y".split())
"""Small words that may stand between the words of a name."""
_PLAIN = frozenset(
    """a according after all also although among an and as at because before both but by despite during each every few
    for from had has have he her here his how however i i'm i've if in into is it its many moreover most no not now of
    on once one only or other our over people several she since so some such than that the their then there these they
    this those though through thus to today together under until up was we were what when where which while who why
    with you""".split()
)
"""Words that are not part of a name although a sentence may begin with them."""


def claims(record: Record) -> tuple[Evidence, ...]:
    """Return the claims that a report should state: the task's evidence with a value, or its first answer if there is
    none.
    """
    found = tuple(row for row in record.task.evidence if row.value)
    return found or tuple(Evidence("", value=answer) for answer in record.task.answers[:1])


def is_written(record: Record) -> float:
    """1 if the report is not empty, not too long for its number of claims, and without chat template tokens; else 0."""
    text, most = record.answer, SPARE + PER_CLAIM * len(claims(record))
    return bool(text.strip()) and len(text) <= min(MOST, most) and not has_tokens(text)


def coverage(record: Record) -> float:
    """Return the share of the claims that are stated by a supported sentence whose cited pages contain the claim's
    value.
    """
    said = [one for one in sentences(record.answer) if is_supported(one, record)]
    supported = [(normalise(_bare(one)), cited(one, record)) for one in said]
    wanted = claims(record)
    stated = [any(states(one, row) and supports(shown, [row.value]) for one, shown in supported) for row in wanted]
    return sum(stated) / len(wanted)


def precision(record: Record) -> float:
    """Return the share of the sentences that their citations support. A sentence without a citation is not supported;
    a report without sentences has precision 0.
    """
    said = sentences(record.answer)
    return sum(is_supported(one, record) for one in said) / len(said) if said else 0.0


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the citations that follow it. Headings and lists of sources are left
    out.

        split_sentences("Arlen lies on the Bree. [1] It has 900 people [2].")
        # ["Arlen lies on the Bree [1].", "It has 900 people [2]."]
    """
    lines = (line for line in text[:MOST].split("\n") if not _IS_FRAME.fullmatch(line.strip()))
    # Move citations before the full stop, so that the sentence keeps them when it is split there.
    moved = re.sub(r"([.!?])((?:\s*\[\d+\])+)", r"\2\1", "\n".join(lines))
    return [one.strip() for one in _SENTENCE.split(moved) if one and normalise(_bare(one))]


def states(sentence: str, claim: Evidence) -> bool:
    """True if a normalised sentence contains a claim's value and some other words of its quote. Values alone would be
    a list.
    """
    value = normalise(claim.value)
    around = {word for word in normalise(claim.quote).split() if len(word) > 2 and word not in value.split()} - _PLAIN
    shared = around & set(sentence.split())
    return _has(sentence, value) and len(shared) >= min(CONTEXT, ceil(len(around) / 3))


def is_supported(sentence: str, record: Record) -> bool:
    """True if every part of a sentence is supported by the pages cited after it, and the sentence has at least one
    fact.
    """
    if is_list(_bare(sentence)):
        return False
    checked = [(facts(part), _pages(marks, record)) for part, marks in _parts(sentence)]
    return any(wanted for wanted, _ in checked) and all(supports(shown, wanted) for wanted, shown in checked)


def is_list(text: str) -> bool:
    """True if a sentence is too long, or consists of little but names and figures."""
    words, named = len(text.split()), [*names(text), *_figures(text)]
    return words > MOST_WORDS or (len(named) > FEW and sum(len(one.split()) for one in named) > DENSE * words)


def supports(shown: tuple[str, ...], wanted: list[str]) -> bool:
    """True if each of the facts occurs in at least one of the texts that were shown."""
    return all(any(_says(part, fact) for part in shown) for fact in wanted)


def cited(sentence: str, record: Record) -> tuple[str, ...]:
    """Return the texts that the pages cited by a sentence showed in the episode."""
    return tuple(part for _, marks in _parts(sentence) for part in _pages(marks, record))


def facts(sentence: str) -> list[str]:
    """Return the parts of a sentence that can be looked up: its quotes, names, numbers and dates."""
    text = _bare(sentence)
    return [*_QUOTE.findall(text), *names(text), *_figures(text)]


def _figures(text: str) -> list[str]:
    """Return the normalised numbers and dates of a text. The word "one" is left out, since it often is no number."""
    tokens = normalise(re.sub(r"\bone\b", " ", text, flags=re.IGNORECASE)).split()
    return [token for token in tokens if _FIGURE.fullmatch(token)]


def names(text: str) -> list[str]:
    """Return runs of capitalised words. Months, and a single capitalised word at the beginning, are left out."""
    found: list[str] = []
    for place, run in _runs(text):
        # "The Arlen Bridge" at the beginning of a sentence is the name "Arlen Bridge".
        while run and run[0].casefold() in _PLAIN:
            run, place = run[1:], place + 1
        while run and run[-1] in _INSIDE:
            run.pop()
        if run and (place or len(run) > 1):
            found.append(re.sub(r"['’]s$", "", " ".join(run)))
    return found


def _runs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of capitalised words, each with the position of its first word."""
    start, run = 0, list[str]()
    for place, token in enumerate(text.strip(_EDGES + " ").split()):
        word = token.strip(_EDGES)
        opens, is_name = token[0] in _EDGES, word[:1].isupper() and not _MONTH.fullmatch(word.casefold())
        if run and (opens or not (is_name or word in _INSIDE)):
            yield start, run
            run = []
        if is_name or (run and word in _INSIDE):
            start, run = (start, [*run, word]) if run else (place, [word])
        if run and (token[-1] in ',;:!?)"”' or re.search(r"['’]s$", word)):
            yield start, run
            run = []
    if run:
        yield start, run


def _parts(sentence: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the text before each group of citations, with their numbers. Text after the last group belongs to that
    group.
    """
    pieces = _TOGETHER.split(sentence)
    texts, marks = pieces[::2], [[int(number) for number in _CITED.findall(one)] for one in pieces[1::2]]
    if len(texts) > 1 and texts[-1]:
        texts[-2:] = [f"{texts[-2]} {texts[-1]}"]
    yield from zip(texts, marks or [[]], strict=False)


def _pages(numbers: list[int], record: Record) -> tuple[str, ...]:
    """Return the texts that the cited pages showed; none if too many pages are cited at one place."""
    there = [record.citations[n - 1] for n in dict.fromkeys(numbers) if 1 <= n <= len(record.citations)]
    return tuple(part for one in there for part in record.page(one)) if len(there) <= MOST_TOGETHER else ()


def _says(shown: str, fact: str) -> bool:
    """True if the text of a page contains a fact. Like `webemu.rl.gates.contains_answer`, but also matches a possessive."""
    return _has(lines(shown), normalise(fact))


def _has(text: str, words: str) -> bool:
    """True if a normalised text contains these words; the last one may be a possessive (`NASA's`)."""
    return holds(text, words) or (words[-1:].isalpha() and holds(text, f"{words}s"))


def _bare(sentence: str) -> str:
    """Return a sentence without its citations."""
    return _CITED.sub("", sentence)
