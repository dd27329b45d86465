"""What a page declares of itself in JSON-LD, microdata and OpenGraph, where its text shows it too: `declared`.

Read by `extruct`; only what a reader of the page can see is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from webemu.emulator.extras import missing_package_error
from webemu.rl import gates
from webemu.rl.tasks.recipes import values
from webemu.rl.tasks.recipes.parsed_page import PAGE, Fact, Reading

MOST = 400_000
"""Characters of a document that is read."""
_ASKED = """
author           who is the author
creator          who is the creator
editor           who is the editor
director         who is the director
publisher        who is the publisher
illustrator      who is the illustrator
byartist         who is the artist
founder          who is the founder
brand            what is the brand
manufacturer     what is the manufacturer
datepublished    on which date was it published
published_time   on which date was it published
release_date     on which date was it released
datemodified     on which date was it last modified
modified_time    on which date was it last modified
startdate        on which date does it start
enddate          on which date does it end
birthdate        what is the date of birth
deathdate        what is the date of death
foundingdate     what is the date of foundation
price            what is the price
amount           what is the price
isbn             what is the ISBN
sku              what is the SKU
mpn              what is the part number
numberofpages    how many pages does it have
ratingvalue      what is the rating
reviewcount      how many reviews are there
ratingcount      how many ratings are there
streetaddress    what is the street address
addresslocality  in which town or city is it
postalcode       what is the postal code
telephone        what is the telephone number
faxnumber        what is the fax number
duration         what is the duration
softwareversion  what is the version of the software
operatingsystem  which operating system does it need
recipeyield      what is the yield
jobtitle         what is the job title
worksfor         who is the employer
genre            what is the genre
alternatename    what is the other name
location         where does it take place
"""
ASKED = {name: asks.strip() for name, _, asks in (line.partition(" ") for line in _ASKED.strip().splitlines())}
"""Properties of schema.org and Open Graph, in lower case, and how they are asked for."""
_FEWEST_DIGITS = 3
"""A shorter number stands on most pages, and means something else."""
_OTHERS = re.compile(r"@\w|^[—|]")
"""What others say, shown by the page."""
_NOT_PUBLISHED = re.compile(rf"{_OTHERS.pattern}|\b(?:modified|updated|edited|changed|revised|version|checked)\b", re.I)
_NESTED = frozenset("offers aggregaterating address location isbn".split())
_THINGS = re.compile(
    r"article|posting|book|product|event|person|organi[sz]ation|place|business|movie|recipe|application|creativework"
    r"|album|recording|restaurant|hotel|store|job|course|dataset|scholarly|report|review|video|webpage|game|episode"
    r"|series|library|school|museum",
    re.IGNORECASE,
)


def declared(reading: Reading) -> Iterator[Fact]:
    """Properties of the one thing that the page is about."""
    html = reading.html
    if len(html) > MOST or not re.search(r"ld\+json|itemprop=|property=[\"']?(?:og|article|book|product):", html):
        reading.drop("nothing declared")
        return
    said: dict[str, set[str]] = {}
    for thing in _things(html, reading.page.url):
        for name, value in _properties(thing):
            name = {"published_time": "datepublished", "modified_time": "datemodified"}.get(name, name)
            said.setdefault(name, set()).add(values.clean(value)[: 10 if "date" in name else None])
    if said.get("datemodified") == said.get("datepublished"):
        said.pop("datemodified", None)
    for name, found in said.items():
        if len(found) > 1:
            reading.drop("declared twice")
        elif (fact := _fact(reading, name, found.pop())) is not None:
            yield fact
        else:
            reading.drop("not shown")


def _things(html: str, url: str) -> list[dict[str, Any]]:
    """What is declared at the top, by all three syntaxes."""
    try:
        from extruct.jsonld import JsonLdExtractor  # optional and heavy: it brings RDFa and all its syntaxes
        from extruct.opengraph import OpenGraphExtractor
        from extruct.w3cmicrodata import MicrodataExtractor
    except ImportError as error:
        raise missing_package_error("the recipe `declared`", ["extruct"]) from error

    found: list[Any] = []
    for syntax in (JsonLdExtractor(), MicrodataExtractor(add_html_node=False), OpenGraphExtractor()):
        with suppress(Exception):  # the libraries raise many kinds on what is malformed
            found += syntax.extract(html, base_url=url)
    graphs = [inner for one in found if isinstance(one, dict) for inner in _list(one.get("@graph"))]
    things = [one for one in [*found, *graphs] if isinstance(one, dict)]
    graph = [dict(one["properties"]) for one in things if "namespace" in one]
    micro = [one["properties"] for one in things if isinstance(one.get("properties"), dict) and _is_thing(one)]
    return [*(one for one in things if "@type" in one and _is_thing(one)), *micro, *graph]


def _is_thing(one: dict[str, Any]) -> bool:
    return bool(_THINGS.search(" ".join(map(str, _list(one.get("@type") or one.get("type"))))))


def _properties(thing: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in thing.items():
        name = str(key).rpartition(":")[2].rpartition("/")[2].lower()
        held = _list(value)
        if name in _NESTED and len(held) == 1 and isinstance(held[0], dict):
            yield from _properties(held[0].get("properties") or held[0])
        if name in ASKED and len(held) == 1 and (text := _text(held[0])):
            yield name, text


def _text(value: Any) -> str:
    """A property's value as text, that of a thing being its name."""
    if isinstance(value, dict):
        inner = value.get("properties") if isinstance(value.get("properties"), dict) else value
        value = inner.get("name") if isinstance(inner, dict) else ""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _fact(reading: Reading, name: str, value: str) -> Fact | None:
    """The property as a question, if a line of the page shows it and could mean it."""
    asks = ASKED[name]
    kind, answers = values.spellings(value) or ("", ())
    if (" date " in asks) != (kind == "date"):
        return None
    lines = [line for line in reading.lines if not (_OTHERS if "modified" in asks else _NOT_PUBLISHED).search(line)]
    for line in sorted(lines, key=len) if kind != "number" or len(value) >= _FEWEST_DIGITS else ():
        if any(gates.contains_answer(line, answer) for answer in answers):
            return Fact(f"According to {PAGE}, {asks}?", answers, kind, line, answers[0])
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
