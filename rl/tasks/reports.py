"""Long-form tasks made without a model: the claims of a page, or of a page and pages that it links to, are the answer.

The question names the subject and its aspects, never the claims, and asks for a report with citations.
`webemu.rl.reports` scores it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.claims import Claim, find_claims, is_reachable, write_report
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes.parsed_page import parse_page
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

MIN_CLAIMS, MAX_CLAIMS = 4, 12
"""Smallest and largest number of claims in a report."""
MAX_CLAIMS_PER_ASPECT = 4
"""Largest number of claims of one aspect."""
MAX_ASPECTS, MAX_ASPECT_CHARACTERS = 5, 80
"""Largest number of aspects of a page, and of characters in one."""
MAX_PAGES = 3
"""Number of pages of a report over several pages, the first one included."""
MIN_CLAIMS_PER_PAGE = 2
"""Smallest number of claims from each of these pages."""
MAX_LINKS_TRIED = 12
"""Number of links that are tried."""
MAX_REPORTS_PER_PAGE = 3
"""Largest number of reports that a linked page may be part of; some pages are linked from everywhere."""
INSTRUCTIONS = (
    "Write plain sentences with names, dates and figures, and cite your sources behind each sentence as [1], [2] and so"
    " on, by their places among your citations."
)
"""Instructions at the end of each question."""


@dataclass(frozen=True, slots=True)
class PageClaims:
    """Page of a report with the claims to ask for."""

    page: CrawlPage
    subject: str
    """Name of the page in questions."""
    claims: list[Claim]


def generate_page_reports(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield tasks that ask for a report on the subject of one page."""
    crawl, recipe_name = sources.crawl, "report"
    for page in crawl.iterate_pages(f"{seed}:{recipe_name}"):
        if page_claims := _read_page_claims(crawl, page, recipe_name, seed, MIN_CLAIMS):
            yield from _yield_task(crawl, recipe_name, [page_claims])


def generate_linked_reports(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield tasks that ask for a report on the subjects of a page and of pages that it links to."""
    crawl, recipe_name = sources.crawl, "report-linked"
    use_counts: Counter[str] = Counter()
    for page in crawl.iterate_pages(f"{seed}:{recipe_name}"):
        first_page = _read_page_claims(crawl, page, recipe_name, seed, MIN_CLAIMS_PER_PAGE)
        if first_page is None:
            continue
        linked = _read_linked_pages(crawl, first_page, recipe_name, seed, use_counts)
        if not linked:
            crawl.skip_counts[recipe_name, "no linked page with claims"] += 1
        else:
            yield from _yield_task(crawl, recipe_name, [first_page, *linked])


def build_question(outlines: Sequence[tuple[str, str, Iterable[str]]]) -> str:
    """Return the question for subjects given as (subject, host, aspects)."""
    subjects = [
        f"“{subject}” as described on {host}{_describe_aspects(aspects)}" for subject, host, aspects in outlines
    ]
    return f"Write a report on {'; on '.join(subjects)}. {INSTRUCTIONS}"


def _describe_aspects(aspects: Iterable[str]) -> str:
    """Return the part of the question that lists the aspects; empty if there is only the text before the first
    heading.
    """
    descriptions = [f"“{one}”" if one else "what it is in general" for one in dict.fromkeys(aspects)]
    return "" if descriptions in ([], ["what it is in general"]) else f" (covering {', '.join(descriptions)})"


def _read_page_claims(crawl: Crawl, page: CrawlPage, recipe_name: str, seed: int, minimum: int) -> PageClaims | None:
    """Return a page with the claims to ask for; None, with the reason counted, if it is unfit or has too few."""
    parsed = parse_page(crawl, page, recipe_name)
    if isinstance(parsed, str):
        crawl.skip_counts[recipe_name, parsed] += 1
        return None
    chosen_claims = _choose_claims(list(find_claims(page, parsed.short_title)), f"{seed}:{page.url}")
    if len(chosen_claims) < minimum:
        crawl.skip_counts[recipe_name, "too few claims"] += 1
        return None
    return PageClaims(page, parsed.short_title, chosen_claims)


def _choose_claims(page_claims: list[Claim], seed: str) -> list[Claim]:
    """Return the claims of randomly chosen aspects, up to the limits, in the order of the page."""
    by_aspect: dict[str, list[Claim]] = {}
    for claim in page_claims:
        by_aspect.setdefault(claim.aspect, []).append(claim)
    aspects = [aspect for aspect in by_aspect if len(aspect) <= MAX_ASPECT_CHARACTERS]
    # Random aspects, but in the order of the page, so that tasks do not all ask for its beginning.
    random.Random(seed).shuffle(aspects)
    selected: list[Claim] = []
    for aspect in aspects[:MAX_ASPECTS]:
        selected += (
            by_aspect[aspect][:MAX_CLAIMS_PER_ASPECT]
            if len(selected) + min(MAX_CLAIMS_PER_ASPECT, len(by_aspect[aspect])) <= MAX_CLAIMS
            else []
        )
    return sorted(selected, key=page_claims.index)


def _read_linked_pages(
    crawl: Crawl, first_page: PageClaims, recipe_name: str, seed: int, use_counts: Counter[str]
) -> list[PageClaims]:
    """Return pages that the first one links to, with their claims, under names that differ. May be empty."""
    # Links of one or two characters are page numbers and footnotes.
    links = crawl.list_links(first_page.page)
    target_urls = dict.fromkeys(link.target for link in links if len(link.anchor) > 2)
    candidate_urls = [url for url in target_urls if use_counts[url] < MAX_REPORTS_PER_PAGE]
    random.Random(f"{seed}:{first_page.page.url}").shuffle(candidate_urls)
    linked_pages: list[PageClaims] = []
    for url in candidate_urls[:MAX_LINKS_TRIED]:
        page = crawl.find_page(url) if url != first_page.page.url else None
        page_claims = _read_page_claims(crawl, page, recipe_name, seed, MIN_CLAIMS_PER_PAGE) if page else None
        if page_claims and page_claims.subject not in (first_page.subject, *(other.subject for other in linked_pages)):
            linked_pages.append(page_claims)
            use_counts[url] += 1
        if len(linked_pages) == MAX_PAGES - 1:
            break
    return linked_pages


def _yield_task(crawl: Crawl, recipe_name: str, report_pages: list[PageClaims]) -> Iterator[Task]:
    """Yield the task about these pages; if there is none, count the reason."""
    page_claims = [(one.page, claim) for one in report_pages for claim in one.claims[: MAX_CLAIMS // len(report_pages)]]
    question_text = build_question(
        [(one.subject, one.page.host, (claim.aspect for claim in one.claims)) for one in report_pages]
    )
    evidence = tuple(Evidence(page.url, claim.quote, claim.value, page.digest) for page, claim in page_claims)
    task = build_checked_task(
        recipe_name, question_text, evidence, {one.page.url: one.page.text for one in report_pages}
    )
    if isinstance(task, Task):
        yield task
    else:
        crawl.skip_counts[recipe_name, task] += 1


def build_checked_task(
    recipe_name: str, question_text: str, evidence: tuple[Evidence, ...], texts: Mapping[str, str]
) -> Task | str:
    """Return a task whose claims are not given away by the question, each value once; or the reason why there is none.

    There is none if too few claims remain, or if the hidden report would not earn the full reward.
    """
    normalised_question = normalise(question_text)
    # Reversed, so that the first quote of each value wins.
    first_by_value = {
        normalise(one.value): one
        for one in reversed(evidence)
        if not contains_phrase(normalised_question, normalise(one.value))
    }
    selected = tuple(one for one in evidence if first_by_value.get(normalise(one.value)) is one)
    report, urls = write_report(selected)
    # The hidden report is the accepted answer: it shows what the full reward takes.
    task = Task("", question_text, (report,), selected, len(urls), recipe_name, "report")
    if len(selected) < MIN_CLAIMS or set(urls) != texts.keys():
        return "too few claims"
    return task if is_reachable(task, texts) else "report out of reach"


REPORTS = (
    Recipe("report", "crawl", generate_page_reports, "a page is the hidden report; its sentences are the claims"),
    Recipe(
        "report-linked", "crawl", generate_linked_reports, "a page and pages that it links to are the hidden report"
    ),
)
"""Recipes of the family `reports`."""
