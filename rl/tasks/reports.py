"""Long-form tasks without a model: a page, or a page and some that it links to, is the hidden report.

The task names the subject and its aspects, never the claims, and asks for a cited synthesis (`webemu.rl.longform`
marks it).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.claims import Claim, claims, is_reachable, written
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes.parsed_page import read
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

FEWEST, MOST = 4, 12
"""Claims of a report."""
EACH = 4
"""Claims of one aspect at most."""
ASPECTS, LONGEST = 5, 80
"""Aspects of a page at most, and characters of one."""
LINKED = 3
"""Pages of a report over several, the first among them."""
FEWEST_EACH = 2
"""Claims of each of them."""
TRIED = 12
"""Links that are looked at."""
OFTEN = 3
"""Reports that a page stands in as one that was linked to: all pages link to some."""
HOW = (
    "Write plain sentences with names, dates and figures, and cite your sources behind each sentence as [1], [2] and so"
    " on, by their places among your citations."
)
Told = tuple[CrawlPage, str, list[Claim]]
"""A page, what it is called, and what it claims."""


def one_page(sources: Sources, seed: int) -> Iterator[Task]:
    """A report on a page's subject."""
    crawl, name = sources.crawl, "report"
    for page in crawl.pages(f"{seed}:{name}"):
        if told := _told(crawl, page, name, seed, FEWEST):
            yield from _counted(crawl, name, [told])


def linked_pages(sources: Sources, seed: int) -> Iterator[Task]:
    """A report on a page's subject and on those of pages that it links to."""
    crawl, name = sources.crawl, "report-linked"
    used: Counter[str] = Counter()
    for page in crawl.pages(f"{seed}:{name}"):
        first = _told(crawl, page, name, seed, FEWEST_EACH)
        if first is None:
            continue
        others = _others(crawl, first, name, seed, used)
        if not others:
            crawl.dropped[name, "no linked page with claims"] += 1
        else:
            yield from _counted(crawl, name, [first, *others])


def question(told: Sequence[tuple[str, str, Iterable[str]]]) -> str:
    """Of (subject, host, aspects): what is asked for."""
    subjects = [f"“{subject}” as described on {host}{_covering(aspects)}" for subject, host, aspects in told]
    return f"Write a report on {'; on '.join(subjects)}. {HOW}"


def _covering(aspects: Iterable[str]) -> str:
    shown = [f"“{one}”" if one else "what it is in general" for one in dict.fromkeys(aspects)]
    return "" if shown in ([], ["what it is in general"]) else f" (covering {', '.join(shown)})"


def _told(crawl: Crawl, page: CrawlPage, name: str, seed: int, fewest: int) -> Told | None:
    """A page with the claims that are asked for; None, and the reason counted, where it has none."""
    reading = read(crawl, page, name)
    if isinstance(reading, str):
        crawl.dropped[name, reading] += 1
        return None
    found = _chosen(list(claims(page, reading.head)), f"{seed}:{page.url}")
    if len(found) < fewest:
        crawl.dropped[name, "too few claims"] += 1
        return None
    return page, reading.head, found


def _chosen(found: list[Claim], seed: str) -> list[Claim]:
    """Whole aspects, drawn until there are enough claims, in the page's order."""
    by_aspect: dict[str, list[Claim]] = {}
    for claim in found:
        by_aspect.setdefault(claim.aspect, []).append(claim)
    aspects = [one for one in by_aspect if len(one) <= LONGEST]
    random.Random(seed).shuffle(aspects)
    chosen: list[Claim] = []
    for one in aspects[:ASPECTS]:
        chosen += by_aspect[one][:EACH] if len(chosen) + min(EACH, len(by_aspect[one])) <= MOST else []
    return sorted(chosen, key=found.index)


def _others(crawl: Crawl, first: Told, name: str, seed: int, used: Counter[str]) -> list[Told]:
    """Pages that the first one links to, about other things."""
    linked = dict.fromkeys(url for url, anchor in crawl.links(first[0]) if len(anchor) > 2)
    links = [url for url in linked if used[url] < OFTEN]
    random.Random(f"{seed}:{first[0].url}").shuffle(links)
    found: list[Told] = []
    for url in links[:TRIED]:
        page = crawl.page(url) if url != first[0].url else None
        told = _told(crawl, page, name, seed, FEWEST_EACH) if page else None
        if told and told[1] not in (first[1], *(other[1] for other in found)):
            found.append(told)
            used[url] += 1
        if len(found) == LINKED - 1:
            break
    return found


def _counted(crawl: Crawl, name: str, told: list[Told]) -> Iterator[Task]:
    """The task, if there is one; else why not is counted."""
    found = [(page, claim) for page, _, claims in told for claim in claims[: MOST // len(told)]]
    asked = question([(subject, page.host, (claim.aspect for claim in claims)) for page, subject, claims in told])
    evidence = tuple(Evidence(page.url, claim.quote, claim.value, page.digest) for page, claim in found)
    task = checked(name, asked, evidence, {page.url: page.text for page, _, _ in told})
    if isinstance(task, Task):
        yield task
    else:
        crawl.dropped[name, task] += 1


def checked(name: str, asked: str, evidence: tuple[Evidence, ...], texts: Mapping[str, str]) -> Task | str:
    """The task of what the question does not give away, each value once; or why there is none: too little is left, or
    the hidden report would not earn all."""
    given = normalise(asked)
    first = {
        normalise(one.value): one for one in reversed(evidence) if not contains_phrase(given, normalise(one.value))
    }
    kept = tuple(one for one in evidence if first.get(normalise(one.value)) is one)
    report, urls = written(kept)
    task = Task("", asked, (report,), kept, len(urls), name, "report")
    if len(kept) < FEWEST or set(urls) != texts.keys():
        return "too few claims"
    return task if is_reachable(task, texts) else "report out of reach"


REPORTS = (
    Recipe("report", "crawl", one_page, "a page is the hidden report; its sentences are the claims"),
    Recipe("report-linked", "crawl", linked_pages, "a page and pages that it links to are the hidden report"),
)
