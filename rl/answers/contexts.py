"""Words right before and right behind a mention: whether an answer stands there, or a part of something else.

"in Lima" is Lima; "near Lima", "the mayor of Lima", "Lima Province" and "Lima or Cusco" are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from webemu.rl.answers import wording
from webemu.rl.answers.folding import Word, fold, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.names import is_acronym
from webemu.rl.answers.regions import contains, contradicts, level_of

MASK = "\x01"
"""Sign that stands in place of a mention of the accepted answer."""
Flavour = Literal["name", "number", "date"]
_PREPOSITIONS = frozenset(
    "of in for to at on by from with during as into about under over between im von de du des zu bei en à por"
    " del da di".split()
)
_ARTICLES = frozenset(
    "the a an der die das den dem la le les l el los las il lo un une una ein eine this that its his her"
    " their exactly only just"
    " simply about".split()
) - {"about"}
_YEARS = re.compile(
    r"(?:born\s|b\.\s?|\*\s?|released\s|published\s)?(?:c\.\s?)?\d{3,4}(?:\s?[-–—]\s?(?:\d{2,4}|present)?)?"
)
_PER = re.compile(
    r"\s?(?:a|an|per|/)\s?(?:year|month|week|day|hour|minute|second|head|person|capita|metre|km|kg)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Accepted answer, and what the question says of it."""

    text: str
    """Accepted answer as it is written."""
    question: str
    flavour: Flavour
    parts: int = 1
    """Number of parts of a list; 1 for a single answer."""
    allows_approximation: bool = False
    """True if "about" may stand before it."""
    is_choice: bool = False
    """True if the question names the answers to choose from."""

    @property
    def is_capitalised(self) -> bool:
        """True if the accepted answer has a word with a capital letter."""
        return any(word.is_capitalised for word in split_words(self.text))

    def asks(self, word: str) -> bool:
        """True if a word, or another form of it, stands in the question."""
        stem = word[: max(4, len(word) - 3)]
        return any(
            one.plain == word or (len(word) > 3 and one.plain.startswith(stem)) for one in split_words(self.question)
        )


def left_holds(ahead: str, expected: Expectation) -> bool:
    """True if the words before a mention, from the beginning of its sentence, lead up to an answer."""
    plain = ahead.rstrip(" '")
    if not plain:
        return True
    last, is_apart = plain[-1], ahead.endswith((" ", "'", "\n"))
    if last in ":→" or (last in "-–—" and ahead.endswith(" ")):
        return len(split_words(plain)) <= (12 if last == ":" else 3)
    if last == ",":
        clause = split_words(plain)
        return bool(clause) and (clause[0].plain in wording.INTRODUCTIONS or MASK in plain)
    if last == "(":
        # "thirty-one (31)" is one number; "Lima (Lima)" says a name twice to be sure.
        return (MASK in plain[-4:] and expected.flavour != "name") or _brackets_acronym(plain, expected)
    if last == ")" or last == MASK:
        return is_apart
    if not last.isalnum() and last != ".":
        return False
    return is_apart and _words_lead(split_words(plain), expected)


def right_holds(behind: str, expected: Expectation) -> bool:
    """True if the words behind a mention, to the end of its sentence, leave it as it is."""
    remainder = behind.lstrip("' ") if behind[:2] != "'s" else behind
    if behind.startswith(("'s", "-", "/")) and not behind.startswith(("- ", "-- ")):
        return False
    if not remainder or re.fullmatch(r"[.!)\]\s'\"。]*", remainder):
        return True
    if remainder[0] == "(":
        inside, closed, after = remainder[1:].partition(")")
        return bool(closed) and bracket_holds(inside, expected) and right_holds(after, expected)
    if remainder[0] == ",":
        return _apposition_holds(remainder[1:].strip(), expected)
    if remainder[0] in "-–—:" and remainder[1:2] == " ":
        words = split_words(remainder)
        return bool(words) and (
            words[0].plain in wording.FUNCTION_WORDS
            or words[0].text.endswith("'s")
            or (len(words) > 1 and words[0].plain in wording.DEMONYMS and words[1].text.islower())
        )
    if remainder[0] in ".)!" or remainder[0] == MASK:
        return remainder[0] != MASK and right_holds(remainder[1:], expected)
    if not remainder[0].isalnum() or not (behind[0].isspace() or behind[0] == "'"):
        return False
    return _words_follow(remainder, expected)


def bracket_holds(inside: str, expected: Expectation) -> bool:
    """True if what stands in brackets behind a mention says more of it, and names nothing else."""
    text = inside.strip()
    if (
        not text
        or set(text) <= {MASK}
        or (contains(text, expected.text) and not contradicts(text, expected.question))
        or _YEARS.fullmatch(text)
    ):
        return True
    if expected.flavour != "name":
        # Conversions are hits or no rivals; see `webemu.rl.answers.measures`.
        return True
    if is_acronym(text, expected.text) or is_acronym(expected.text, text) or _expands_initials(text, expected.text):
        return True
    words = split_words(text)
    if is_translation(text):
        return True
    is_symbol = re.fullmatch(r"[A-Z][a-z]?", text) and len(expected.text) > 2
    is_measure = re.match(r"[\d.,]+", text) and all(not word.is_capitalised for word in words)
    return bool(is_symbol or is_measure) or (
        bool(words) and words[0].plain in wording.FUNCTION_WORDS | wording.FOLLOWERS | wording.RENAMED
    )


def is_translation(inside: str) -> bool:
    """True for a bracket such as "German: Donau"."""
    language, colon, _ = inside.partition(":")
    return bool(colon) and fold(language) in wording.DEMONYMS | {"latin", "arabic", "hebrew", "hindi", "native"}


def is_in_bracket(text: str, rival: Span, expected: Expectation) -> bool:
    """True if a rival is the long form of the answer, or stands in brackets that only say more of the mention before
    them.
    """
    if expected.flavour == "name" and _expands_initials(text[rival.start : rival.end], expected.text):
        return True
    opened = text.rfind("(", max(0, rival.start - 120), rival.start)
    closed = text.find(")", rival.end, rival.end + 120)
    if opened < 0 or closed < 0 or ")" in text[opened : rival.start]:
        return False
    inside = text[opened + 1 : closed]
    if expected.flavour == "name" and re.match(
        r"(?:the|a|an|formerly|then|now|previously|also known as|a\.?k\.?a\.?|born|née?|originally)\s", inside
    ):
        return rival.start > opened
    return (
        contains(inside, expected.text)
        or is_acronym(inside, expected.text)
        or is_acronym(expected.text, inside)
        or bool(re.fullmatch(r"[A-Z][a-z]?", inside))
        or is_translation(inside)
        or (expected.flavour == "name" and _expands_initials(inside, expected.text))
    )


def is_region_behind(text: str, rival: Span, group: Span) -> bool:
    """True if a rival is the region of the place right before it."""
    gap = text[group.end : rival.start] if rival.start > group.end else ""
    hit = text[group.start : group.end]
    region = text[rival.start : rival.end]
    if re.fullmatch(r"(?:,| in| of)? (?:the )?", gap):
        return contains(region, hit) or contains(text[rival.start : rival.end].partition(" ")[0], hit)
    return False


def is_excused(masked: str, rival: Span, group: Span | None, sentence: Span, *, is_choice: bool = False) -> bool:
    """True if another name is the subject, the place or the source of what is said, and no second answer."""
    before = masked[sentence.start : rival.start].rstrip(" '")
    words = split_words(before)
    lead = words[-1].plain if words and before.endswith(words[-1].text) else ""
    if masked.startswith("'s ", rival.end - 2) or masked.startswith("' ", rival.end):
        return True
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
    if group is None:
        return lead in _PREPOSITIONS | _ARTICLES
    if rival.start < group.start:
        between = split_words(masked[rival.end : group.start])
        hit_lead = between[-1].plain if between else ""
        if hit_lead in _ARTICLES and len(between) > 1:
            hit_lead = between[-2].plain
        verb = bool(between) and not re.search(r"[,;/&|]|\band\b", masked[rival.end : group.start])
        if lead in _PREPOSITIONS | _ARTICLES and lead != hit_lead and between:
            return True
        return verb and len(between) > 1 and hit_lead in _PREPOSITIONS and lead != hit_lead
    if re.fullmatch(r" (?:in|at|on) (?:the )?", masked[group.end : rival.start]):
        return True
    ahead = split_words(masked[sentence.start : group.start])
    hit_lead = ahead[-1].plain if ahead else ""
    follower = masked[rival.end : rival.end + 2]
    if lead in _ARTICLES and len(words) > 1:
        # "the German capital" says what it is; "the Elbe" is another thing.
        if re.match(r" [a-z]", follower):
            return True
        lead = words[-2].plain
    return (lead in _PREPOSITIONS and lead != hit_lead and lead not in ("with", "to")) or (lead == "than" and is_choice)


def _brackets_acronym(plain: str, expected: Expectation) -> bool:
    """True if the words before a bracket are the long or the short form of the accepted answer."""
    words = split_words(plain)
    return bool(words) and any(
        is_acronym(expected.text, plain[words[-n].start : words[-1].end])
        or is_acronym(words[-1].text, expected.text)
        or _expands_initials(plain[words[-n].start : words[-1].end], expected.text)
        for n in range(1, min(len(words), 10) + 1)
    )


def _expands_initials(text: str, name: str) -> bool:
    """True if a text is a name with the same family name, whose other words begin with the same letters."""
    words, hit_lead = split_words(text), split_words(name)
    if len(words) < 2 or not hit_lead or words[-1].plain != hit_lead[-1].plain:
        return False
    letters = "".join(
        one.plain if len(one.plain) <= 3 and one.text.isupper() else one.plain[0] for one in hit_lead[:-1]
    )
    return letters == "".join(one.plain[0] for one in words[:-1]) and any(
        len(one.plain) == 1 or one.text.isupper() for one in hit_lead
    )


def _words_lead(words: list[Word], expected: Expectation) -> bool:
    """True if the last words before a mention lead up to an answer."""
    words = list(words)
    while words and words[-1].plain in _ARTICLES:
        words.pop()
    if not words:
        return True
    last, before = words[-1], words[-2].plain if len(words) > 1 else ""
    if last.plain in wording.COORDINATION and last.plain not in ("with", "o", "e", "y", "u"):
        return False
    if last.plain == "than":
        return False
    if last.plain == "of":
        return _of_holds(before, expected)
    if expected.flavour == "name":
        return _name_leads(last, before, len(words) == 1, expected)
    hazards = wording.DATE_HAZARDS if expected.flavour == "date" else wording.NUMBER_HAZARDS
    if last.plain in wording.APPROXIMATION:
        return expected.allows_approximation and before not in hazards
    if last.plain == "to":
        return before not in ("up", "close", "next", "prior") and expected.flavour == "number"
    if last.plain in hazards and not expected.asks(last.plain):
        return False
    return before not in ("more", "less", "fewer", "later", "earlier", "rather") or last.plain != "than"


def _of_holds(head: str, expected: Expectation) -> bool:
    """True if "X of" before a mention says no more than what it is."""
    if expected.flavour != "name":
        return head not in wording.OF_HAZARDS
    return head in wording.KIND_HEADS or (bool(head) and expected.asks(head) and head not in wording.OF_HAZARDS)


def _name_leads(last: Word, before: str, is_first: bool, expected: Expectation) -> bool:
    plain = last.plain
    is_long = len(split_words(expected.text)) > 1
    if plain in wording.PLACE_HAZARDS and not expected.asks(plain):
        return (plain in ("former", "late") and is_long) or (
            plain == "after" and before in ("named", "called", "christened")
        )
    if plain == "from" and re.fullmatch(r"km|miles|away|far|metres|kilometres|differs?|different", before):
        return False
    if last.is_capitalised:
        if plain.endswith("'s") or (is_long and set(plain.split("-")) <= wording.DEMONYMS):
            return True
        if plain in wording.FUNCTION_WORDS or plain in wording.CONNECTORS:
            return True
        if plain in wording.TITLES and not is_first:
            return plain in wording.SAFE_TITLES or expected.asks(plain)
        return expected.asks(plain) or plain in wording.ROLES or (is_first and plain in wording.OPENINGS)
    if plain.isdigit():
        return False
    if expected.is_capitalised:
        return True
    return plain in wording.CONNECTORS or plain in wording.KIND_HEADS or expected.asks(plain) or plain.endswith("ed")


def _apposition_holds(remainder: str, expected: Expectation) -> bool:
    """True if what follows a comma says more of the mention, and is no second answer."""
    words = split_words(remainder)
    if not words:
        return True
    first = words[0]
    chunk = re.split(r"[,.;(]", remainder, maxsplit=1)[0].strip()
    if expected.flavour == "name" and expected.parts == 1 and contains(chunk, expected.text):
        if contradicts(chunk, expected.question):
            return False
        after = remainder[len(chunk) :]
        return right_holds(after, expected)
    if first.plain in ("and", "or", "but", "then", "also", "with", "not", "plus", "und", "oder", "et", "ou"):
        return first.plain == "and" and len(words) > 1 and words[1].plain in ("is", "was", "it", "has")
    if expected.flavour != "name" and first.text[0].isdigit():
        return False
    if expected.flavour != "name":
        return not first.is_capitalised
    return (
        first.plain in wording.FUNCTION_WORDS
        or first.plain in wording.FOLLOWERS
        or bool(re.search(r"(?:ed|ing)$", first.plain))
        or bool(_YEARS.fullmatch(chunk))
        or (not first.is_capitalised and expected.is_capitalised)
    )


def _words_follow(remainder: str, expected: Expectation) -> bool:
    """True if the first words behind a mention leave it as it is."""
    words = split_words(remainder)
    if not words:
        return True
    first, second = words[0], words[1].plain if len(words) > 1 else ""
    if first.plain == "and":
        return second in ("was", "is", "has", "had", "it", "were")
    if first.plain in wording.COORDINATION and first.plain not in ("u", "o", "e", "y"):
        return False
    if first.plain == "as" and second == "well":
        return False
    if expected.flavour == "number":
        if (first.is_capitalised and not expected.asks(first.plain)) or first.text[0].isdigit():
            return False
        if first.plain == "times":
            return len(words) == 1 or second in wording.FUNCTION_WORDS - {"as", "the"}
        return first.plain not in wording.NUMBER_FOLLOWER_HAZARDS and not _PER.match(remainder)
    if expected.flavour == "date":
        return not first.is_capitalised or first.plain in wording.FUNCTION_WORDS
    if first.is_capitalised:
        return (
            first.plain in wording.COMPANY_FORMS
            or (first.plain == "river" and first.is_capitalised)
            or (expected.asks(first.plain) and not expected.is_choice)
            or contains(first.text, expected.text)
        )
    if first.plain == "of":
        return any(
            contains(remainder[words[1].start : words[n].end], expected.text) or expected.asks(second)
            for n in range(1, min(len(words), 4))
        )
    if second and expected.asks(second) and first.plain.endswith("ing"):
        return True
    return (
        first.plain in wording.FOLLOWERS
        or expected.asks(first.plain)
        or (first.plain in wording.FUNCTION_WORDS or (expected.is_capitalised and first.plain.endswith("ed")))
    )
