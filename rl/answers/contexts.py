"""Words right before and right behind a mention: whether an answer stands there, or a part of something else.

"in Lima" is Lima; "near Lima", "the mayor of Lima", "Lima Province" and "Lima or Cusco" are not.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import YEARS, bracket_holds, brackets_acronym
from webemu.rl.answers.excuses import ARTICLES, BUILDING, WHERE
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.persons import asks_for_person
from webemu.rl.answers.regions import contains, contradicts, level_of

_POST = re.compile(r"\b(deputy|vice|former|ex|acting|assistant|founding|interim|retired|previous) \w+(?: \w+)?$")
"""Post that is not the one asked for, before a name: "deputy mayor"."""
_EXTENTS = tuple(
    frozenset(row.split())
    for row in (
        "high tall height elevation altitude",
        "wide width broad breadth across",
        "long length",
        "deep depth",
        "thick",
    )
)
_EXTENT = re.compile(r"\b(?:high|tall|height|elevation|wide|width|long|length|deep|depth|thick)\b", re.IGNORECASE)
_PER = re.compile(
    r"\s?(?:an? |per |/ ?)(?:year|month|week|day|hour|minute|second|head|person|capita|metre|km|kg)", re.IGNORECASE
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


def right_holds(behind: str, expected: Expectation) -> bool:
    """True if the words behind a mention, to the end of its sentence, leave it as it is."""
    remainder = behind.lstrip("' ") if behind[:2] != "'s" else behind
    # "the third-largest city" says its rank.
    if expected.flavour == "number" and expected.asks("rank") and (rank := re.match(r"-(?:\w+est|most)\b", behind)):
        return _words_follow(behind[rank.end() :].strip() or "x", expected)
    if behind.startswith(("'s", "-", "/")) and not behind.startswith(("- ", "-- ")):
        return False
    if not remainder or re.fullmatch(r"[.!)\]\s'\"。]*", remainder):
        return True
    if remainder[0] == "(":
        inside, closed, after = remainder[1:].partition(")")
        return bool(closed) and bracket_holds(inside, expected) and right_holds(after, expected)
    if remainder[0] == ",":
        return _apposition_holds(remainder[1:].strip(), expected)
    if expected.flavour == "number" and re.match(r"; [^();]{1,30}\)", remainder):
        return right_holds(remainder.partition(")")[2], expected)
    if remainder[0] == ";":
        words = split_words(remainder)
        return len(words) > 3 and words[0].plain in wording.CONTINUATIONS
    if remainder[0] == ":" and expected.flavour == "number":
        return True
    if remainder[0] in "-–—:" and remainder[1:2] == " ":
        words = split_words(remainder)
        is_capitalised = all(word.is_capitalised for word in words) and len(words) <= 4
        if expected.flavour != "name" and is_capitalised and not re.search(r"\d", remainder):
            return True
        return bool(words) and (
            words[0].plain in wording.FUNCTION_WORDS
            or words[0].text.endswith("'s")
            or (len(words) > 1 and wording.is_demonym(words[0].plain) and words[1].text.islower())
        )
    if remainder[0] in ".)!" or remainder[0] == MASK:
        return remainder[0] != MASK and right_holds(remainder[1:], expected)
    if not remainder[0].isalnum() or not (behind[0].isspace() or behind[0] == "'"):
        return False
    return _words_follow(remainder, expected)


def _words_lead(words: list[Word], expected: Expectation) -> bool:
    """True if the last words before a mention lead up to an answer."""
    words = list(words)
    count = len(words)
    while words and words[-1].plain in ARTICLES:
        words.pop()
    if not words:
        return True
    last, before = words[-1], words[-2].plain if len(words) > 1 else ""
    if (
        last.plain == "and"
        and expected.flavour == "name"
        and len(words) > 2
        and all(expected.asks(word.plain) for word in words[-3:-1])
        and words[-2].is_capitalised
    ):
        return True
    if last.plain in wording.COORDINATION and last.plain not in ("with", "o", "e", "y", "u"):
        return False
    if last.plain == "than" or (last.plain == "with" and before in wording.COVERINGS):
        return False
    if re.search(r"\b(?:why|cause\w*|reason|makes?|made|responsible)\b", expected.question, re.IGNORECASE) and (
        last.plain in ("after", "following")
        or f"{before} {last.plain}" in ("because of", "due to", "owing to", "result of")
    ):
        return True
    if last.plain in ("early", "mid", "late") and expected.asks("month") and len(words) > 1:
        return True
    if last.plain == "of":
        return _of_holds(before, expected)
    if expected.flavour == "name":
        post = _POST.search(" ".join(word.plain for word in words))
        if post and not expected.asks(post[1]):
            return False
        # "chose a bank": a verb, or "a" would not stand between.
        is_apart = (
            len(words) < count
            and last.text.islower()
            and last.plain not in wording.PLACE_HAZARDS | {"up", "off", "out"}
        )
        return (is_apart and not expected.is_capitalised) or _name_leads(last, before, len(words) == 1, expected)
    hazards = wording.DATE_HAZARDS if expected.flavour == "date" else wording.NUMBER_HAZARDS
    if last.plain in wording.APPROXIMATION:
        return expected.allows_approximation and before not in hazards
    if last.plain in ("turning", "reaching", "age") and before in hazards:
        return False
    if last.plain == "to" and before in ("back", "dates"):
        return True
    if last.plain == "to":
        return (
            before not in ("up", "close", "next", "prior")
            or (before == "up" and (expected.asks("maximum") or expected.asks("can")))
        ) and expected.flavour == "number"
    if expected.flavour == "date" and last.plain in ("since", "from") and len(words) == 1:
        return True
    if last.plain in hazards and not expected.asks(last.plain):
        return False
    return before not in ("more", "less", "fewer", "later", "earlier", "rather") or last.plain != "than"


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


def _apposition_holds(remainder: str, expected: Expectation) -> bool:
    """True if what follows a comma says more of the mention, and is no second answer."""
    words = split_words(remainder)
    if not words:
        return True
    first = words[0]
    chunk = re.split(r"[,.;(]", remainder, maxsplit=1)[0].strip()
    # "Stone Town, Zanzibar" says where it is.
    is_place = bool(WHERE.search(expected.question) or BUILDING.search(expected.question))
    is_place = is_place and expected.flavour == "name" and expected.parts == 1
    further = [one.strip() for one in remainder[len(chunk) :].rstrip(".").split(",") if one.strip()]
    if is_place and re.fullmatch(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)?", chunk) and all(map(level_of, further)):
        return not contradicts(chunk, expected.question, expected.text) and not level_of(expected.text)
    if expected.flavour == "name" and expected.parts == 1 and contains(chunk, expected.text):
        if contradicts(chunk, expected.question, expected.text):
            return False
        after = remainder[len(chunk) :]
        return right_holds(after, expected)
    if (
        first.plain == "with"
        and len(words) > 1
        and (words[1].plain in ("a", "an", "its", "his", "her") or words[1].plain.isdigit())
    ):
        return True
    if re.match(r"(?:also|sometimes|often|better) (?:known|called|referred)\b", remainder):
        return True
    # "mercury, the planet" is another thing than the metal.
    if not expected.is_capitalised and (kind := re.fullmatch(r"(?:the|an?) ([a-z]+)", chunk)) and expected.question:
        return expected.asks(kind[1])
    if first.plain in ("and", "or", "but", "then", "also", "with", "not", "plus", "und", "oder", "et", "ou"):
        return first.plain == "and" and len(words) > 1 and words[1].plain in wording.CONTINUATIONS
    if expected.flavour == "date" and re.match(
        r"\d+ (?:years|months|weeks|days|hours) (?:after|before|later|ago)\b", remainder
    ):
        return True
    if expected.flavour != "name" and first.text[0].isdigit():
        return False
    if expected.flavour != "name":
        return not first.is_capitalised
    if wording.is_demonym(first.plain) and len(words) > 1 and words[1].text.islower():
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
    if any(word.text in ("BC", "BCE") for word in words[:2]):
        return expected.asks("BC")
    if re.match(r"until (?:his|her|their|its) ", remainder):
        return True
    if re.match(r"and (?:first|later|then|also|originally|subsequently) [a-z]+ed\b", remainder):
        return True
    if first.plain == "and":
        return second in wording.CONTINUATIONS or (
            words[1:2] != []
            and words[1].text.islower()
            and expected.is_capitalised
            and bool(re.search(r"(?:ed|[^s]s)$", second))
            and second not in wording.COMPANIONS
        )
    if re.match(r"(?:\w+er|more|less|fewer|later|earlier) than\b", remainder):
        return False
    if first.plain == "with" and expected.flavour == "date":
        return True
    if (
        first.plain in wording.COORDINATION
        and first.plain not in ("u", "o", "e", "y")
        and not (first.plain == "instead" and expected.asks("instead"))
    ):
        return False
    if first.plain == "as" and second == "well":
        return False
    if expected.flavour == "number":
        if (first.is_capitalised and not expected.asks(first.plain) and not expected.asks("code")) or first.text[
            0
        ].isdigit():
            return False
        if first.plain == "times":
            return len(words) == 1 or second in wording.FUNCTION_WORDS - {"as", "the"}
        if first.plain == "to":
            return not re.match(
                r"to (?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|\w+ty)\b)", remainder
            )
        if first.plain == "per" and second and expected.asks(second):
            return True
        extent = next((group for group in _EXTENTS if first.plain in group), None)
        if (
            extent
            and _EXTENT.search(expected.question)
            and not any(word.plain in extent for word in split_words(expected.question))
        ):
            return False
        if re.match(r"(?:\w+ ){0,3}or (?:more|less|fewer|higher|lower|above|below)\b", remainder):
            return False
        near = [word.plain for word in words[:4] if word.plain not in wording.FUNCTION_WORDS]
        is_other_noun = first.text.islower() and re.search(r"[^su]s$", first.plain) and len(first.plain) > 3
        counted = re.search(r"\bhow many((?: \w+){1,3})", expected.question, re.IGNORECASE)
        if is_other_noun and counted and expected.asks(first.plain) and first.plain[:4] not in counted[1].casefold():
            return False
        is_free = first.plain in wording.FUNCTION_WORDS | wording.FOLLOWERS | wording.COUNTED and first.plain != "pages"
        is_other_noun = is_other_noun and not is_free
        is_share = bool(re.search(r"%|\bper ?cent\b", expected.text))
        is_other_noun = is_other_noun or (
            first.plain == "of" and not is_share and second not in ("them", "these", "those", "which")
        )
        if is_other_noun and len(expected.question.split()) > 3 and not any(map(expected.asks, near)):
            return False
        return first.plain not in wording.NUMBER_FOLLOWER_HAZARDS and not _PER.match(remainder)
    if expected.flavour == "date":
        # "2004 employees" is no year.
        small_words = wording.FUNCTION_WORDS | wording.FOLLOWERS
        if not expected.text.isdigit() and first.text.islower():
            return True
        return first.plain in small_words or (not first.is_capitalised and expected.asks(first.plain))
    if first.is_capitalised:
        return (
            first.plain in wording.COMPANY_FORMS
            or (first.plain == "river" and first.is_capitalised)
            or (expected.asks(first.plain) and not expected.is_choice)
            or contains(first.text, expected.text)
        )
    if first.plain == "of":
        if asks_for_person(expected.question) and re.match(r"of (?:the )?[A-Z]", remainder):
            return True
        object_word = next((word.plain for word in words[1:] if word.plain not in ARTICLES), "")
        return any(
            contains(remainder[words[1].start : words[n].end], expected.text) or expected.asks(object_word)
            for n in range(1, min(len(words), 4))
        )
    if second and expected.asks(second) and first.plain.endswith("ing"):
        return True
    is_verb = first.text.islower() and first.plain.endswith(("s", "ed")) and expected.is_capitalised
    if is_verb and second and (expected.asks_verb(first.plain) or second in ARTICLES):
        return True
    return (
        first.plain in wording.FOLLOWERS
        or expected.asks(first.plain)
        or (first.plain in wording.FUNCTION_WORDS or (expected.is_capitalised and first.plain.endswith("ed")))
    )
