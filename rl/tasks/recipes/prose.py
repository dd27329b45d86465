"""Sentences of a page that say something alone: English, whole, without pointing at what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTEST, LONGEST = 45, 240
FEWEST_WORDS, MOST_WORDS = 8, 40
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|cf|vs|Dr|Mr|Mrs|Ms|Prof|St|No|Nos|Inc|Ltd|Co|Corp|Jr|Sr|Fig|Eq|Sec|Ch|Vol|approx|ca|al"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Gen|Col|Lt|Sen|Rep|Gov|Rev|Hon|[A-Z])\.$"
)
_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“(]?[A-Z0-9])")
_OPENING = frozenset(
    "it this these that those they he she we i you his her hers their its our my your him them here there then thus "
    "therefore hence so but and or nor yet however although though also moreover furthermore besides instead otherwise "
    "meanwhile additionally finally similarly likewise conversely consequently accordingly nevertheless nonetheless "
    "still such another both each either neither note see click please if when while because since unless until once "
    "after before as for in use like just now again even what which who how why where let do don't add make sure try "
    "first second third next last later earlier alternatively again unlike despite yes no".split()
)
"""What a sentence begins with that leans on the one before it, or orders."""
_POINTING = re.compile(
    r"\b(?:above|below|follow(?:s|ing)|here|this|these|those|aforementioned|latter|former|previous(?:ly)?|preceding"
    r"|next|figure|fig|table|chapter|section|appendix|example|you|your|we|our|us|i|my|me|click|see|page|website"
    r"|today|yesterday|tomorrow|ago|currently|recent(?:ly)?|now|he|she|they|such|another|copyright|licen[sc]ed?"
    r"|warranty|liability|rights reserved|cookies?|subscribe|newsletter|sign up|log ?in|password|document|article"
    r"|said|says|tutorial|manual|guide|archived from|retrieved)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[{}<>=|\\^~`$#]|::|->|\(\)|\w/\w+/|https?:|www\.|\.\.\.|…|\w_\w|[\ue000-\uf8ff¶]")
_COMMON = frozenset(
    "the of and to in a is was for on are with by at from as that an it be has have had were or its can will not which "
    "this when one two all may used between into than more their other also been but if only".split()
)
_FOREIGN = frozenset(
    "de het een en van met voor und der die das ist nicht mit les des est une dans pour que el los las del por con "
    "una il della che per och som att av det ikke og til não uma dos nie się jest".split()
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|should|does|did|became|becomes|made|makes|uses"
    r"|provides|contains|returns|allows|supports|includes|included|means|requires|gives|took|won|began|died|lives"
    r"|\w{3,}ed)\b"
)


def sentences(text: str) -> Iterator[str]:
    """Those of the paragraphs that are whole and stand alone, in order."""
    for line in text.split("\n"):
        if len(line) >= SHORTEST and " | " not in line and "\t" not in line:
            yield from (one for one in split(line) if stands_alone(one))


def split(paragraph: str) -> list[str]:
    """A paragraph's sentences."""
    found: list[str] = []
    for part in _END.split(" ".join(paragraph.split())):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def stands_alone(sentence: str) -> bool:
    """Whether it can be read without the page around it."""
    if not is_whole(sentence) or sentence.split()[0].lower().strip(",:") in _OPENING:
        return False
    return not points(sentence) and bool(_VERB.search(sentence))


def is_whole(sentence: str) -> bool:
    """Whether it is an English sentence from its beginning to its end, without code."""
    if not (SHORTEST <= len(sentence) <= LONGEST and FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS):
        return False
    if not re.match(r"[A-Z]", sentence) or not sentence.endswith(".") or ":" in sentence or _CODE.search(sentence):
        return False
    return _balanced(sentence) and is_english(sentence, 0.15)


def telling(text: str) -> int:
    """How many words are not among the commonest."""
    return sum(word not in _COMMON for word in re.findall(r"[^\W\d_]+", text.lower()))


def is_english(text: str, share: float) -> bool:
    """Whether enough of the words are common ones of English, and hardly any of others."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    common, foreign = (sum(word in known for word in words) for known in (_COMMON, _FOREIGN))
    strange = sum(not word.isascii() for word in words)
    return bool(words) and common >= share * len(words) and common > 2 * foreign and strange * 10 <= len(words)


def points(text: str) -> bool:
    """Whether a text points at what stands around it, or is code."""
    return bool(_POINTING.search(text) or _CODE.search(text))


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count('"') % 2 == 0 and text.count("“") == text.count("”")
