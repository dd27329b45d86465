"""Atomic claims of a page: sentences that stand alone, each with the part that can be checked by string.

A claim is one only if `webemu.rl.longform`, which marks reports, finds its sentence supported by the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webemu.rl import longform
from webemu.rl.gates import contains_phrase
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import LONG
from webemu.rl.tasks.crawl import CrawlPage
from webemu.rl.tasks.recipes import prose
from webemu.rl.tasks.recipes.values import DATE, NUMBER, UNIT
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

FARTHEST = 20_000
"""Characters of a page that are read for claims: an agent reads no further without many turns."""
_QUANTITY = re.compile(rf"(?<![\w.,-])[$€£]?{NUMBER}\s?(?:thousand|million|billion|{UNIT})(?!\w)")
_YEAR, _WEEKDAY = re.compile(r"(?:1\d|20)\d\d"), re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")
_NAME = re.compile(r"[A-ZÀ-Þ][a-zß-ÿ’'-]{3,}(?<!ian)(?<!ean)(?<!ese)(?<!ish)")
"""A single word that may be a value: neither an abbreviation nor of which country."""
_ASIDE = re.compile(
    r"comment|review|rating|related|references|see also|notes|contact|author|share|subscri|newsletter|popular|trending",
    re.IGNORECASE,
)
"""Headings of what is not about the page's subject, or was written by its readers."""
_FIGURE = re.compile(rf"(?<![\w.,:/-]){NUMBER}(?![\w:/-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class Claim:
    aspect: str
    """The heading that it stands under; empty above the first."""
    quote: str
    value: str


def claims(page: CrawlPage, subject: str) -> Iterator[Claim]:
    """Of a page about a subject, each value once. Values that the subject gives away are none."""
    known, quotes, aspect = {normalise(subject)}, set[str](), ""
    headings = {" ".join(heading.split()) for heading in page.headings} - {""}
    for text in page.text[:FARTHEST].split("\n"):
        words = " ".join(text.split()).lstrip("•*-– ")
        if words in headings:
            aspect = "" if normalise(words) in known else words
        for quote in [] if _ASIDE.search(aspect) else prose.sentences(text):
            value = next((one for one in values(quote) if _is_new(one, quote, known)), "")
            if value and quote not in quotes and is_stated(quote, page.text):
                known.add(normalise(value))
                quotes.add(quote)
                yield Claim(aspect, quote, value)


def values(quote: str) -> Iterator[str]:
    """What of a sentence can be checked, as it stands there, the most telling first."""
    figures = [found[0] for found in _FIGURE.finditer(quote) if sum(map(str.isdigit, found[0])) > 2]
    named = (
        one for one in longform.find_names(quote) if not (quote.startswith(one) and re.search(r"\b(?:of|the)\b", one))
    )
    names = [one for one in named if one in quote and not _WEEKDAY.fullmatch(one)]
    yield from (found[0] for found in DATE.finditer(quote))
    yield from (found[0] for found in _QUANTITY.finditer(quote))
    yield from (one for one in figures if not _YEAR.fullmatch(one))
    yield from (one for one in names if " " in one)
    yield from (*(one for one in figures if _YEAR.fullmatch(one)), *(one for one in names if _NAME.fullmatch(one)))


def is_stated(quote: str, text: str) -> bool:
    """Whether a sentence, written and cited as it is, is one sentence that the page's text supports."""
    facts = longform.extract_facts(quote)
    alone = len(longform.split_sentences(f"{quote} [1]")) == 1
    return alone and bool(facts) and longform.is_in_text((text,), facts)


def written(evidence: tuple[Evidence, ...]) -> tuple[str, tuple[str, ...]]:
    """The hidden report: the claims' sentences, and the pages that they cite, in order."""
    urls = tuple(dict.fromkeys(one.url for one in evidence))
    said = (f"{one.quote.rstrip('.!? ')} [{urls.index(one.url) + 1}]." for one in evidence)
    return " ".join(said), urls


def is_reachable(task: Task, texts: Mapping[str, str]) -> bool:
    """Whether the hidden report earns all by the rewards' own law, where its pages were opened."""
    report, urls = written(task.evidence)
    opened = Request(1, 200, 0, 0, (), urls, frozenset(), False)
    shown = {url_key(url): (texts[url],) for url in urls}
    return LONG.score(EpisodeRecord(task, report, urls, (opened,), shown, {}, "finished")).reward == 1.0


def _is_new(value: str, quote: str, known: set[str]) -> bool:
    plain = normalise(value)
    return not any(contains_phrase(one, plain) for one in known) and longform.states_claim(
        normalise(quote), Evidence("", quote, value)
    )
