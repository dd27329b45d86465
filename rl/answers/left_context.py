"""Words right before a mention: whether they lead up to an answer, or to a part of something else.

"in Lima" is Lima; "near Lima" and "the mayor of Lima" are not.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import brackets_acronym
from webemu.rl.answers.excuses import ARTICLES, WHERE
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.regions import level_of

_POST = re.compile(r"\b(deputy|vice|former|ex|acting|assistant|founding|interim|retired|previous) \w+(?: \w+)?$")
"""Post that is not the one asked for, before a name: "deputy mayor"."""
_ASKS_FOR_CAUSE = re.compile(r"\b(?:why|cause\w*|reason|makes?|made|responsible)\b", re.IGNORECASE)


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
        if expected.flavour != "name" and len(clause) <= 4 and not re.search(r"\d", plain):
            is_noun_phrase = all(word.is_capitalised for word in clause)
        elif expected.is_capitalised and re.search(r"\b(?:his|her|its|their|the|an?) (?:[a-z]+ ){0,2}[a-z]+,$", plain):
            is_noun_phrase = True
        is_subject = all(expected.asks(word.plain) for word in clause) and not expected.is_choice
        return bool(clause) and (
            clause[0].plain in wording.INTRODUCTIONS or MASK in plain or is_noun_phrase or is_subject
        )
    if last == "(":
        # "thirty-one (31)" is one number; "Lima (Lima)" says a name twice to be sure.
        if (
            expected.flavour == "number"
            and re.search(r" [a-z]{2,} \($", plain)
            and not re.search(r"[\d\x01]|\bor\b", plain)
        ):
            return True
        if re.fullmatch(r"[A-Z]{2,5} \(", plain) and expected.flavour == "name":
            return True
        return (MASK in plain[-4:] and expected.flavour != "name") or brackets_acronym(plain, expected)
    if last == ")" or last == MASK:
        return is_apart
    if re.fullmatch(r"[A-Za-z]{1,3} =", plain):
        return True
    if last in "~≈" and (len(plain) < 2 or plain[-2].isspace()):
        return expected.allows_approximation
    if (not last.isalnum() and last != ".") or re.search(r"\bfrom \S+ to$", plain):
        return False
    return is_apart and _words_lead(split_words(plain), expected)


def _words_lead(words: list[Word], expected: Expectation) -> bool:
    """True if the last words before a mention lead up to an answer."""
    count = len(words)
    while words and words[-1].plain in ARTICLES:
        words = words[:-1]
    if not words:
        return True
    verdict = _connective_leads(words, expected)
    if verdict is not None:
        return verdict
    if expected.flavour == "name":
        return _phrase_leads_to_name(words, len(words) < count, expected)
    return _phrase_leads_to_figure(words, expected)


def _connective_leads(words: list[Word], expected: Expectation) -> bool | None:
    """Return whether a conjunction or "of" before a mention leads up to an answer; None for another word."""
    last, before = words[-1].plain, words[-2].plain if len(words) > 1 else ""
    is_named_before = len(words) > 2 and all(expected.asks(word.plain) for word in words[-3:-1])
    if last == "and" and expected.flavour == "name" and is_named_before and words[-2].is_capitalised:
        return True
    if last in wording.COORDINATION and last not in ("with", "o", "e", "y", "u"):
        return False
    if last == "than" or (last == "with" and before in wording.COVERINGS):
        return False
    is_cause = last in ("after", "following") or f"{before} {last}" in ("because of", "due to", "owing to", "result of")
    if is_cause and _ASKS_FOR_CAUSE.search(expected.question):
        return True
    if last in ("early", "mid", "late") and expected.asks("month") and before:
        return True
    return _of_holds(before, expected) if last == "of" else None


def _phrase_leads_to_name(words: list[Word], has_article: bool, expected: Expectation) -> bool:
    last, before = words[-1], words[-2].plain if len(words) > 1 else ""
    post = _POST.search(" ".join(word.plain for word in words))
    if post and not expected.asks(post[1]):
        return False
    # "chose a bank": a verb, or "a" would not stand between.
    hazards = wording.PLACE_HAZARDS | {"up", "off", "out"}
    is_apart = has_article and last.text.islower() and last.plain not in hazards
    return (is_apart and not expected.is_capitalised) or _name_leads(last, before, len(words) == 1, expected)


def _phrase_leads_to_figure(words: list[Word], expected: Expectation) -> bool:
    last, before = words[-1].plain, words[-2].plain if len(words) > 1 else ""
    hazards = wording.DATE_HAZARDS if expected.flavour == "date" else wording.NUMBER_HAZARDS
    if last in wording.APPROXIMATION:
        return expected.allows_approximation and before not in hazards
    if last in ("turning", "reaching", "age") and before in hazards:
        return False
    if last == "to":
        is_limit = before == "up" and not (expected.asks("maximum") or expected.asks("can"))
        is_near = is_limit or before in ("close", "next", "prior")
        return before in ("back", "dates") or (expected.flavour == "number" and not is_near)
    if expected.flavour == "date" and last in ("since", "from") and len(words) == 1:
        return True
    return last not in hazards or expected.asks(last)


def _of_holds(head: str, expected: Expectation) -> bool:
    """True if "X of" before a mention says no more than what it is."""
    if head == "lack" and expected.asks("deficiency"):
        return True
    if expected.flavour != "name":
        return head not in wording.OF_HAZARDS
    return head in wording.KIND_HEADS or (bool(head) and expected.asks(head) and head not in wording.OF_HAZARDS)


def _name_leads(last: Word, before: str, is_first: bool, expected: Expectation) -> bool:
    plain = last.plain
    is_long = len(split_words(expected.text)) > 1
    if plain in wording.PLACE_HAZARDS and not expected.asks(plain):
        is_inside = level_of(expected.text) == 2 and re.fullmatch(
            r"(?i:north|south|east|west)ern|[Cc]entral", last.text
        )
        is_namesake = plain == "after" and before in ("named", "called") and expected.asks("named")
        is_inside = is_inside or (plain in ("central", "downtown") and WHERE.search(expected.question))
        return bool((plain in ("former", "late") and is_long) or is_namesake or is_inside)
    if plain == "from" and re.fullmatch(r"km|miles|away|far|metres|kilometres|differs?|different", before):
        return False
    if last.is_capitalised:
        if plain.endswith("'s") or (is_long and wording.is_demonym(plain)):
            return True
        if plain in wording.FUNCTION_WORDS or plain in wording.CONNECTORS:
            return True
        if plain in wording.TITLES and not is_first:
            return plain in wording.SAFE_TITLES or expected.asks(plain)
        return (
            expected.asks(plain)
            or (is_long and plain in {word.plain for word in split_words(expected.text)})
            or plain in wording.ROLES
            or (
                is_first
                and (plain in wording.OPENINGS or (is_long and plain in ("lady", "lord", "prince", "princess")))
            )
        )
    if (
        plain == "for"
        and re.match(r"nomin|candidat|runner|shortlist|appl|replac|consider", before)
        and not expected.asks(before)
    ):
        return False
    if plain.isdigit():
        return expected.asks(plain)
    if expected.is_capitalised:
        return True
    return (
        plain in wording.CONNECTORS | wording.KIND_HEADS | wording.NEUTRAL
        or expected.asks(plain)
        or plain.endswith("ed")
    )
