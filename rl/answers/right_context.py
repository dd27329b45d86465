"""Words right behind a mention: whether they leave it as it is, or make it a part of something else.

"Lima, the capital" is Lima; "Lima Province" and "Lima or Cusco" are not.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import YEARS, bracket_holds
from webemu.rl.answers.excuses import ARTICLES, BUILDING, WHERE
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import Word, split_words
from webemu.rl.answers.persons import asks_for_person
from webemu.rl.answers.regions import contains, contradicts, level_of

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
_COUNTED_PHRASE = re.compile(
    r"\bhow many (?:(?:[\w'-]+ ){0,3}?(?:[\w'-]*[^\W_]s|people|men|women|children)\b(?: of [\w'-]+)?"
    r"|(?:[\w'-]+ ?){1,3})",
    re.IGNORECASE,
)
"""The words "how many" and what is counted, to the first plural."""
_SAME_THINGS = tuple(
    frozenset(row.split())
    for row in (
        "films movies pictures features",
        "championships titles trophies crowns",
        "soldiers troops men",
        "monks brothers friars",
        "nuns sisters",
        "children kids",
        "employees workers staff people",
        "cars automobiles vehicles",
        "ships vessels boats",
        "books volumes titles",
        "songs tracks",
        "matches games appearances caps",
        "floors storeys stories levels",
        "islands isles",
        "stations stops",
        "visitors tourists people guests",
        "medals golds",
        "seats mandates",
        "spectators people viewers fans",
    )
)
"""Words that count the same things."""
_TO_NUMBER = re.compile(r"to (?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|\w+ty)\b)")
_OR_MORE = re.compile(r"(?:\w+ ){0,3}or (?:more|less|fewer|higher|lower|above|below)\b")


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
    verdict = _connective_follows(words, remainder, expected)
    if verdict is not None:
        return verdict
    if expected.flavour == "number":
        return _words_follow_number(words, remainder, expected)
    if expected.flavour == "date":
        return _word_follows_date(words[0], expected)
    return _words_follow_name(words, remainder, expected)


def _connective_follows(words: list[Word], remainder: str, expected: Expectation) -> bool | None:
    """Return whether a conjunction or an era behind a mention leaves it as it is; None for other words."""
    first, second = words[0].plain, words[1].plain if len(words) > 1 else ""
    if any(word.text in ("BC", "BCE") for word in words[:2]):
        return expected.asks("BC")
    if re.match(r"until (?:his|her|their|its) ", remainder):
        return True
    if re.match(r"and (?:first|later|then|also|originally|subsequently) [a-z]+ed\b", remainder):
        return True
    if first == "and":
        is_verb = bool(second) and words[1].text.islower() and bool(re.search(r"(?:ed|[^s]s)$", second))
        is_continued = is_verb and expected.is_capitalised and second not in wording.COMPANIONS
        return is_continued or second in wording.CONTINUATIONS
    if re.match(r"(?:\w+er|more|less|fewer|later|earlier) than\b", remainder):
        return False
    if first == "with" and expected.flavour == "date":
        return True
    is_asked = first == "instead" and expected.asks("instead")
    is_coordinated = first in wording.COORDINATION and first not in ("u", "o", "e", "y") and not is_asked
    return False if is_coordinated or (first == "as" and second == "well") else None


def _words_follow_number(words: list[Word], remainder: str, expected: Expectation) -> bool:
    first, second = words[0], words[1].plain if len(words) > 1 else ""
    is_name = first.is_capitalised and not expected.asks(first.plain) and not expected.asks("code")
    # "12 Benedictine monks" are monks.
    is_name = is_name and not (second and len(second) > 3 and words[1].text.islower() and expected.asks(second))
    if is_name or first.text[0].isdigit():
        return False
    if first.plain == "times":
        return len(words) == 1 or second in wording.FUNCTION_WORDS - {"as", "the"}
    if first.plain == "to":
        return not _TO_NUMBER.match(remainder)
    if first.plain == "per" and second and expected.asks(second):
        return True
    if _is_other_extent(first.plain, expected.question) or _OR_MORE.match(remainder):
        return False
    if _counts_others(words, expected):
        return False
    return first.plain not in wording.NUMBER_FOLLOWER_HAZARDS and not _PER.match(remainder)


def _is_other_extent(word: str, question: str) -> bool:
    """True for "wide" behind a number where the question asks for a height."""
    extent = next((group for group in _EXTENTS if word in group), frozenset[str]())
    is_extent_asked = bool(extent) and bool(_EXTENT.search(question))
    return is_extent_asked and not any(word.plain in extent for word in split_words(question))


def _counts_others(words: list[Word], expected: Expectation) -> bool:
    """True if a number counts other things than the question asks for: "12 goats", where monks are asked for."""
    first, second = words[0], words[1].plain if len(words) > 1 else ""
    near = [word.plain for word in words[:4] if word.plain not in wording.FUNCTION_WORDS]
    plural = _find_plural(words)
    counted = _COUNTED_PHRASE.search(expected.question)
    is_free = first.plain in wording.FUNCTION_WORDS | wording.FOLLOWERS | wording.COUNTED and first.plain != "pages"
    if counted and plural:
        # "12 goats lived there" has a word of the question too, but does not count the monks asked for.
        is_loose = is_free and (plural != first.plain or not expected.asks(plural))
        return not is_loose and not _count_the_same(near, counted[0].casefold())
    is_share = bool(re.search(r"%|\bper ?cent\b", expected.text))
    is_part = first.plain == "of" and not is_share and second not in ("them", "these", "those", "which")
    is_asked = len(expected.question.split()) <= 3 or any(map(expected.asks, near))
    return ((plural == first.plain and not is_free) or is_part) and not is_asked


def _find_plural(words: list[Word]) -> str:
    """Return the first plural among the words behind a number, before any small word; empty if there is none."""
    for word in words[:3]:
        if not word.text.islower() or word.plain in wording.FUNCTION_WORDS:
            return ""
        if re.search(r"[^su]s$", word.plain) and len(word.plain) > 3:
            return word.plain
    return ""


def _count_the_same(words: list[str], phrase: str) -> bool:
    """True if one of the words is what a phrase such as `how many monks` counts, or means the same."""
    return any(word[:4] in phrase for word in words) or any(
        any(word in group for word in words) and any(other in phrase for other in group) for group in _SAME_THINGS
    )


def _word_follows_date(first: Word, expected: Expectation) -> bool:
    # "2004 employees" is no year.
    if not expected.text.isdigit() and first.text.islower():
        return True
    is_small = first.plain in wording.FUNCTION_WORDS | wording.FOLLOWERS
    return is_small or (not first.is_capitalised and expected.asks(first.plain))


def _words_follow_name(words: list[Word], remainder: str, expected: Expectation) -> bool:
    first, second = words[0], words[1].plain if len(words) > 1 else ""
    if first.is_capitalised:
        is_asked = expected.asks(first.plain) and not expected.is_choice
        is_kind = first.plain in wording.COMPANY_FORMS or first.plain == "river"
        return is_kind or is_asked or contains(first.text, expected.text)
    if first.plain == "of":
        return _of_follows_name(words, remainder, expected)
    if second and expected.asks(second) and first.plain.endswith("ing"):
        return True
    is_verb = first.text.islower() and first.plain.endswith(("s", "ed")) and expected.is_capitalised
    if is_verb and second and (expected.asks_verb(first.plain) or second in ARTICLES):
        return True
    is_small = first.plain in wording.FUNCTION_WORDS | wording.FOLLOWERS
    return is_small or expected.asks(first.plain) or (expected.is_capitalised and first.plain.endswith("ed"))


def _of_follows_name(words: list[Word], remainder: str, expected: Expectation) -> bool:
    """True if "of X" behind a name says where it is, or repeats the question."""
    if asks_for_person(expected.question) and re.match(r"of (?:the )?[A-Z]", remainder):
        return True
    object_word = next((word.plain for word in words[1:] if word.plain not in ARTICLES), "")
    return any(
        contains(remainder[words[1].start : words[n].end], expected.text) or expected.asks(object_word)
        for n in range(1, min(len(words), 4))
    )
