"""Measures of long answers: how many claims of the hidden report they cover, and whether their citations support them.

A sentence cites as `[1]`, the first of the citations given to `finish`. The text before a citation is supported if all
of its numbers, dates, quotes and names occur in what the cited page showed. Only strings are compared;
`webemu.rl.judge` compares meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil

from webemu.rl.gates import contains_phrase, normalise_lines
from webemu.rl.record import EpisodeRecord
from webemu.rl.sanitizing import has_template_tokens
from webemu.rl.tasks import Evidence
from webemu.rl.verify import normalise

MAX_REPORT_CHARACTERS = 20_000
"""Longest report, in characters, whatever the number of claims."""
CHARACTERS_PER_CLAIM, BASE_CHARACTERS = 300, 400
"""Characters that a report may have: for each claim, and in addition."""
MAX_SENTENCE_WORDS = 60
"""Words of a sentence. A longer one is treated as a list of everything."""
FREE_FACTS, MAX_FACT_SHARE = 3, 0.85
"""Names and figures that any sentence may have, and the largest share of its words that they may be if there are more.
Of 900 sentences of two crawls that state something, the densest had 0.79."""
MAX_PAGES_PER_CITATION = 3
"""Pages that may be cited at one place. Citing more is treated as citing everything, and counts as nothing."""
MIN_CONTEXT_WORDS = 2
"""Words of a claim's quote, apart from its value, that a sentence needs to state the claim; a third of them if the
quote is short.
"""
_NOT_AFTER_ABBREVIATION = "".join(
    rf"(?<!\b{word}\.)" for word in "Dr Mr Mrs Ms St Prof No vs Jr Sr Inc Ltd Co Rev Gen Vol etc e.g i.e".split()
)
_SENTENCE_END = re.compile(rf"(?<=[.!?])(?<!\b[A-Z]\.){_NOT_AFTER_ABBREVIATION}(?:\s*\[\d+\])*\s+(?=[\"“A-ZÀ-Þ\d])|\n+")
"""End of a sentence: not after initials and common abbreviations."""
_CITATION = re.compile(r"\[(\d{1,3})\]")
_CITATION_GROUP = re.compile(r"((?:\s*\[\d{1,3}\])+)")
_NO_STATEMENT = re.compile(
    r"#{1,6} .*|\*\*[^*]+\*\*:?|(?:.{0,200}[\s<(])?https?://\S+|(?:sources|references):?", re.IGNORECASE
)
"""Heading, or line of a list of sources: neither counts as a statement."""
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


def extract_claims(record: EpisodeRecord) -> tuple[Evidence, ...]:
    """Return the claims that a report should state: the task's evidence with a value, or its first answer if there is
    none.
    """
    claims_with_value = tuple(row for row in record.task.evidence if row.value)
    return claims_with_value or tuple(Evidence("", value=answer) for answer in record.task.answers[:1])


def is_written(record: EpisodeRecord) -> float:
    """1 if the report is not empty, not too long for its number of claims, and without chat template tokens; else 0."""
    text, limit = record.answer, BASE_CHARACTERS + CHARACTERS_PER_CLAIM * len(extract_claims(record))
    return bool(text.strip()) and len(text) <= min(MAX_REPORT_CHARACTERS, limit) and not has_template_tokens(text)


def coverage(record: EpisodeRecord) -> float:
    """Return the share of the claims that are stated by a supported sentence whose cited pages contain the claim's
    value.
    """
    supported_sentences = [one for one in split_sentences(record.answer) if is_supported(one, record)]
    supported = [(normalise(_strip_citations(one)), cited_text(one, record)) for one in supported_sentences]
    claim_rows = extract_claims(record)
    stated = [
        any(states_claim(one, row) and is_in_text(page_parts, [row.value]) for one, page_parts in supported)
        for row in claim_rows
    ]
    return sum(stated) / len(claim_rows)


def precision(record: EpisodeRecord) -> float:
    """Return the share of the sentences that their citations support. A sentence without a citation is not supported;
    a report without sentences has precision 0.
    """
    all_sentences = split_sentences(record.answer)
    return sum(is_supported(one, record) for one in all_sentences) / len(all_sentences) if all_sentences else 0.0


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the citations that follow it. Headings and lists of sources are left
    out.

        split_sentences("Arlen lies on the Bree. [1] It has 900 people [2].")
        # ["Arlen lies on the Bree [1].", "It has 900 people [2]."]
    """
    lines = (line for line in text[:MAX_REPORT_CHARACTERS].split("\n") if not _NO_STATEMENT.fullmatch(line.strip()))
    # Move citations before the full stop, so that the sentence keeps them when it is split there.
    reordered = re.sub(r"([.!?])((?:\s*\[\d+\])+)", r"\2\1", "\n".join(lines))
    return [one.strip() for one in _SENTENCE_END.split(reordered) if one and normalise(_strip_citations(one))]


def states_claim(sentence: str, claim: Evidence) -> bool:
    """True if a normalised sentence contains a claim's value and some other words of its quote. Values alone would be
    a list.
    """
    value = normalise(claim.value)
    context_words = {
        word for word in normalise(claim.quote).split() if len(word) > 2 and word not in value.split()
    } - _COMMON_WORDS
    shared_words = context_words & set(sentence.split())
    return _contains_words(sentence, value) and len(shared_words) >= min(
        MIN_CONTEXT_WORDS, ceil(len(context_words) / 3)
    )


def is_supported(sentence: str, record: EpisodeRecord) -> bool:
    """True if every part of a sentence is supported by the pages cited after it, and the sentence has at least one
    fact.
    """
    if is_list(_strip_citations(sentence)):
        return False
    facts_and_parts = [
        (extract_facts(part), _cited_parts(marks, record)) for part, marks in _split_by_citations(sentence)
    ]
    return any(sentence_facts for sentence_facts, _ in facts_and_parts) and all(
        is_in_text(page_parts, sentence_facts) for sentence_facts, page_parts in facts_and_parts
    )


def is_list(text: str) -> bool:
    """True if a sentence is too long, or consists of little but names and figures."""
    word_count, names_and_figures = len(text.split()), [*find_names(text), *_find_figures(text)]
    return word_count > MAX_SENTENCE_WORDS or (
        len(names_and_figures) > FREE_FACTS
        and sum(len(one.split()) for one in names_and_figures) > MAX_FACT_SHARE * word_count
    )


def is_in_text(page_parts: tuple[str, ...], sentence_facts: list[str]) -> bool:
    """True if each of the facts occurs in at least one of the texts that were shown."""
    return all(any(_contains_fact(part, fact) for part in page_parts) for fact in sentence_facts)


def cited_text(sentence: str, record: EpisodeRecord) -> tuple[str, ...]:
    """Return the texts that the pages cited by a sentence showed in the episode."""
    return tuple(part for _, marks in _split_by_citations(sentence) for part in _cited_parts(marks, record))


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


def _split_by_citations(sentence: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the text before each group of citations, with their numbers. Text after the last group belongs to that
    group.
    """
    alternating = _CITATION_GROUP.split(sentence)
    texts, marks = alternating[::2], [[int(number) for number in _CITATION.findall(one)] for one in alternating[1::2]]
    if len(texts) > 1 and texts[-1]:
        texts[-2:] = [f"{texts[-2]} {texts[-1]}"]
    yield from zip(texts, marks or [[]], strict=False)


def _cited_parts(numbers: list[int], record: EpisodeRecord) -> tuple[str, ...]:
    """Return the texts that the cited pages showed; none if too many pages are cited at one place."""
    cited_urls = [record.citations[n - 1] for n in dict.fromkeys(numbers) if 1 <= n <= len(record.citations)]
    return (
        tuple(part for one in cited_urls for part in record.shown_parts_of(one))
        if len(cited_urls) <= MAX_PAGES_PER_CITATION
        else ()
    )


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
