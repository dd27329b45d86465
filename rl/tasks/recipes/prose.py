"""Sentences of a page that make sense alone: in English, complete, without references to the text around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_CHARACTERS, MAX_CHARACTERS = 45, 240
"""Number of characters of a sentence."""
MIN_WORDS, MAX_WORDS = 8, 40
"""Number of words of a sentence."""
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|cf|vs|Dr|Mr|Mrs|Ms|Prof|St|No|Nos|Inc|Ltd|Co|Corp|Jr|Sr|Fig|Eq|Sec|Ch|Vol|approx|ca|al"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Gen|Col|Lt|Sen|Rep|Gov|Rev|Hon|[A-Z])\.$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“(]?[A-Z0-9])")
_DEPENDENT_OPENINGS = frozenset(
    "it this these that those they he she we i you his her hers their its our my your him them here there then thus "
    "therefore hence so but and or nor yet however although though also moreover furthermore besides instead otherwise "
    "meanwhile additionally finally similarly likewise conversely consequently accordingly nevertheless nonetheless "
    "still such another both each either neither note see click please if when while because since unless until once "
    "after before as for in use like just now again even what which who how why where let do don't add make sure try "
    "first second third next last later earlier alternatively again unlike despite yes no".split()
)
"""First words of sentences that depend on the sentence before them, or give orders."""
_REFERENCE = re.compile(
    r"\b(?:above|below|follow(?:s|ing)|here|this|these|those|aforementioned|latter|former|previous(?:ly)?|preceding"
    r"|next|figure|fig|table|chapter|section|appendix|example|you|your|we|our|us|i|my|me|click|see|page|website"
    r"|today|yesterday|tomorrow|ago|currently|recent(?:ly)?|now|he|she|they|such|another|copyright|licen[sc]ed?"
    r"|warranty|liability|rights reserved|cookies?|subscribe|newsletter|sign up|log ?in|password|document|article"
    r"|said|says|tutorial|manual|guide|archived from|retrieved)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"[{}<>=|\\^~`$#]|::|->|\(\)|\w/\w+/|https?:|www\.|\.\.\.|…|\w_\w|[\ue000-\uf8ff¶]")
"""Signs of code, addresses and omissions."""
_COMMON_ENGLISH = frozenset(
    "the of and to in a is was for on are with by at from as that an it be has have had were or its can will not which "
    "this when one two all may used between into than more their other also been but if only".split()
)
_COMMON_FOREIGN = frozenset(
    "de het een en van met voor und der die das ist nicht mit les des est une dans pour que el los las del por con "
    "una il della che per och som att av det ikke og til não uma dos nie się jest".split()
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|should|does|did|became|becomes|made|makes|uses"
    r"|provides|contains|returns|allows|supports|includes|included|means|requires|gives|took|won|began|died|lives"
    r"|\w{3,}ed)\b"
)


def find_sentences(text: str) -> Iterator[str]:
    """Yield the complete sentences of a page's paragraphs that make sense alone, in order."""
    for line in text.split("\n"):
        if len(line) >= MIN_CHARACTERS and " | " not in line and "\t" not in line:
            yield from (one for one in split_sentences(line) if stands_alone(one))


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph. An abbreviation ends no sentence."""
    result: list[str] = []
    for part in _SENTENCE_END.split(" ".join(paragraph.split())):
        # The pattern cannot look back over words of any length, so wrong splits are undone here.
        if result and _ABBREVIATION.search(result[-1]):
            result[-1] += f" {part}"
        else:
            result.append(part)
    return result


def stands_alone(sentence: str) -> bool:
    """True if the sentence makes sense without the page around it."""
    if not is_complete(sentence) or sentence.split()[0].lower().strip(",:") in _DEPENDENT_OPENINGS:
        return False
    return not refers_to_context(sentence) and bool(_VERB.search(sentence))


def is_complete(sentence: str) -> bool:
    """True if the text is a complete English sentence without code."""
    if not (MIN_CHARACTERS <= len(sentence) <= MAX_CHARACTERS and MIN_WORDS <= len(sentence.split()) <= MAX_WORDS):
        return False
    if not re.match(r"[A-Z]", sentence) or not sentence.endswith(".") or ":" in sentence or CODE.search(sentence):
        return False
    return is_balanced(sentence) and is_english(sentence, 0.15)


def count_content_words(text: str) -> int:
    """Return the number of words that are not among the most common ones."""
    return sum(word not in _COMMON_ENGLISH for word in re.findall(r"[^\W\d_]+", text.lower()))


def is_english(text: str, share: float) -> bool:
    """True if at least this share of the words are common English words, and few are of another language."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    common, foreign = (sum(word in vocabulary for word in words) for vocabulary in (_COMMON_ENGLISH, _COMMON_FOREIGN))
    non_ascii = sum(not word.isascii() for word in words)
    # Languages share some short words, so English ones must clearly outnumber the others.
    return bool(words) and common >= share * len(words) and common > 2 * foreign and non_ascii * 10 <= len(words)


def refers_to_context(text: str) -> bool:
    """True if the text refers to the text around it, or is code."""
    return bool(_REFERENCE.search(text) or CODE.search(text))


def is_balanced(text: str) -> bool:
    """True if parentheses and quotation marks come in pairs."""
    return text.count("(") == text.count(")") and text.count('"') % 2 == 0 and text.count("“") == text.count("”")
