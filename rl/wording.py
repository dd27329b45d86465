"""Words of questions and passages as grounding compares them: up to inflection, common relations up to their wording.

Made for English; in other languages fewer words are recognised as related, and nothing is recognised wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from webemu.rl.tasks.phrases import STOP_WORDS
from webemu.rl.verify import normalise

MIN_STEM_LENGTH = 4
"""Letters that remain of a word when an ending is removed."""
_ENDINGS = re.compile(r"(?:ations?|ings?|ments?|ions?|ors?|ers?|est|ed|es|s|e|ly|al)$")
_CONSONANT_Y = re.compile(r"(?:ies|(?<=[^aeiou])y)$")
_GENERIC_WORDS = frozenset(
    """able actually also associated become becomes became believe believed believes call called come
    consider considered currently exactly example find get give given go got happen happened happens just kind know
    known list main mainly mean original originally part please said say says section sort stated take takes taken took
    tell term times today type types use used using whats whos word""".split()
)
"""Words that say nothing about the relation that a question asks for."""
_SYNONYMS = """
    born birth birthplace birthday native
    died death dead die dies deceased
    wrote written writer writes author authored novelist
    founded founder establish established created creator cofounded cofounder inception
    make maker made makes manufacturer manufactured manufactures produced producer produces production
    population people inhabitants residents live lives living populated
    employ employees staff workforce workers
    long length
    tall high height elevation altitude
    wide width
    deep depth
    area large largest big biggest size
    located location lie lies situated
    headquarters headquartered hq seat based
    publish publication published release released appeared
    marry married marriage spouse wife husband wed
    study studied educated education attended graduated alma student
    introduce introduced introduction launched launch unveiled announced
    sing sang sung singer vocals performed performer recorded
    win won winner wins awarded received
    kill killed killer murdered assassinated
    play plays played portrayed actor starring starred
    cost costs price
    river flows flow
    currency money
    language spoken speak speaks
    begin began begun start starts
    end ended ends finished
    open opened opening inaugurated
    invent invented inventor invention devised
    lead leads led leader head
    teacher taught teach
    nation country
    discover discovered discoverer discovery discoveries
    fall fell fallen
    sink sank sunk
    hold held
    rule ruled ruler reign reigned
    build built builder
    draw drew drawn
"""
"""Words of one relation, a line for each. A word stands in one line only."""
_DENIAL = re.compile(
    r"\b(?:not(?! (?:only|until|just|merely|least|far|yet|to be|in doubt|in question))|never|no longer|neither|nor"
    r"|\w+n['’]t|cannot|none of|lost|failed to|runner-up)\b",
    re.IGNORECASE,
)
"""Words by which a clause says that something is not so; losing a contest is one of them."""
_PAST = re.compile(r"\b(?:until (?:\w+ ){0,2}\d{4}|formerly|no longer|used to be)\b|\bformer (\w+)", re.IGNORECASE)
"""Words by which a sentence says that something was so and is not any more."""
_FALSEHOOD = re.compile(
    r"\b(?:myths?|untrue|falsely|false|mistaken(?:ly)?|erroneous(?:ly)?|wrongly|incorrect(?:ly)?|misconceptions?"
    r"|hoax|contrary to|rumou?rs?|rumou?red|debunked|disproved|disproven|denie[sd]|deny|refuted|used to be"
    r"|(?:formerly|once|previously|long|originally) (?:thought|believed|assumed|considered|held to|said to))\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:()]\s|\s[–—-]\s|\b(?:but|although|though|whereas|while|and|because|since)\b", re.IGNORECASE
)
_AUXILIARY = re.compile(r"(?:is|are|was|were|has|have|had|did|does|do|can|could|will|would|it|this|that)\b")


def stem(word: str) -> str:
    """Return a normalised word without its usual endings.

    stem("founders")  # "found"
    """
    if not word.isalpha():
        return word
    for _ in range(2):
        shorter = _ENDINGS.sub("", word)
        if len(shorter) < MIN_STEM_LENGTH or shorter == word:
            shorter = word[:-1] if word.endswith("s") and len(word) > MIN_STEM_LENGTH else word
        word = shorter
    return _CONSONANT_Y.sub("i", word)


def _read_synonyms() -> dict[str, str]:
    """Return the first word of its line for the stem of each synonym."""
    lines = [line.split() for line in _SYNONYMS.strip().split("\n")]
    return {stem(word): line[0] for line in lines for word in line}


_RELATION_BY_STEM = _read_synonyms()


@lru_cache(1 << 14)
def _relation_of(word: str) -> str:
    """Return the common name of a word's relation, or its stem."""
    word_stem = stem(word)
    return _RELATION_BY_STEM.get(word_stem, word_stem)


def name_words(normal_text: str) -> frozenset[str]:
    """Return the stems of a normalised text's words, as names are compared."""
    return frozenset(stem(word) for word in normal_text.split() if word not in STOP_WORDS)


def relation_words(normal_text: str) -> frozenset[str]:
    """Return the words of a normalised text that say something, each by the common name of its relation.

    relation_words("who was its founder")  # {"founded"}
    """
    return frozenset(
        _relation_of(word) for word in normal_text.split() if word not in STOP_WORDS and word not in _GENERIC_WORDS
    )


def denies(sentence: str, answer: str, relation: Iterable[str]) -> bool:
    """True if a sentence denies the answer that it names, or calls it an error.

    denies("Bonn is not the capital.", "bonn", {"capit"})  # True
    """
    if _FALSEHOOD.search(sentence):
        return True
    if not _DENIAL.search(sentence) or "lost" in relation:
        return False
    clauses = (clause.strip() for clause in _CLAUSE_END.split(sentence))
    return any(_clause_denies(clause, answer, frozenset(relation)) for clause in clauses if _DENIAL.search(clause))


def is_outdated(sentence: str, relation: Iterable[str]) -> bool:
    """True if a sentence says what was so formerly, which is no answer to what is so.

    is_outdated("Bonn is the former capital.", {"capit"})  # True
    """
    mention = _PAST.search(sentence)
    if mention is None:
        return False
    return not mention[1] or bool(relation_words(normalise(mention[1])) & frozenset(relation))


def _clause_denies(clause: str, answer: str, relation: frozenset[str]) -> bool:
    """True if a clause with a denial names the answer, or says the relation of a subject that stands before it."""
    normal_clause = normalise(clause)
    if f" {answer} " in f" {normal_clause} ":
        return True
    # "…, not Bonn, …" denies another answer; "…, is not the capital" denies this one.
    return bool(_AUXILIARY.match(clause.casefold())) and bool(relation & relation_words(normal_clause))
