"""Verbs that say the same of an answer: "Who plays the king?" is answered by "the king was portrayed by"."""

from __future__ import annotations

from functools import lru_cache

from webemu.rl.answers.folding import split_words

_GROUPS = tuple(
    frozenset(row.split())
    for row in (
        "play portray perform act voice star depict appear sing",
        "sing sang sung singer perform record releas rap vocal song artist band",
        "writ wrote author compos penn creat publish novel book poem",
        "found establish creat start launch set initiat credit",
        "invent creat develop devis design patent credit idea",
        "design architect build built creat construct draw drew engineer",
        "discover find found identif isolat detect",
        "direct helm made make film movie",
        "paint creat draw drew artist",
        "win won receiv award beat defeat claim earn captur took take champion elect gain",
        "kill assassinat murder shot",
        "lead led head run ran govern chair rule",
        "host stag held hold",
        "own acquir buy bought purchas",
        "make made produc manufactur build built develop",
        "marr wed wife husband spous",
        "hit scor",
        "replac instead deprecat supersed successor succe",
        "serv work appoint judge",
    )
)


@lru_cache(4096)
def asks_verb(question: str, verb: str) -> bool:
    """True if a question asks for what a verb, in any form, says."""
    asked_words = [word.plain for word in split_words(question)]
    groups = [group for group in _GROUPS if any(verb.startswith(stem) for stem in group)]
    return any(one.startswith(tuple(group)) for group in groups for one in asked_words)
