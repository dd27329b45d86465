"""Atomic claims of a page: sentences that make sense alone, each with a part that can be checked by string comparison.

A sentence counts as a claim only if `webemu.rl.reports`, which scores them, finds that the page supports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webemu.rl.gates import contains_phrase
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.reports.assessment import AssessedStatement, CitedPage, ReportInput, assess
from webemu.rl.reports.facts import extract_facts, find_names
from webemu.rl.reports.scoring import states_claim
from webemu.rl.rewards import LONG
from webemu.rl.tasks.crawl import CrawlPage
from webemu.rl.tasks.recipes import prose
from webemu.rl.tasks.recipes.values import DATE, NUMBER, UNIT
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

MAX_CHARACTERS_READ = 20_000
"""Number of characters of a page that are searched for claims. An agent reads no further without many turns."""
_QUANTITY = re.compile(rf"(?<![\w.,-])[$€£]?{NUMBER}\s?(?:thousand|million|billion|{UNIT})(?!\w)")
_YEAR, _WEEKDAY = re.compile(r"(?:1\d|20)\d\d"), re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")
_NAME = re.compile(r"[A-ZÀ-Þ][a-zß-ÿ’'-]{3,}(?<!ian)(?<!ean)(?<!ese)(?<!ish)")
"""A single word that may be a value: no abbreviation and no adjective of a country."""
_OFF_TOPIC_HEADING = re.compile(
    r"comment|review|rating|related|references|see also|notes|contact|author|share|subscri|newsletter|popular|trending",
    re.IGNORECASE,
)
"""Headings of sections that are not about the page's subject, or that its readers wrote."""
_FIGURE = re.compile(rf"(?<![\w.,:/-]){NUMBER}(?![\w:/-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a page and the part of it that a report must state."""

    aspect: str
    """The heading above the sentence; empty before the first heading."""
    quote: str
    """The sentence, copied from the page."""
    value: str
    """The name, date or number in the quote that is checked."""


def find_claims(page: CrawlPage, subject: str) -> Iterator[Claim]:
    """Yield the claims of a page about a subject, each value once. Values that the subject already contains are
    skipped.
    """
    seen_values, quotes, aspect = {normalise(subject)}, set[str](), ""
    headings = {" ".join(heading.split()) for heading in page.headings} - {""}
    # Headings are lines of the text view like any other, so they are recognised by their words.
    for text in page.text[:MAX_CHARACTERS_READ].split("\n"):
        line = " ".join(text.split()).lstrip("•*-– ")
        if line in headings:
            aspect = "" if normalise(line) in seen_values else line
        # Comments, reviews and lists of links are no source, even on a page that is one.
        for quote in [] if _OFF_TOPIC_HEADING.search(aspect) else prose.find_sentences(text):
            value = next((one for one in checkable_values(quote) if _is_new(one, quote, seen_values)), "")
            if value and quote not in quotes and is_stated(quote, page.text):
                seen_values.add(normalise(value))
                quotes.add(quote)
                yield Claim(aspect, quote, value)


def checkable_values(quote: str) -> Iterator[str]:
    """Yield the parts of a sentence that can be checked, as written there, the most specific first: dates, quantities,
    other numbers, names of several words, then years and names of one word.
    """
    # A number of one or two digits is on too many pages to be checked.
    figures = [match[0] for match in _FIGURE.finditer(quote) if sum(map(str.isdigit, match[0])) > 2]
    name_candidates = (
        one for one in find_names(quote) if not (quote.startswith(one) and re.search(r"\b(?:of|the)\b", one))
    )
    names = [one for one in name_candidates if one in quote and not _WEEKDAY.fullmatch(one)]
    yield from (match[0] for match in DATE.finditer(quote))
    yield from (match[0] for match in _QUANTITY.finditer(quote))
    yield from (one for one in figures if not _YEAR.fullmatch(one))
    yield from (one for one in names if " " in one)
    yield from (*(one for one in figures if _YEAR.fullmatch(one)), *(one for one in names if _NAME.fullmatch(one)))


def is_stated(quote: str, text: str) -> bool:
    """True if the quote, cited as it stands, is one sentence with checkable facts that the page's text supports."""
    if not extract_facts(quote):
        return False
    # The grader splits reports into sentences by its own rules; a quote that it splits in two earns nothing.
    report = ReportInput(f"{quote.rstrip('.!? ')} [1].", "", 1, (CitedPage("1", "", (text,)),))
    return [one.status for one in assess(report)] == ["borne"]


def write_report(evidence: tuple[Evidence, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the hidden report (the sentences of the claims, with citation numbers) and the URLs that it cites, in
    order.
    """
    urls = tuple(dict.fromkeys(one.url for one in evidence))
    cited_sentences = (f"{one.quote.rstrip('.!? ')} [{urls.index(one.url) + 1}]." for one in evidence)
    return " ".join(cited_sentences), urls


def is_reachable(task: Task, texts: Mapping[str, str]) -> bool:
    """True if the hidden report earns the full reward for an agent that opened its pages. `texts` holds them by URL."""
    report, urls = write_report(task.evidence)
    # An episode as good as can be: one request showed all pages, and the report cites them.
    request = Request(1, 200, 0, 0, (), urls, frozenset(), False)
    page_texts = {url_key(url): (texts[url],) for url in urls}
    return LONG.score(EpisodeRecord(task, report, urls, (request,), page_texts, {}, "finished")).reward == 1.0


def _is_new(value: str, quote: str, seen_values: set[str]) -> bool:
    """True if no value in `seen_values` contains this one and the quote states it (`webemu.rl.reports.scoring`)."""
    normalised = normalise(value)
    statement = AssessedStatement(quote, "borne", (quote,))
    return not any(contains_phrase(one, normalised) for one in seen_values) and states_claim(
        statement, Evidence("", quote, value), ""
    )
