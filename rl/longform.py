"""Long answers: which claims of the hidden report they cover, and whether what they cite says so.

A sentence cites as `[1]`, the first of the citations given to `finish`. It is supported if all its numbers, dates,
quotes and names stand in what one of its cited pages showed, and it has at least one. A judge would see more.
"""

from __future__ import annotations

import re

from rl.gates import holds, says
from rl.neutral import has_tokens
from rl.record import Record
from rl.verify import normalise

MOST = 20_000
PER_CLAIM, SPARE = 400, 400
"""Characters that an answer may have."""
MOST_WORDS = 60
"""Of a sentence: a longer one is a list of everything."""
_SENTENCE = re.compile(r"(?<=[.!?])(?:\s*\[\d+\])*\s+(?=[\"“A-ZÀ-Þ\d])|\n+")
_CITED = re.compile(r"\[(\d{1,3})\]")
_MONTH = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*")
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’&-]*(?:\s+(?:(?:of|the|and|&|de|von|la)\s+)?[A-ZÀ-Þ][\w'’-]*)*")
_BEFORE = frozenset("a an the in on at by of for from with to as its it since after before until when while".split())
_QUOTE = re.compile(r"[\"“]([^\"”]{3,300})[\"”]")


def claims(record: Record) -> tuple[str, ...]:
    """What the report claims: the values of the task's evidence, else its answers."""
    return tuple(row.value for row in record.task.evidence if row.value) or record.task.answers[:1]


def is_written(record: Record) -> float:
    """Not empty, not over its length, and without tokens of chat templates."""
    text, most = record.answer, SPARE + PER_CLAIM * len(claims(record))
    return bool(text.strip()) and len(text) <= min(MOST, most) and not has_tokens(text)


def coverage(record: Record) -> float:
    """Share of the claims that stand in a supported sentence."""
    supported = [normalise(_bare(one)) for one in sentences(record.answer) if is_supported(one, record)]
    wanted = claims(record)
    return sum(any(holds(one, normalise(claim)) for one in supported) for claim in wanted) / len(wanted)


def precision(record: Record) -> float:
    """Share of the sentences that are supported by what they cite; one that cites nothing is not."""
    said = sentences(record.answer)
    return sum(is_supported(one, record) for one in said) / len(said) if said else 0.0


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the citations that follow it."""
    moved = re.sub(r"([.!?])((?:\s*\[\d+\])+)", r"\2\1", text[:MOST])
    return [one.strip() for one in _SENTENCE.split(moved) if one and normalise(_bare(one))]


def is_supported(sentence: str, record: Record) -> bool:
    """Whether one cited page showed all of the sentence's numbers, quotes and names."""
    wanted, cited = facts(sentence), [int(number) for number in _CITED.findall(sentence)]
    if not wanted or len(_bare(sentence).split()) > MOST_WORDS:
        return False
    pages = [record.page(record.citations[n - 1]) for n in cited if 1 <= n <= len(record.citations)]
    return any(all(any(says(part, fact) for part in page) for fact in wanted) for page in pages)


def facts(sentence: str) -> list[str]:
    """What can be looked up of a sentence: its quotes, names, numbers and dates."""
    text = _bare(sentence)
    tokens = normalise(text).split()
    figures = [token for token in tokens if re.fullmatch(r"(?:date|minus)?\d+(?:point\d+)?", token)]
    names = [_name(found[0]) for found in _NAME.finditer(text) if found.start() or " " in found[0]]
    return [*_QUOTE.findall(text), *(name for name in names if name), *figures]


def _name(found: str) -> str:
    """Without the words that stand before a name where a sentence begins, and without months."""
    words = [word for word in found.split() if not _MONTH.fullmatch(word)]
    return " ".join(words[1:] if words and words[0].casefold() in _BEFORE else words)


def _bare(sentence: str) -> str:
    return _CITED.sub("", sentence)
