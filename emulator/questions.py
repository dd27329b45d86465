"""Detects questions: strips the words that only ask (`what is the capital` becomes `capital`), and detects a wish for
news.

Pages that answer a question seldom contain `what is`, and in a short query such words would outweigh the others.
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


def strip_question_words(words: Sequence[str]) -> Sequence[str]:
    """Return the lower-case words of a query without the beginning of a question; all words if no others remain."""
    fillers = _FILLERS_AFTER.get(words[0]) if words else None
    if fillers is None:
        return words
    start = next((index for index, word in enumerate(words) if index and word not in fillers), len(words))
    return words[start:] or words


_FRESHNESS_PATTERN = re.compile(
    r"\b(?:latest|newest|most recent|recent|recently|breaking news|today|this (?:week|month|year)|up[- ]to[- ]date"
    r"|neueste[nrs]?|aktuelle[nrs]?|heute|derni[eè]res nouvelles|r[eé]cente?s?|aujourd.hui|[uú]ltimas noticias"
    r"|recientes?|hoy)\b",
    re.IGNORECASE,
)


def wants_fresh_results(words: str) -> bool:
    """True if a query asks for recent pages."""
    return _FRESHNESS_PATTERN.search(words) is not None
