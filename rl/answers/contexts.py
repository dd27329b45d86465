"""Words right before and right behind a mention: whether an answer stands there, or a part of something else.

"in Lima" is Lima; "near Lima", "the mayor of Lima", "Lima Province" and "Lima or Cusco" are not.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import YEARS, bracket_holds, brackets_acronym
from webemu.rl.answers.excuses import ARTICLES
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.regions import contains, contradicts, level_of

_PER = re.compile(
    r"\s?(?:a|an|per|/)\s?(?:year|month|week|day|hour|minute|second|head|person|capita|metre|km|kg)", re.IGNORECASE
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
        is_noun_phrase = len(clause) in (2, 3) and clause[0].plain in ARTICLES and expected.is_capitalised
        is_noun_phrase = is_noun_phrase and all(word.text.islower() for word in clause[1:])
        return bool(clause) and (clause[0].plain in wording.INTRODUCTIONS or MASK in plain or is_noun_phrase)
    if last == "(":
        # "thirty-one (31)" is one number; "Lima (Lima)" says a name twice to be sure.
        return (MASK in plain[-4:] and expected.flavour != "name") or brackets_acronym(plain, expected)
    if last == ")" or last == MASK:
        return is_apart
    if last in "~≈" and (len(plain) < 2 or plain[-2].isspace()):
        return expected.allows_approximation
    if (not last.isalnum() and last != ".") or re.search(r"\bfrom \S+ to$", plain):
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
    if remainder[0] == ";":
        words = split_words(remainder)
        return len(words) > 3 and words[0].plain in wording.CONTINUATIONS
    if remainder[0] == ":" and expected.flavour == "number":
        return True
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


def _words_lead(words: list[Word], expected: Expectation) -> bool:
    """True if the last words before a mention lead up to an answer."""
    words = list(words)
    while words and words[-1].plain in ARTICLES:
        words.pop()
    if not words:
        return True
    last, before = words[-1], words[-2].plain if len(words) > 1 else ""
    if last.plain in wording.COORDINATION and last.plain not in ("with", "o", "e", "y", "u"):
        return False
    if last.plain == "than" or (last.plain == "with" and before in wording.COVERINGS):
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
        is_inside = level_of(expected.text) == 2 and re.fullmatch(r"(?:north|south|east|west)ern|central", last.text)
        is_namesake = plain == "after" and before in ("named", "called") and expected.asks("named")
        return bool((plain in ("former", "late") and is_long) or is_namesake or is_inside)
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
    if first.plain == "with" and len(words) > 1 and words[1].plain in ("a", "an", "its", "his", "her"):
        return True
    if first.plain in ("and", "or", "but", "then", "also", "with", "not", "plus", "und", "oder", "et", "ou"):
        return first.plain == "and" and len(words) > 1 and words[1].plain in wording.CONTINUATIONS
    if expected.flavour != "name" and first.text[0].isdigit():
        return False
    if expected.flavour != "name":
        return not first.is_capitalised
    if first.plain in wording.DEMONYMS and len(words) > 1 and words[1].text.islower():
        return True
    if re.match(r"\d{1,2} [A-Z]", chunk):
        return True
    return (
        first.plain in wording.FUNCTION_WORDS
        or first.plain in wording.FOLLOWERS
        or bool(re.search(r"(?:ed|ing)$", first.plain))
        or bool(YEARS.fullmatch(chunk))
        or (not first.is_capitalised and expected.is_capitalised)
    )


def _words_follow(remainder: str, expected: Expectation) -> bool:
    """True if the first words behind a mention leave it as it is."""
    words = split_words(remainder)
    if not words:
        return True
    first, second = words[0], words[1].plain if len(words) > 1 else ""
    if first.plain == "and":
        return second in wording.CONTINUATIONS or (
            expected.is_capitalised and bool(re.search(r"(?:ed|[^s]s)$", second)) and second not in wording.COMPANIONS
        )
    if re.match(r"(?:\w+er|more|less|fewer|later|earlier) than\b", remainder):
        return False
    if first.plain == "with" and expected.flavour == "date":
        return True
    if first.plain in wording.COORDINATION and first.plain not in ("u", "o", "e", "y"):
        return False
    if first.plain == "as" and second == "well":
        return False
    if expected.flavour == "number":
        if (first.is_capitalised and not expected.asks(first.plain)) or first.text[0].isdigit():
            return False
        if first.plain == "times":
            return len(words) == 1 or second in wording.FUNCTION_WORDS - {"as", "the"}
        if first.plain == "to":
            return not re.match(
                r"to (?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|\w+ty)\b)", remainder
            )
        if first.plain == "per" and second and expected.asks(second):
            return True
        return first.plain not in wording.NUMBER_FOLLOWER_HAZARDS and not _PER.match(remainder)
    if expected.flavour == "date":
        # "2004 employees" is no year.
        small_words = wording.FUNCTION_WORDS | wording.FOLLOWERS
        return first.plain in small_words or (not first.is_capitalised and expected.asks(first.plain))
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
