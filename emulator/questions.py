"""Detects questions: strips the words that only ask (`what is the capital` becomes `capital`) or are polite, and
detects a wish for news or for pages of a year.

Pages that answer a question seldom contain `what is`, and in a short query such words would outweigh the others. In a
long one greetings, thanks and `could you tell me` are words that few pages have, and would count as rare ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LANGUAGES = (
    (
        "who whom whose what which when where why how",
        "s is are was were be do does did has have had can could will would should may might to much many a an the "
        "there i you we they he she it one",
    ),
    (
        "wer wem wen wessen wann wo woher wohin warum wieso wie welche welcher welches welchen",
        "ist sind war waren wird wurde hat haben kann man ich viel viele es der die das den dem ein eine einen",
    ),
    (
        "qui que qu quoi quand où pourquoi comment combien quel quelle quels quelles",
        "est sont était étaient a ont c ce que qui il elle on je de le la les l un une des",
    ),
    (
        "quién quiénes qué cuándo dónde cómo cuál cuáles cuánto cuántos cuánta cuántas",
        "es son fue era está están ha han hay se el la los las un una",
    ),
)
"""Per language: words that begin a question, and filler words that may follow them."""
_FILLERS_AFTER = {first: frozenset(follow.split()) for begin, follow in _LANGUAGES for first in begin.split()}
"""Filler words by the question word that they may follow."""


MIN_CHAT_WORDS = 10
"""Words of the shortest query that is read as a message to somebody."""
_COURTESIES = re.compile(
    r"\b(?:hi(?: there)?|hello|hey(?: there)?|good (?:morning|afternoon|evening|day)"
    r"|thanks(?: a lot)?(?: in advance)?|thank you(?: very much)?(?: in advance)?|please|kindly"
    r"|(?:could|can|would|will) you|(?:tell|help|show|give|explain to|point) (?:me|us)(?: to| with| find| out)?"
    r"|i (?:would|d) (?:like|prefer|love|be grateful)(?: to know)?|i (?:am|m) (?:trying|working|learning|not sure)"
    r"|i (?:want|need|must|have|ve|am|m)|if (?:possible|you don t mind|you could)|(?:what|which) should i use)\b"
)
"""Polite and personal phrases of English messages, of words as the index has them: `I'd` is two."""


def strip_courtesies(words: Sequence[str]) -> Sequence[str]:
    """Return the lower-case words of a long query without its polite phrases; all words of a short one.

    strip_courtesies("hi could you tell me how i merge two tables by the nearest time".split())
    # ["how", "i", "merge", "two", "tables", "by", "the", "nearest", "time"]
    """
    if len(words) < MIN_CHAT_WORDS:
        return words
    return _COURTESIES.sub(" ", " ".join(words)).split() or words


def strip_question_words(words: Sequence[str]) -> Sequence[str]:
    """Return the lower-case words of a query without polite phrases and the beginning of a question; all words if no
    others remain.
    """
    words = strip_courtesies(words)
    fillers = _FILLERS_AFTER.get(words[0]) if words else None
    if fillers is None:
        return words
    start = next((index for index, word in enumerate(words) if index and word not in fillers), len(words))
    return words[start:] or words


_FRESHNESS_PATTERN = re.compile(
    r"\b(?=[lnmrbtuadúh])(?:latest|newest|most recent|recent|recently|breaking news|today|this (?:week|month|year)"
    r"|up[- ]to[- ]date"
    r"|neueste[nrs]?|aktuelle[nrs]?|heute|derni[eè]res nouvelles|r[eé]cente?s?|aujourd.hui|[uú]ltimas noticias"
    r"|recientes?|hoy)\b",
    re.IGNORECASE,
)


def wants_fresh_results(words: str) -> bool:
    """True if a query asks for recent pages."""
    return _FRESHNESS_PATTERN.search(words) is not None


_YEAR = re.compile(r"(?<![\w.,/:-])(?:199\d|20[0-3]\d)(?![\w/:-]|[.,]\d)")
"""A year in which there was a web; in a version, a date or a range it does not stand alone."""


def find_years(words: str) -> frozenset[int]:
    """Return the years that a query names: pages that were published then may be meant.

    find_years("python release notes 2022")  # frozenset({2022})
    """
    return frozenset(map(int, _YEAR.findall(words)))
