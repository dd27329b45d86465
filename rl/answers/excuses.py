"""Other names that are no second answer: the subject, a place or a source of the sentence, or the answer's region."""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import fold, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.regions import contains, level_of

PREPOSITIONS = frozenset(
    "of in for to at on by from with during as into about under over between im von de du des zu bei en à por"
    " del da di".split()
)
ARTICLES = frozenset(
    "the a an der die das den dem la le les l el los las il lo un une una ein eine this that its his her"
    " their exactly only just"
    " simply about".split()
) - {"about"}


def is_region_behind(text: str, rival: Span, group: Span) -> bool:
    """True if a rival is the region of the place right before it."""
    gap = text[group.end : rival.start] if rival.start > group.end else ""
    hit = text[group.start : group.end]
    region = text[rival.start : rival.end]
    if re.fullmatch(r"(?:,| in| of)? (?:the )?", gap):
        return contains(region, hit) or contains(text[rival.start : rival.end].partition(" ")[0], hit)
    return False


def is_excused(masked: str, rival: Span, group: Span | None, sentence: Span, expected: Expectation) -> bool:
    """True if another name is the subject, the place or the source of what is said, and no second answer."""
    before = masked[sentence.start : rival.start].rstrip(" '")
    words = split_words(before)
    lead = words[-1].plain if words and before.endswith(words[-1].text) else ""
    if masked.startswith("'s ", rival.end - 2) or masked.startswith("' ", rival.end):
        return True
    if masked[rival.start : rival.end].casefold() in wording.KIND_HEADS and masked.startswith(f" of {MASK}", rival.end):
        return True
    # "it was directed by Bo Lund" answers "Who is the director?".
    if (
        lead == "by"
        and len(words) > 1
        and words[-2].plain.endswith(("ed", "en", "t"))
        and expected.asks(words[-2].plain)
    ):
        return False
    # "The Old Man and the Sea": the rest of a title whose beginning is excused.
    if lead in ("and", "of", "the") and re.search(
        r"\b(?:of|by|in) (?:The |the )?[A-Z][\w']*(?: [A-Z][\w']*)*(?: and| of)(?: the)?$", before
    ):
        return True
    adjective = set(re.split(r"[- ]", fold(masked[rival.start : rival.end]))) <= wording.DEMONYMS or level_of(
        masked[rival.start : rival.end]
    )
    if adjective and re.match(r" (?!and |or |is |was )[a-z\x01]", masked[rival.end : rival.end + 5]):
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
        r"|named)\s(?:the )?$",
        masked[rival.end : max(rival.end, group.start)],
    ):
        return True
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
    return (lead in PREPOSITIONS and lead != hit_lead and lead not in ("with", "to")) or (
        lead == "than" and expected.is_choice
    )
