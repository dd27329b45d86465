"""Persons: one name with or without middle names, with initials, with a common short form, or the family name first."""

from __future__ import annotations

import re

from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.wording import ROLES, SAFE_TITLES, TITLES

_SHORT_FORMS = (
    "william bill billy will willie", "robert bob bobby rob", "michael mike mick", "thomas tom tommy",
    "james jim jimmy jamie", "joseph joe joey", "david dave", "daniel dan danny", "christopher chris",
    "stephen steven steve", "benjamin ben", "matthew matt", "anthony tony", "alexander alex", "andrew andy drew",
    "nicholas nick", "samuel sam", "gregory greg", "edward ed eddie ted", "richard rick dick rich",
    "charles charlie chuck", "john jack johnny", "timothy tim", "kenneth ken", "ronald ron", "donald don",
    "lawrence larry", "peter pete", "philip phillip phil", "frederick fred", "katherine catherine kate kathy katie",
    "elizabeth liz beth betty", "jennifer jen jenny", "susan sue", "margaret maggie peggy", "patricia pat",
    "deborah debbie", "victoria vicky", "rebecca becky", "jonathan jon", "zachary zach", "theodore theo ted",
    "jeffrey jeff", "raymond ray", "douglas doug", "albert al", "abraham abe", "gerald gerry", "walter walt",
    "henry harry hank", "louis lou", "dorothy dot", "barbara barb", "eleanor ellie", "abigail abby", "francis frank",
    "eugene gene", "martin marty", "salvatore sal", "emmanuel manny", "leonard leo",
)  # fmt: skip
_GROUPS = tuple(frozenset(row.split()) for row in _SHORT_FORMS)
_ASKS = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_JAPANESE = re.compile(r"(?:(?:[kstnhmyrwgzjdbpf]|sh|ch|ts|[kgnhmrbp]y)?[aeiou]{1,2}n?)+")
_SURNAMES = frozenset(
    "kim lee park choi jung kang cho yoon jang lim bong han shin song xi wang li liu chen yang huang zhang"
    " deng mao zhao wu zhou xu sun ma zhu hu guo he lin gao luo hou jiang nguyen tran".split()
)
"""Family names of Korea, China and Vietnam, which may stand first or last, as Japanese ones do."""
PARTICLES = frozenset("van von de da del della di du der den la ibn bin al".split())
"""Small words inside the names of persons."""
_PARTICLE = re.compile(
    r" the (?:Great|Magnificent|Conqueror|Terrible)\b"
    r"|(?: [A-Z][\w'-]+)? (?:van|von|de|da|del|della|di|du|ibn|bin|al)(?: (?:der|den|la))? [A-Z][\w'-]+\b"
)


def asks_for_person(question: str) -> bool:
    """True if a question asks who somebody is, or which author, director and the like."""
    if _ASKS.search(question):
        return True
    return any(
        word.plain.removesuffix("s") in (ROLES | TITLES) - {"company", "player"}
        for match in re.finditer(r"\b(?:which|what|name)\b([^,.?]{0,60})", question, re.IGNORECASE)
        for word in split_words(match[1])[:6]
    )


def is_same_person(words: list[Word], gold_words: list[Word]) -> bool:
    """True if two names may be one person's: the same family name, and first and middle names that fit."""
    parts, gold_parts = _split_initials(words), _split_initials(gold_words)
    if len(parts) < 2 or len(gold_parts) < 2 or parts == gold_parts:
        return False
    if _is_turned(words, gold_words):
        return True
    if parts[-1] != gold_parts[-1] or len(parts[-1]) < 2 or abs(len(parts) - len(gold_parts)) > 2:
        return False
    first, gold_first = parts[0], gold_parts[0]
    if not _fits(first, gold_first) or (min(len(first), len(gold_first)) == 1 and min(len(parts), len(gold_parts)) < 3):
        return len(first) == 1 and len(parts) > 2 and _fits(first, gold_first) and len(parts[1]) == 1
    middle, gold_middle = parts[1:-1], gold_parts[1:-1]
    if len(middle) > len(gold_middle) and min(map(len, gold_parts)) == 1:
        return False
    shorter, longer = sorted((middle, gold_middle), key=len)
    remaining = iter(longer)
    return all(any(_fits(one, other) for other in remaining) for one in shorter)


def extend(text: str, end: int) -> int:
    """Return the end of a person's name that is known by its first word: "Rembrandt van Rijn"."""
    match = _PARTICLE.match(text, end)
    return match.end() if match else end


def _split_initials(words: list[Word]) -> list[str]:
    """Return the words without titles, with joined initials taken apart: "J.K." is two."""
    parts: list[str] = []
    for word in words:
        if not parts and word.plain in SAFE_TITLES and len(words) > 2:
            continue
        is_joined = 1 < len(word.text) <= 3 and word.text.isupper() and not re.fullmatch(r"[IVX]+", word.text)
        parts += list(word.plain) if is_joined else [word.plain]
    return parts


def _fits(part: str, other: str) -> bool:
    if part == other or any(part in group and other in group for group in _GROUPS):
        return True
    return (len(part) == 1 or len(other) == 1) and part[0] == other[0]


def _is_turned(words: list[Word], gold_words: list[Word]) -> bool:
    plain, gold_plain = [word.plain for word in words], [word.plain for word in gold_words]
    if not 2 <= len(plain) <= 3 or not ({plain[0], plain[-1]} & _SURNAMES or all(map(_JAPANESE.fullmatch, plain))):
        return False
    return plain[1:] + plain[:1] == gold_plain or plain[-1:] + plain[:-1] == gold_plain
