"""Facts that a page declares in JSON-LD, microdata or Open Graph and also shows in its text (`find_declared`).

Parsed by `extruct`. Only values that a reader of the page can see are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from webemu.emulator.extras import missing_package_error
from webemu.rl import gates
from webemu.rl.tasks.recipes import values
from webemu.rl.tasks.recipes.parsed_page import PAGE, PageFact, ParsedPage

MAX_CHARACTERS = 400_000
"""Largest number of characters of a document that is parsed."""
_QUESTION_WORDS_TEXT = """
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
QUESTION_WORDS = {
    name: asks.strip() for name, _, asks in (line.partition(" ") for line in _QUESTION_WORDS_TEXT.strip().splitlines())
}
"""Question words by property of schema.org or Open Graph, in lower case."""
_MIN_DIGITS = 3
"""Smallest number of digits. Shorter numbers are on most pages, with another meaning."""
_QUOTED_LINE = re.compile(r"@\w|^[—|]")
"""Lines with words of others, which the page only displays."""
_NOT_PUBLICATION = re.compile(
    rf"{_QUOTED_LINE.pattern}|\b(?:modified|updated|edited|changed|revised|version|checked)\b", re.I
)
_NESTED = frozenset("offers aggregaterating address location isbn".split())
_THING_TYPES = re.compile(
    r"article|posting|book|product|event|person|organi[sz]ation|place|business|movie|recipe|application|creativework"
    r"|album|recording|restaurant|hotel|store|job|course|dataset|scholarly|report|review|video|webpage|game|episode"
    r"|series|library|school|museum",
    re.IGNORECASE,
)


def find_declared(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield facts about the thing that the page is about. A property with two values is skipped."""
    html = parsed.html
    if len(html) > MAX_CHARACTERS or not re.search(
        r"ld\+json|itemprop=|property=[\"']?(?:og|article|book|product):", html
    ):
        parsed.skip("nothing declared")
        return
    values_by_property: dict[str, set[str]] = {}
    for thing in _declared_things(html, parsed.page.url):
        for name, value in _iterate_properties(thing):
            name = {"published_time": "datepublished", "modified_time": "datemodified"}.get(name, name)
            values_by_property.setdefault(name, set()).add(values.clean(value)[: 10 if "date" in name else None])
    # A system that sets both to the same day knows only one of them.
    if values_by_property.get("datemodified") == values_by_property.get("datepublished"):
        values_by_property.pop("datemodified", None)
    for name, property_values in values_by_property.items():
        if len(property_values) > 1:
            parsed.skip("declared twice")
        elif (fact := _make_fact(parsed, name, property_values.pop())) is not None:
            yield fact
        else:
            parsed.skip("not shown")


def _declared_things(html: str, url: str) -> list[dict[str, object]]:
    """Return the properties of each thing declared at the top level, in all three syntaxes.

    Raises:
        EmulatorError: `extruct` is not installed.
    """
    try:
        from extruct.jsonld import JsonLdExtractor  # optional, and slow to import: it loads RDFa, too
        from extruct.opengraph import OpenGraphExtractor
        from extruct.w3cmicrodata import MicrodataExtractor
    except ImportError as error:
        raise missing_package_error("the recipe `find_declared`", ["extruct"]) from error

    extracted: list[object] = []
    for syntax in (JsonLdExtractor(), MicrodataExtractor(add_html_node=False), OpenGraphExtractor()):
        with suppress(Exception):  # the libraries raise all kinds of errors on malformed data
            extracted += syntax.extract(html, base_url=url)
    graphs = [inner for one in extracted if isinstance(one, dict) for inner in _as_list(one.get("@graph"))]
    things = [one for one in [*extracted, *graphs] if isinstance(one, dict)]
    open_graph = [dict(one["properties"]) for one in things if "namespace" in one]
    microdata = [one["properties"] for one in things if isinstance(one.get("properties"), dict) and _is_thing(one)]
    json_ld = [one for one in things if "@type" in one and _is_thing(one)]
    return [*json_ld, *microdata, *open_graph]


def _is_thing(thing: Mapping[str, object]) -> bool:
    """True if the type of the object is one whose properties are asked for."""
    return bool(_THING_TYPES.search(" ".join(map(str, _as_list(thing.get("@type") or thing.get("type"))))))


def _iterate_properties(thing: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of the known properties, including those of nested offers, ratings and addresses."""
    for key, value in thing.items():
        name = str(key).rpartition(":")[2].rpartition("/")[2].lower()
        elements = _as_list(value)
        if name in _NESTED and len(elements) == 1 and isinstance(nested := elements[0], dict):
            yield from _iterate_properties(nested.get("properties") or nested)
        if name in QUESTION_WORDS and len(elements) == 1 and (text := _to_text(elements[0])):
            yield name, text


def _to_text(value: object) -> str:
    """Return a property's value as text, or the name of the thing that is its value; empty if it has neither."""
    if isinstance(value, dict):
        inner = value.get("properties") if isinstance(value.get("properties"), dict) else value
        value = inner.get("name") if isinstance(inner, dict) else ""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _make_fact(parsed: ParsedPage, name: str, value: str) -> PageFact | None:
    """Return the property as a question; None unless a line of the page shows its value and may mean it."""
    question_words = QUESTION_WORDS[name]
    kind, answers = values.classify_answer(value) or ("", ())
    if (" date " in question_words) != (kind == "date"):
        return None
    lines = [
        line
        for line in parsed.lines
        if not (_QUOTED_LINE if "modified" in question_words else _NOT_PUBLICATION).search(line)
    ]
    for line in sorted(lines, key=len) if kind != "number" or len(value) >= _MIN_DIGITS else ():
        if any(gates.contains_answer(line, answer) for answer in answers):
            return PageFact(f"According to {PAGE}, {question_words}?", answers, kind, line, answers[0])
    return None


def _as_list(value: object) -> list[object]:
    """Return a value as a list; None is the empty list."""
    return value if isinstance(value, list) else [] if value is None else [value]
