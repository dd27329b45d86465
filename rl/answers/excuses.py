"""Other names that are no second answer: the subject, a place or a source of the sentence, or the answer's region."""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, fold, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.regions import contains, level_of

PREPOSITIONS = frozenset(
    "of in for to at on by from with during as into about under over between im von de du des zu bei en à por"
    " del da di".split()
)
ARTICLES = frozenset(
    "the a an der die das den dem la le les l el los las il lo un une una ein eine this that its his her"
    " their your our my exactly only just"
    " simply about".split()
) - {"about"}


_COPULAS = frozenset("is are was were be been being named called the for including like".split())
_NO_DESCRIPTION = wording.FUNCTION_WORDS | wording.COORDINATION | wording.PLACE_HAZARDS | wording.CONNECTORS
_AGENT = re.compile(r" (?:was|were|is|are|been) (?:\w+ly |first )?(\w+) by (?:the |a |an )?(?:[a-z]+ ){0,3}$")
_STEP = re.compile(r",(?: and)? (?:whose|[A-Z]\w+'s|his|her|its) (\w+)(?: \w+){0,2} (?:is|was|are|were) (?:the )?$")
_CONJOINED = re.compile(r"\b(?:and|or|but|then|not|nor)\b|[;]")


WHERE = re.compile(r"\bwhere\b|\b(?:which|what) (?:city|town|village|place)\b", re.IGNORECASE)
"""Question for a place, behind which a comma and its region may stand."""
BUILDING = re.compile(
    r"\b(?:which|what) (?:stadium|building|museum|university|school|hospital|station|airport|church|park"
    r"|theat\w+|venue)\b",
    re.IGNORECASE,
)
"""Question for a building, behind which its town may stand."""


def is_region_behind(text: str, rival: Span, group: Span, expected: Expectation) -> bool:
    """True if a rival is the region of the place right before it."""
    gap = text[group.end : rival.start] if rival.start > group.end else ""
    hit = text[group.start : group.end]
    region = text[rival.start : rival.end]
    if (
        gap == ", "
        and expected.parts == 1
        and not level_of(expected.text)
        and (WHERE.search(expected.question) or BUILDING.search(expected.question))
    ):
        return True
    *inner, gap = re.split(r"(?<=\w)(?=, )", gap) or [""]
    if re.fullmatch(r"(?:,| in| of)? (?:the )?", gap) and all(contains(one.strip(", "), hit) for one in inner):
        return contains(region, hit) or contains(text[rival.start : rival.end].partition(" ")[0], hit)
    return False


def is_excused(masked: str, rival: Span, group: Span | None, sentence: Span, expected: Expectation) -> bool:
    """True if another name is the subject, the place or the source of what is said, and no second answer."""
    if masked.startswith("'s ", rival.end - 2) or masked.startswith("' ", rival.end):
        return True
    verdict = _judge_by_verb(masked, rival, group, sentence, expected) if group else None
    if verdict is None:
        verdict = _judge_by_form(masked, rival, group, sentence, expected)
    if verdict is None:
        verdict = _judge_by_title(masked, rival, group, sentence, expected)
    if verdict is None:
        verdict = _judge_by_place(masked, rival, group, sentence, expected)
    return verdict


def _judge_by_verb(masked: str, rival: Span, group: Span, sentence: Span, expected: Expectation) -> bool | None:
    """Return whether the verb between a name and the answer excuses the name; None where it is open."""
    behind, between = masked[group.end : max(rival.start, group.end)], masked[rival.end : max(group.start, rival.end)]
    passive = re.fullmatch(r" (?:was|were|is|are|got) (\w+) by (?:the )?", behind)
    if passive and not expected.asks_verb(passive[1]):
        return False
    verb = re.match(r" (?:also |first |co-)?([a-z]+) ", masked[group.end :]) if behind else None
    if verb and expected.asks_verb(verb[1]) and verb[1] not in wording.FUNCTION_WORDS and not _CONJOINED.search(behind):
        return True
    agent = _AGENT.search(between) if rival.start - sentence.start < 12 else None
    if agent and expected.asks_verb(agent[1]):
        return True
    # "GNU Project" where the question says "gnu".
    if behind and expected.asks(fold(masked[rival.start : rival.end].split()[0])):
        return True
    # "Mother Teresa received the prize" answers "What did she receive?".
    active = re.fullmatch(r" (?:\w+ly )?([a-z]+) (?:the |an? )?", between)
    if active and expected.asks_verb(active[1]) and re.search(r"\b(?:did|does|do)\b", expected.question):
        return True
    # "Taishō, whose mother was": a step on the way to the answer.
    step = _STEP.search(between)
    return True if step and (expected.asks(step[1]) or expected.is_chained) else None


def _judge_by_form(masked: str, rival: Span, group: Span | None, sentence: Span, expected: Expectation) -> bool | None:
    """Return whether a name is a region, a description, a short form or another name of the answer."""
    name, before = masked[rival.start : rival.end], masked[sentence.start : rival.start].rstrip(" '")
    behind = masked[rival.end : rival.end + 5]
    # "in Aswan, Egypt"
    if re.search(r"\b[A-Z]\w+,$", before) and level_of(name):
        return True
    # "Yankees slugger Mickey Mantle" describes him.
    if group and re.fullmatch(r"(?: [a-z-]{3,}){1,2} ", masked[rival.end : group.start]):
        description = {word.plain for word in split_words(masked[rival.end : group.start])}
        if not description & _NO_DESCRIPTION:
            return not any(word.endswith("ed") for word in description)
    if re.search(r"\x01\x01,? \(?(?:also|sometimes|often|better)? ?(?:known as|called)(?: the)?$", before):
        return True
    if re.fullmatch(r"[A-Z]{2,5}", name) and behind.startswith(f" ({MASK}"):
        return True
    is_part = re.fullmatch(r"(?:North|South|East|West)ern|Central", name) and behind.startswith(f" {MASK}")
    if is_part and level_of(expected.text) == 2:
        return True
    if name.casefold() in wording.KIND_HEADS and masked.startswith(f" of {MASK}", rival.end):
        return True
    is_adjective = wording.is_demonym(fold(name)) or level_of(name)
    return True if is_adjective and re.match(r"-[a-z]| (?!and |or |is |was )[a-z\x01]", behind) else None


def _words_ahead(masked: str, rival: Span, sentence: Span) -> tuple[list[Word], str]:
    """Return the words of a sentence before a name, and the last one if it stands right before the name."""
    before = masked[sentence.start : rival.start].rstrip(" '")
    words = split_words(before)
    return words, words[-1].plain if words and before.endswith(words[-1].text) else ""


def _judge_by_title(masked: str, rival: Span, group: Span | None, sentence: Span, expected: Expectation) -> bool | None:
    """Return whether a name is an agent that was asked for, the end of a title, another event, or a label."""
    words, lead = _words_ahead(masked, rival, sentence)
    before = masked[sentence.start : rival.start].rstrip(" '")
    # "it was directed by Bo Lund" answers "Who is the director?".
    if (
        lead == "by"
        and len(words) > 1
        and words[-2].plain.endswith(("ed", "en", "t"))
        and expected.asks(words[-2].plain)
    ):
        return False
    # "The Old Man and the Sea": the rest of a title whose beginning is excused.
    if (
        expected.flavour == "name"
        and lead in ("and", "of", "the")
        and re.search(r"\b(?:of|by|in) (?:The |the )?[A-Z][\w']*(?: [A-Z][\w']*)*(?: and| of)(?: the)?$", before)
    ):
        return True
    # "Founded in 1998, it went public in 2004": another event, which was not asked for.
    clause = re.match(r"([A-Z]\w+(?:ed|t|n)) (?:in|on) [^,\x01]{1,20}, ", masked[sentence.start : sentence.start + 60])
    if clause and expected.flavour == "date" and rival.end <= sentence.start + clause.end():
        return not expected.asks(fold(clause[1]))
    if re.match(r",? (?:who|which|that)\b", masked[rival.end : rival.end + 8]) and group and rival.start > group.end:
        return False
    # "Capital: Lima" has a label.
    if (
        rival.start == sentence.start
        and masked[rival.end : rival.end + 1] == ":"
        and " " not in masked[rival.start : rival.end]
    ):
        return True
    if group and re.search(
        r"\b(?:known as|called|i\.e\.,?"
        r"|named|nicknamed)\s(?:the )?$",
        masked[rival.end : max(rival.end, group.start)],
    ):
        return True
    return None


def _judge_by_place(masked: str, rival: Span, group: Span | None, sentence: Span, expected: Expectation) -> bool:
    """Return whether the words before a name put it beside what is said."""
    words, lead = _words_ahead(masked, rival, sentence)
    if group is None:
        return lead in PREPOSITIONS | ARTICLES
    if rival.start < group.start:
        between = split_words(masked[rival.end : group.start])
        hit_lead = between[-1].plain if between else ""
        if hit_lead in ARTICLES and len(between) > 1:
            hit_lead = between[-2].plain
        verb = bool(between) and not re.search(r"[,;/&|]|\band\b", masked[rival.end : group.start])
        if lead in PREPOSITIONS | ARTICLES and lead != hit_lead and between:
            return True
        return verb and len(between) > 1 and hit_lead in PREPOSITIONS and lead != hit_lead
    if re.fullmatch(r" (?:in|at|on) (?:the )?", masked[group.end : rival.start]):
        return True
    ahead = split_words(masked[sentence.start : group.start])
    hit_lead = ahead[-1].plain if ahead else ""
    follower = masked[rival.end : rival.end + 2]
    if lead in ARTICLES and len(words) > 1:
        # "the German capital" says what it is; "the Elbe" is another thing.
        if re.match(r" [a-z]", follower):
            return True
        lead = words[-2].plain
    if lead == "by" and hit_lead in ("from", "of"):
        return False
    if lead == "by" and len(words) > 1 and words[-2].plain.endswith(("ed", "en")):
        # "commissioned by Bo Lund and illustrated by Ann Ode"
        return not expected.asks_verb(words[-2].plain)
    if lead in PREPOSITIONS:
        return lead != hit_lead and lead not in ("with", "to")
    if lead == "than":
        return expected.is_choice
    # "It starred in the GNU Project": the object of another verb.
    return (
        bool(re.fullmatch(r"[a-z]{3,}", lead)) and lead not in wording.COORDINATION | wording.PLACE_HAZARDS | _COPULAS
    )
