"""Long-form tasks whose question and claims a model proposes; string checks decide which claims are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.claims import MAX_CHARACTERS_READ, is_stated
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import CandidateRejected, ask_for_json, generate_tasks
from webemu.rl.tasks.model.passages import Passage, iterate_pages
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.reports import INSTRUCTIONS, MAX_CLAIMS, build_checked_task
from webemu.rl.tasks.task import Evidence, Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

RECIPE_NAME = "report-by-model"
"""Name of the recipe."""
MIN_CHARACTERS = 800
"""Smallest number of characters of a page."""


def generate_reports(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield tasks that ask for a report on the subject of a page."""
    crawl = sources.crawl
    long_pages = (
        passage
        for passage in iterate_pages(crawl, RECIPE_NAME, seed)
        if len(passage.page.text) >= MIN_CHARACTERS or _count_short_page(crawl)
    )
    return generate_tasks(sources, RECIPE_NAME, long_pages, partial(_make_report, crawl, seed))


def _count_short_page(crawl: Crawl) -> bool:
    """Count a page that is too short, and return False."""
    crawl.skip_counts[RECIPE_NAME, "short page"] += 1
    return False


async def _make_report(crawl: Crawl, seed: int, passage: Passage, endpoint: Endpoint) -> Task:
    """Return the task that the model makes of a page. Raises CandidateRejected if too few claims can be checked."""
    page = passage.page
    text = page.text[:MAX_CHARACTERS_READ]
    prompt = prompts.fill_prompt(prompts.REPORT, text, title=passage.subject, host=page.host)
    proposal = await ask_for_json(endpoint, prompt, "claims", f"{seed}:{page.url}")
    question = to_single_line(proposal.get("question"))
    checks.check_task_text(question, text)
    claims = proposal["claims"]
    proposed_claims = claims[: 2 * MAX_CLAIMS] if isinstance(claims, list) else []
    evidence = [claim for one in proposed_claims if (claim := _check_claim(crawl, page, one, text))]
    task = build_checked_task(
        RECIPE_NAME, f"{question} {INSTRUCTIONS}", tuple(evidence[:MAX_CLAIMS]), {page.url: page.text}
    )
    if isinstance(task, str):
        raise CandidateRejected(task)
    return task


def _check_claim(crawl: Crawl, page: CrawlPage, proposed: object, text: str) -> Evidence | None:
    """Return a proposed claim as evidence; None, with the reason counted, if the page does not confirm it."""
    try:
        fields = proposed if isinstance(proposed, dict) else {}
        quote, value = checks.find_quote(to_single_line(fields.get("quote")), text), to_single_line(fields.get("value"))
        checks.check_quote_states(quote, value)
        if not is_stated(quote, text):
            raise CandidateRejected("quote with nothing to look up")
        return Evidence(page.url, quote, value, page.digest)
    except CandidateRejected as reason:
        crawl.skip_counts[RECIPE_NAME, f"claim: {reason}"] += 1
        return None
