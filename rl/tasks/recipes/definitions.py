"""Definitions reversed: what a page says of the thing it is named after, and which thing that is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.recipes import grid, prose, values
from webemu.rl.tasks.recipes.parsed_page import PAGE, Fact, Reading
from webemu.rl.tasks.recipes.rows import label_trouble

FEWEST, MOST = 6, 40
"""Words of a definition."""
TELLING = 7
"""Words that it begins with and no other page says: what differs later only is a phrase of the house."""
_KIND = (
    r"(?: (?P<kind>(?:header |QML |widget |base |abstract |template )?(?:class|module|function|library|package|command"
    r"|utility|program|type|method|header|file|element|namespace|macro|option|protocol|service|tool|structure|interface"
    r"|object|widget|plugin|extension|driver|property|directive|statement|operator|format)))?"
)
_VERB = (
    r"(?P<verb>is|are|was|were|provides|returns|represents|implements|describes|defines|holds|contains|computes|creates"
    r"|allows|enables|handles|manages|offers|converts|displays|draws|specifies|gives|performs|stores)"
)
_TAIL = re.compile(
    r"(?: \((?:class|module|C\+\+|Java|software)\))?(?: (?:Class|Module|Struct|QML Type|Reference|Template))*$"
)
_NUMBERED = re.compile(r"^(?:\d+\.)*\d+\.? ")


def turned(reading: Reading) -> Iterator[Fact]:
    """The first sentences that say what the page's thing is, and the terms that lists explain."""
    yield from _of_subject(reading)
    yield from _of_terms(reading)


def _of_subject(reading: Reading) -> Iterator[Fact]:
    name = _TAIL.sub("", _NUMBERED.sub("", reading.head))
    if not values.is_name(name):
        reading.drop("title is no name")
        return
    says = re.compile(rf"(?:The |An? )?{re.escape(name)}{_KIND} {_VERB} (?P<rest>.+)\.", re.IGNORECASE)
    found = [(one, said) for one in reading.sentences[:10] if (said := says.fullmatch(one))]
    if not found:
        reading.drop("no definition")
        return
    sentence, said = found[0]
    if reason := _trouble(said["rest"], said["verb"], reading):
        reading.drop(reason)
        return
    answers = tuple(dict.fromkeys([name, reading.head]))
    yield Fact(_ask(said, reading.page.host), answers, "name", sentence, name)


def _ask(said: re.Match[str], host: str) -> str:
    host, rest = host.removeprefix("www."), said["rest"].replace('"', "'")
    if said["verb"] in ("is", "are", "was", "were"):
        return f'What is described on {host} as "{rest}"?'
    return f'Which {said["kind"] or "thing"} described on {host} "{said["verb"]} {rest}"?'


def _of_terms(reading: Reading) -> Iterator[Fact]:
    for box in grid.read(reading.tree, reading.drop):
        if not isinstance(box, grid.Pairs) or box.boxed:
            continue
        for term, text in box.rows:
            said = prose.split(text)[0].rstrip(".") if text else ""
            if not values.is_name(term) or label_trouble(term):
                reading.drop("term is no name")
            elif reason := _trouble(said, "", reading):
                reading.drop(reason)
            elif reading.text.count(said) > 1:
                reading.drop("definition said twice")
            elif quote := reading.pair(term, text):
                ask = f'Which term does {PAGE} explain as "{said.replace(chr(34), chr(39))}"?'
                yield Fact(ask, (term,), "name", quote, term)
            else:
                reading.drop("row not in text")


def _trouble(rest: str, verb: str, reading: Reading) -> str:
    """Why words do not single out what they define; empty if they do."""
    if not FEWEST <= len(rest.split()) <= MOST or not prose.is_english(rest, 0.15):
        return "definition too short or long"
    if verb in ("is", "are", "was", "were") and not re.match(r"(?:an?|the|one of) ", rest):
        return "no definition"
    if prose.points(rest) or re.match(r"(?:Described|Defined|Same|Alias|Synonym|Like|As)\b", rest):
        return "definition points elsewhere"
    begins = " ".join(rest.split()[:TELLING])
    return "" if reading.crawl.saying(begins, 3) == [reading.page.url] else "definition said elsewhere"
