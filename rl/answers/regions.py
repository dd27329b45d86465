"""Regions that may stand behind a place: "Lima, Peru" names one place, "Lima, Cusco" two."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from webemu.rl.answers.folding import split_words

MAX_WORDS = 6
"""Largest number of words in the name of a region that is looked up."""


@cache
def _levels() -> dict[tuple[str, ...], int]:
    """Return the level of each region by its words: 1 continent, 2 country, 3 part of a country."""
    rows = (Path(__file__).parent / "regions.txt").read_text(encoding="utf-8").splitlines()
    return {to_words(row[2:]): int(row[0]) for row in rows if row[:1].isdigit()}


def to_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a name without its article."""
    words = tuple(word.plain for word in split_words(text.replace(".", "")))
    return words[1:] if words[:1] == ("the",) and len(words) > 1 else words


def level_of(text: str) -> int:
    """Return the level of a region; 0 if the text is none."""
    words = to_words(text)
    # "or" and "in" are no states.
    if len(words) == 1 and len(words[0]) == 2 and not text.strip().replace(".", "").isupper():
        return 0
    return _levels().get(words, 0) if len(words) <= MAX_WORDS else 0


_DIVIDED = frozenset(
    "us usa united states america canada australia germany uk united kingdom india china france spain italy"
    " england".split()
)


_NAMESAKES = frozenset(
    "paris london berlin moscow rome athens dublin melbourne sydney vienna naples venice lisbon madrid cairo manchester"
    " birmingham bristol oxford cambridge florence geneva hamburg delhi lima warsaw toledo odessa montreal milan"
    " alexandria damascus bethlehem hanover dresden stockholm copenhagen petersburg edinburgh glasgow bern".split()
)
"""Cities elsewhere whose names parts of North America have too."""
_AMERICAN = frozenset(
    "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois"
    " indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri"
    " montana nebraska nevada new_mexico new_york new_jersey new_hampshire north_carolina north_dakota ohio oklahoma"
    " oregon pennsylvania rhode_island south_carolina south_dakota tennessee texas utah vermont virginia washington"
    " west_virginia wisconsin wyoming tx oh ky pa fl ga il id".split()
)


def contradicts(region: str, question: str, place: str = "") -> bool:
    """True if a question names another country than the region behind a place does, or the place is a namesake."""
    level, words = level_of(region), split_words(question)
    if to_words(place)[-1:] and to_words(place)[-1] in _NAMESAKES and "_".join(to_words(region)) in _AMERICAN:
        return not set(to_words(region)) & {word.plain for word in words}
    asked_states = {word.plain for word in words if word.is_capitalised and level_of(word.text) == 3}
    if level == 3 and asked_states & _AMERICAN and not set(to_words(region)) & {word.plain for word in words}:
        return "_".join(to_words(region)) in _AMERICAN
    countries = {word.plain for word in words if word.is_capitalised and level_of(word.text) == 2}
    if level < 2 or not countries or set(to_words(region)) & {word.plain for word in words}:
        return False
    return level == 2 or not countries & _DIVIDED


def contains(region: str, place: str) -> bool:
    """True if a region may hold a place: it is of a higher level, or the place is no region."""
    level, place_level = level_of(region), level_of(place)
    return bool(level) and (not place_level or level < place_level)
