"""Years in passing: "Yaddle, founded in 1901, ...", "Founded in 1901, Yaddle ...", "the 1968 film Night of the Ox".

Such half-sentences tell when something began or came out, whatever the rest of the sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_YEAR = r"(?:1[5-9]|20)\d\d"
_NAME = r"[A-Z][\w.’'-]*[a-z](?: (?:(?:of|the|and|for) )*[A-Z][\w’'-]*[a-z]){0,5}"
_DONE = "founded|established|launched|created|built|opened|released|published|introduced|formed|incorporated"
_KIND = (
    "film|movie|book|novel|album|song|single|study|report|comedy|thriller|drama|documentary|memoir|essay|paper|play|musical"
    "|video game|poem|biopic|sequel|bestseller|classic"
)
_AFTER_NAME = re.compile(rf"(?P<name>{_NAME}),? \(?(?P<done>{_DONE}|born) (?:[a-z]+ )?in (?P<year>{_YEAR})\b")
_BEFORE_NAME = re.compile(
    rf"^(?P<done>{'|'.join(word.capitalize() for word in _DONE.split('|'))}) in (?P<year>{_YEAR})(?: [^,]{{3,60}})?,"
    rf" (?P<name>{_NAME})\b"
)
_WORK = re.compile(
    rf"\b(?:[Tt]he|[Hh]is|[Hh]er|[Tt]heir|[Ii]ts|\w+[’']s) (?P<year>{_YEAR}) (?P<kind>(?:[a-z-]+ )?(?:{_KIND}))"
    rf" (?P<name>[“\"][^”\"]{{3,60}}[”\"]|{_NAME})"
)
_NO_NAME = frozenset("The In On It He She This That They We You And But".split())


@dataclass(frozen=True, slots=True)
class DatedThing:
    """Something with the year in which it began or came out."""

    year: str
    asks: str
    """Words behind "in which year": `was Yaddle founded`."""
    tells: str
    """The same as a clause: `Yaddle was founded`."""


def find_years(sentence: str) -> Iterator[DatedThing]:
    """Yield the things of a sentence whose year stands beside their name."""
    for pattern in (_AFTER_NAME, _BEFORE_NAME):
        for match in pattern.finditer(sentence):
            name, done = match["name"], match["done"].lower()
            # A single word is a first name or a surname as often as it is a company.
            if name.split()[0] not in _NO_NAME and len(name.split()) > 1:
                yield DatedThing(match["year"], f"was {name} {done}", f"{name} was {done}")
    for match in _WORK.finditer(sentence):
        name = match["name"].strip('“”"').rstrip(",.;")
        thing = f'the {match["kind"]} "{name}"'
        if name.split()[0] not in _NO_NAME or len(name.split()) > 1:
            yield DatedThing(match["year"], f"did {thing} come out", f"{thing} came out")
