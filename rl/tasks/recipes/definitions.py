"""Definitions reversed: the question quotes what a page says about a thing, and the answer is the name of the thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.recipes import grid, prose, values
from webemu.rl.tasks.recipes.parsed_page import PAGE, PageFact, ParsedPage
from webemu.rl.tasks.recipes.rows import label_rejection_reason

MIN_WORDS, MAX_WORDS = 6, 40
"""Smallest and largest number of words in a definition."""
UNIQUE_PREFIX_WORDS = 7
"""Number of words at the beginning of a definition that no other page may have. If two definitions differ only later,
the beginning is a phrase that the site uses everywhere.
"""
_KIND = (
    r"(?: (?P<kind>(?:header |QML |widget |base |abstract |template )?(?:class|module|function|library|package|command"
    r"|utility|program|type|method|header|file|element|namespace|macro|option|protocol|service|tool|structure|interface"
    r"|object|widget|plugin|extension|driver|property|directive|statement|operator|format)))?"
)
_VERB = (
    r"(?P<verb>is|are|was|were|provides|returns|represents|implements|describes|defines|holds|contains|computes|creates"
    r"|allows|enables|handles|manages|offers|converts|displays|draws|specifies|gives|performs|stores)"
)
# Words that documentation adds to the name of a thing in its title.
_TITLE_SUFFIX = re.compile(
    r"(?: \((?:class|module|C\+\+|Java|software)\))?(?: (?:Class|Module|Struct|QML Type|Reference|Template))*$"
)
_SECTION_NUMBER = re.compile(r"^(?:\d+\.)*\d+\.? ")


def find_definitions(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield the definition of the thing that the page is named after, and those of the terms in its lists."""
    yield from _define_subject(parsed)
    yield from _define_terms(parsed)


def _define_subject(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield the definition of the page's subject, if one of its first ten sentences is one."""
    name = _TITLE_SUFFIX.sub("", _SECTION_NUMBER.sub("", parsed.short_title))
    if not values.is_name(name):
        parsed.skip("title is no name")
        return
    pattern = re.compile(rf"(?:The |An? )?{re.escape(name)}{_KIND} {_VERB} (?P<rest>.+)\.", re.IGNORECASE)
    matches = [
        (opening_sentence, match)
        for opening_sentence in parsed.sentences[:10]
        if (match := pattern.fullmatch(opening_sentence))
    ]
    if not matches:
        parsed.skip("no definition")
        return
    sentence, match = matches[0]
    if reason := _rejection_reason(match["rest"], match["verb"], parsed):
        parsed.skip(reason)
        return
    answers = tuple(dict.fromkeys([name, parsed.short_title]))
    yield PageFact(_build_question(match, parsed.page.host), answers, "name", sentence, name)


def _build_question(match: re.Match[str], host: str) -> str:
    """Return the question for the thing that a sentence defines."""
    host, predicate = host.removeprefix("www."), match["rest"].replace('"', "'")
    if match["verb"] in ("is", "are", "was", "were"):
        return f'What is described on {host} as "{predicate}"?'
    return f'Which {match["kind"] or "thing"} described on {host} "{match["verb"]} {predicate}"?'


def _define_terms(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield the definitions in lists of terms."""
    # Infoboxes are no definitions; `find_key_values` asks for them.
    for box in grid.read_tables(parsed.tree, parsed.skip):
        if not isinstance(box, grid.KeyValuePairs) or box.is_table:
            continue
        for term, text in box.rows:
            definition = prose.split_sentences(text)[0].rstrip(".") if text else ""
            if not values.is_name(term) or label_rejection_reason(term):
                parsed.skip("term is no name")
            elif reason := _rejection_reason(definition, "", parsed):
                parsed.skip(reason)
            elif parsed.text.count(definition) > 1:
                parsed.skip("definition said twice")
            elif quote := parsed.find_pair(term, text):
                question = f'Which term does {PAGE} explain as "{definition.replace(chr(34), chr(39))}"?'
                yield PageFact(question, (term,), "name", quote, term)
            else:
                parsed.skip("row not in text")


def _rejection_reason(predicate: str, verb: str, parsed: ParsedPage) -> str:
    """Return why the words do not identify the thing that they define; empty if they do."""
    if not MIN_WORDS <= len(predicate.split()) <= MAX_WORDS or not prose.is_english(predicate, 0.15):
        return "definition too short or long"
    if verb in ("is", "are", "was", "were") and not re.match(r"(?:an?|the|one of) ", predicate):
        return "no definition"
    if prose.refers_to_context(predicate) or re.match(r"(?:Described|Defined|Same|Alias|Synonym|Like|As)\b", predicate):
        return "definition points elsewhere"
    beginning = " ".join(predicate.split()[:UNIQUE_PREFIX_WORDS])
    return "" if parsed.crawl.find_phrase(beginning, 3) == [parsed.page.url] else "definition said elsewhere"
