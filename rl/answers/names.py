"""Names: one spelling of initials, accents, titles, "and", ordinals and company forms, and where a text has a name.

A family name alone is not the full name, and another first, middle or family name is another person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from webemu.rl.answers.folding import Word, fold_umlauts, split_words
from webemu.rl.answers.mention import Span
from webemu.rl.answers.persons import PARTICLES, is_same_person
from webemu.rl.answers.wording import COMPANY_FORMS, SAFE_TITLES

_AND = frozenset(("&", "and", "und", "et", "y", "e"))
_ROMAN = re.compile(r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")
_ORDINAL_WORDS = {
    word: f"#{number}"
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
        " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
}
_CARDINALS = "one two three four five six seven eight nine ten"
_NUMBER_WORDS = {word: f"#{number}" for number, word in enumerate(_CARDINALS.split(), 1)}
_ENUMERATED = frozenset(
    "season chapter book volume part act episode round edition generation article section amendment"
    " division grade level stage phase series".split()
)
"""Nouns with a number before or behind them: "season two", "the second season"."""
_SPELLINGS = {
    "saint": "st", "ste": "st", "sainte": "st", "sankt": "st",
    "centre": "center", "theatre": "theater", "grey": "gray",
    "programme": "program", "licence": "license", "art": "article", "sec": "section",
    "vol": "volume", "ep": "episode", "mount": "mt", "fort": "ft", "doctor": "dr", "professor": "prof",
    "jnr": "jr", "junior": "jr", "senior": "sr", "bce": "bc", "snr": "sr",
}  # fmt: skip
_ABBREVIATIONS = (
    ("United States", "United States of America", "US", "USA"), ("United Kingdom", "UK"), ("European Union", "EU"),
    ("United Nations", "UN"), ("United Arab Emirates", "UAE"), ("Soviet Union", "USSR"), ("New York City", "NYC"),
    ("World War II", "Second World War", "WWII", "WW2", "WW II"),
    ("World War I", "First World War", "WWI", "WW1", "WW I"),
    ("north atlantic treaty organization", "nato"), ("federal bureau of investigation", "fbi"),
    ("central intelligence agency", "cia"), ("british broadcasting corporation", "bbc"),
    ("massachusetts institute of technology", "mit"), ("world health organization", "who"),
    ("international business machines", "ibm"), ("national aeronautics and space administration", "nasa"),
    ("international monetary fund", "imf"), ("european space agency", "esa"), ("washington dc", "washington d c"),
    ("carbon dioxide", "CO2"), ("water", "H2O"), ("methane", "CH4"), ("ammonia", "NH3"), ("hydrogen peroxide", "H2O2"),
    ("sulfuric acid", "sulphuric acid", "H2SO4"), ("sodium chloride", "NaCl"), ("deoxyribonucleic acid", "DNA"),
    ("federal republic of germany", "frg"), ("german democratic republic", "gdr"),
)  # fmt: skip
"""Names whose short forms everybody knows."""
MAX_WORDS = 400
"""Words of an answer that are read."""
MAX_NAME_WORDS = 30
"""Longest name that is looked for, in words."""
MAX_INITIALS = 5
"""Longest run of single letters that is joined: "C. S." is "CS"."""


def find_name(text: str, spellings: Iterable[str], part: int = 0, *, is_person: bool = False) -> list[Span]:
    """Return where a text has a name, in any of its spellings; the longest reading at each place."""
    words = split_words(text)[:MAX_WORDS]
    name_forms: set[tuple[str, ...]] = set()
    longest, joints = 0, set(" .-'")
    persons: list[list[Word]] = []
    for spelling in spellings:
        gold_words = split_words(spelling)
        name_forms |= _variants(gold_words, spelling)
        longest = max(longest, len(gold_words))
        if is_person and len(gold_words) > 1 and gold_words[0].is_capitalised:
            persons.append(gold_words)
        joints |= {c for a, b in pairwise(gold_words) for c in spelling[a.end : b.start]}
    if not name_forms or longest > MAX_NAME_WORDS:
        return []
    spans: list[Span] = []
    first = 0
    while first < len(words):
        last = _longest_match(text, words, first, first + longest + 4, name_forms, joints, persons)
        if last > first:
            begin = first + 1 if words[first].text in ("a", "an", "the") and last > first + 1 else first
            spans.append(Span(words[begin].start, words[last - 1].end, part))
        first = max(last, first + 1)
    return spans


def spell_out(name: str, texts: Iterable[str]) -> list[str]:
    """Return a name with the short forms that everybody knows, or that a text puts in brackets behind it."""
    spellings = [name]
    plain = _canonical(split_words(name), name)
    spellings += [part for group in _abbreviations() if plain in group for part in group.values()]
    for text in texts:
        for match in re.finditer(r"\(([^\W\d_][\w.&-]{1,9})\)", text):
            before = text[max(0, match.start() - 120) : match.start()]
            if find_name(before[-len(name) - 8 :], [name]) and is_acronym(match[1], name):
                spellings.append(match[1])
            elif plain == (match[1].casefold(),) and (long := _expansion(before, match[1])):
                spellings.append(long)
    return spellings


@cache
def _abbreviations() -> tuple[dict[tuple[str, ...], str], ...]:
    """Return the groups of equal names, each by its canonical words."""
    return tuple({_canonical(split_words(part), part): part for part in group} for group in _ABBREVIATIONS)


def is_acronym(short: str, name: str) -> bool:
    """True if a word is made of the first letters of a name's words; small words may be left out."""
    letters = re.sub(r"[^\w]", "", short).casefold()
    words = [part.plain for part in split_words(name)]
    full = "".join(word[0] for word in words)
    big = "".join(
        word[0] for word in words if word not in _AND and word not in ("of", "the", "for", "in", "de", "der", "la")
    )
    return len(letters) > 1 and short[:1].isupper() and letters in (full, big)


def _expansion(before: str, short: str) -> str:
    """Return the capitalised words at the end of a text whose first letters a short form has; empty without any."""
    words = split_words(before)
    for count in range(2, min(len(words), 10) + 1):
        name = before[words[-count].start : words[-1].end]
        if words[-count].is_capitalised and is_acronym(short, name):
            return name
    return ""


def _longest_match(
    text: str,
    words: list[Word],
    first: int,
    limit: int,
    name_forms: set[tuple[str, ...]],
    joints: set[str],
    persons: list[list[Word]],
) -> int:
    """Return the index behind the longest name that begins at a word; `first` if there is none."""
    best, end = first, first
    while end < min(limit, len(words)):
        if end > first:
            gap = text[words[end - 1].end : words[end].start]
            is_initial = len(words[end - 1].text) <= 4 or words[end - 1].plain in _SPELLINGS
            if (
                (not set(gap) <= joints and gap != ", ")
                or ("." in gap and gap != "." and not is_initial)
                or len(gap) > 3
            ):
                break
        end += 1
        window = words[first:end]
        if _variants(window, text) & name_forms or _names_person(window, text, persons):
            best = end
    return best


def _names_person(words: list[Word], text: str, persons: list[list[Word]]) -> bool:
    """True if capitalised words without a comma name one of the persons in another form."""
    if not persons or len(words) < 2 or not words[0].is_capitalised:
        return False
    if not all(word.is_capitalised or text[word.start - 1] == "-" or word.plain in PARTICLES for word in words):
        return False
    return "," not in text[words[0].start : words[-1].end] and any(is_same_person(words, one) for one in persons)


def _variants(words: list[Word], text: str) -> set[tuple[str, ...]]:
    """Return the spellings under which a name may be compared; empty if a comma parts it and is not an inversion."""
    if not words:
        return set()
    commas = [i for i in range(1, len(words)) if "," in text[words[i - 1].end : words[i].start]]
    if not commas:
        return _spellings(words, text)
    # "Lewis, C. S." is "C. S. Lewis"; "Smith & Sons, Ltd." is one name too.
    if len(commas) == 1 and words[-1].plain in COMPANY_FORMS:
        return _spellings(words, text)
    straight = (
        _spellings(words, text)
        if len(commas) >= 1 and words[0].start == 0 and words[-1].end >= len(text.rstrip(" ."))
        else set()
    )
    if len(commas) == 1 and commas[0] <= 3 and all(word.is_capitalised for word in words):
        return straight | _spellings(words[commas[0] :] + words[: commas[0]], text)
    return straight


def _spellings(words: list[Word], text: str) -> set[tuple[str, ...]]:
    return {_canonical(words, text), _canonical(words, text, umlauts=True)} - {()}


def _canonical(words: list[Word], text: str, *, umlauts: bool = False) -> tuple[str, ...]:
    """Return the words of a name in one spelling."""
    parts = [_part(word, words[index - 1].plain if index else "", umlauts) for index, word in enumerate(words)]
    if parts and parts[0] in ("the", "a", "an", "der", "die", "das", "la", "le", "les", "el", "los") and len(parts) > 1:
        parts = parts[1:]
    if len(parts) > 1 and words[-len(parts)].plain in SAFE_TITLES and words[-1].is_capitalised:
        parts = parts[1:]
    name_parts = [
        part for i, part in enumerate(parts) if not (part == "the" and parts[i + 1 : i + 2] and parts[i + 1][0] == "#")
    ]
    for i in range(len(name_parts) - 1):
        if name_parts[i][0] == "#" and name_parts[i + 1] in _ENUMERATED:
            name_parts[i : i + 2] = [name_parts[i + 1], name_parts[i]]
    joined = _join_initials(name_parts)
    while len(joined) > 1 and (joined[-1] in COMPANY_FORMS or ("and" in joined and joined[-1] in ("co", "company"))):
        joined = joined[:-1]
    return joined


def _part(word: Word, previous: str, umlauts: bool) -> str:
    plain = fold_umlauts(word.text) if umlauts else word.plain
    plain = plain.replace("'", "")
    if match := _ORDINAL.fullmatch(plain):
        return f"#{int(match[1])}"
    if plain in _ORDINAL_WORDS:
        return _ORDINAL_WORDS[plain]
    if plain in _AND and (word.text == "&" or len(plain) > 1 or word.text.islower()):
        return "and"
    if previous:
        if word.text in ("I", "V", "X") or (len(word.text) > 1 and _ROMAN.fullmatch(word.text)):
            return f"#{_roman(word.text)}"
        if plain.isdecimal() and len(plain) < 3:
            return f"#{int(plain)}"
        if plain in _NUMBER_WORDS and (word.is_capitalised or previous in _ENUMERATED):
            return _NUMBER_WORDS[plain]
    plain = re.sub(r"is(ation|e|ed|ing)$", r"iz\1", plain) if len(plain) > 6 else plain
    plain = (
        re.sub(r"([lbv])our$", r"\1or", plain) if plain.endswith(("labour", "harbour", "colour", "favour")) else plain
    )
    return _SPELLINGS.get(plain, plain)


def _join_initials(parts: list[str]) -> tuple[str, ...]:
    """Return the words with runs of single letters as one."""
    joined: list[str] = []
    run = 0
    for part in parts:
        is_single = len(part) == 1 and part.isalpha()
        if is_single and 0 < run < MAX_INITIALS:
            joined[-1] += part
        else:
            joined.append(part)
            run = 0
        run = run + 1 if is_single else 0
    return tuple(joined)


def _roman(text: str) -> int:
    values = [_ROMAN_VALUES[c] for c in text]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))
