"""Framing of a report: attributions to a source, questions, labels, and sentences that say what was not found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import has_verb
from webemu.rl.reports.words import Token, content, tokenize

MAX_LABEL_WORDS = 4
WH_QUESTION = re.compile(
    r"\W*(?:(?:at|in|on|by|for|from|to|under|of|with)\s+)?(?:what|how|who|whom|whose|why|where|when|which|is|are|was|were"
    r"|does|did|do|has|have|had|can|could|will)\b",
    re.IGNORECASE,
)
ATTRIBUTION = re.compile(
    r"\s*(?:according to ([^,.;:]{1,60}),\s*|((?:[\w'’.-]+\s+){0,6}?)(?:says?|states?|notes?|reports?|explains?"
    r"|mentions?|adds?|records?|shows?|writes?|described?|describes|calls)\s+(?:that\s+|(?=[\"“])))",
    re.IGNORECASE,
)
"""Opening that says where a claim comes from; its groups are the words for the source."""
SOURCE_WORDS = (
    vocab.FRAME_WORDS
    | vocab.GENERIC_NOUNS
    | frozenset(
        "account entry museum documentation blog post wikipedia encyclopedia encyclopaedia lexicon official data sheet"
        " press news brigade authorities ministry developers maintainers authors researchers study survey style notes"
        " same second first other record records diary manual handbook guide sites paper".split()
    )
)
"""Words for sources."""
_SEARCHER = r"(?:i|we)\s+(?:could not|couldn't|was not able to|were unable to|was unable to|did not|didn't|found no)\b"
_SOURCE = r"(?:the |these |my )?(?:cited |opened |available )?(?:sources?|pages?|documents?|articles?)"
_NOT_FOUND = re.compile(
    rf"\W*(?:unfortunately,?\s+|however,?\s+)?(?:{_SEARCHER}|{_SOURCE}\s+(?:do not|does not|did not|don't|doesn't)\b"
    rf"|(?:no|none of the|neither)\s+(?:of the\s+)?(?:sources?|pages?|documents?|information)\b)",
    re.IGNORECASE,
)


def says_not_found(text: str, tokens: Sequence[Token]) -> bool:
    """True for a sentence that says what the sources do not tell, which is no claim of its own."""
    return bool(_NOT_FOUND.match(text)) and not any(token.is_figure or token.text == "that" for token in tokens)


def is_label(text: str) -> bool:
    """True for a few words without a verb, a figure, a name and a value, such as "Commercial history."."""
    tokens, plain = tokenize(text), text.rstrip(" *_")
    words = content(tokens)
    is_short = len(words) <= MAX_LABEL_WORDS and plain.endswith((".", ":")) and ":" not in plain[:-1]
    has_name = any(token.is_name for token in words[1:])
    return is_short and not has_name and not has_verb(tokens) and not any(token.is_figure for token in tokens)


def is_word_list(text: str) -> bool:
    """True for keywords in a row: five words or more with content and none between them."""
    tokens = tokenize(text.rstrip(" .!?;,"))
    is_loose = all(token.kind != "stop" and token.text not in vocab.FUNCTION_WORDS for token in tokens)
    return is_loose and len(content(tokens)) > MAX_LABEL_WORDS and not has_verb(tokens)
