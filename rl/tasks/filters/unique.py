"""Filter against tasks to which another page of the index gives another answer.

It looks for two things only. A *rival value*: the words of the quote before its value are taken as a label, and a page
of the same title (without the site's name and disambiguators) gives this label another value of the same form. A
*rival page*, if the answer is a page or its title and the question paraphrases the quote: another page with the quote.
"""

from __future__ import annotations

import asyncio
import re

from webemu.agent_client import observation_parsing
from webemu.emulator import urls
from webemu.rl.gates import classify_form
from webemu.rl.tasks.cached_client import PageText, Result
from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.filters.quote import collapse_spaces
from webemu.rl.tasks.phrases import content_words, find_quotations
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import is_exact_match

MIN_QUOTE_WORDS, MIN_SHARED_SHARE = 4, 0.5
"""A question paraphrases a quote of at least this many content words if it has at least this share of them."""
RESULTS_PER_SEARCH, MAX_PAGES_OPENED = 20, 5
"""Number of results per search that are looked at, and number of pages that are opened."""
_SITE_SEPARATOR = re.compile(r"\s+[-–—|·]\s+")
_CELL_SEPARATOR = re.compile(r"[|\t\n:]")


async def check_unique(task: Task, context: FilterContext) -> Verdict:
    """Reject a task if another page states a rival value or has the quote.

    Rivals of a recipe whose answers a graph proves are reported but do not reject the task.
    """
    if task.answer_type == "report":
        return undecided("not checked for reports")
    find_rivals = _find_rival_pages if task.answer_type in ("title", "url") else _find_rival_values
    rivals_by_quote = await asyncio.gather(*(find_rivals(task, one, context) for one in task.evidence if one.quote))
    rivals = [rival for quote_rivals in rivals_by_quote if quote_rivals is not None for rival in quote_rivals]
    if rivals and task.recipe not in context.proven:
        return {"ok": False, "rivals": rivals}
    if all(quote_rivals is None for quote_rivals in rivals_by_quote):
        return undecided("no quote has a label for its value")
    return {"ok": True, **({"rivals": rivals} if rivals else {})}


async def _find_rival_values(task: Task, piece: Evidence, context: FilterContext) -> list[dict[str, str]] | None:
    """Return pages with another value; None if the quote has no label."""
    page = await context.web.get_page(piece.url)
    subject = _SITE_SEPARATOR.split(page.title)[0].strip() if page else ""
    accepted = (piece.value or task.answers[0], *(task.answers if piece is task.evidence[-1] else ()))
    label = find_label(piece.quote, next((value for value in accepted if value in piece.quote), ""), subject)
    if not label or not subject:
        return None
    result_lists = await asyncio.gather(context.web.search(task.question), context.web.search(f"{subject} {label}"))
    # A page of the evidence may state several values; it is no rival of itself.
    evidence_urls = {evidence.url for evidence in task.evidence}
    candidates = [
        hit
        for hits in result_lists
        for hit in hits[:RESULTS_PER_SEARCH]
        if hit.url not in evidence_urls and _is_on_named_site(hit.url, piece, task)
    ]
    same_name_hits = [hit for hit in candidates if _has_same_name(hit.title, subject, task.question)]
    pages = await _open_pages(same_name_hits, context)
    page_values = [(page.url, _find_value(page.text, label)) for page in pages]
    # Another form (a name instead of a number) answers another question.
    answer_form = classify_form(accepted[0])
    return [
        {"url": url, "value": text}
        for url, text in page_values
        if text and classify_form(text) == answer_form and not is_exact_match(text, accepted)
    ]


async def _find_rival_pages(task: Task, piece: Evidence, context: FilterContext) -> list[dict[str, str]] | None:
    """Return pages with the quote that are neither evidence nor titled like an accepted answer.

    Returns None if the question does not paraphrase the quote, or if the quote is part of the page's title.
    """
    quote_text, question_words = collapse_spaces(piece.quote), set(content_words(task.question))
    quote_words = content_words(quote_text)
    if len(quote_words) < MIN_QUOTE_WORDS or sum(
        word in question_words for word in quote_words
    ) < MIN_SHARED_SHARE * len(quote_words):
        return None
    page, accepted_urls = await context.web.get_page(piece.url), {piece.url, *task.answers}
    if page is None or quote_text in collapse_spaces(page.title):  # every list that links to the page repeats its title
        return None
    hits = [
        hit
        for hit in await context.web.search(quote_text[:300])
        if hit.url not in accepted_urls and _is_on_named_site(hit.url, piece, task)
    ]
    pages = await _open_pages(hits, context)
    rival_pages = [page for page in pages if quote_text in collapse_spaces(page.text) and not _is_accepted(page, task)]
    return [{"url": page.url, "title": page.title} for page in rival_pages]


async def _open_pages(hits: list[Result], context: FilterContext) -> list[PageText]:
    """Return the pages of the first distinct results that are served."""
    distinct = list(dict.fromkeys(hit.url for hit in hits))[:MAX_PAGES_OPENED]
    return [page for page in await asyncio.gather(*map(context.web.get_page, distinct)) if page is not None]


def _is_accepted(page: PageText, task: Task) -> bool:
    """True if the page's title is an accepted answer."""
    return any(
        observation_parsing.has_title(page.title, answer) or is_exact_match(page.title, (answer,))
        for answer in task.answers
    )


def _is_on_named_site(url: str, piece: Evidence, task: Task) -> bool:
    """True unless the question names the site of the evidence and the URL is on another site."""
    site = _registrable_domain(piece.url)
    return site not in task.question.casefold() or _registrable_domain(url) == site


def _registrable_domain(url: str) -> str:
    """Return the registrable domain of a URL."""
    return urls.split_domain(urls.host_of(url))[0]


def find_label(quote: str, value: str, subject: str) -> str:
    """Return the label of a value in a quote: the cell before it, or the last three content words before it in its
    sentence that are not part of the subject. Empty if nothing stands before the value, or the quote does not have it.
    """
    before = quote.partition(value)[0] if value and value in quote else ""
    if not before.strip():
        return ""
    # A table row or a list entry: the label is a cell of its own.
    if before.rstrip()[-1] in "|:\t\n" or "\n" in before[-3:]:
        return _CELL_SEPARATOR.split(before.rstrip(" |:\t\n"))[-1].strip()
    subject_words = set(content_words(subject))
    return " ".join(
        [word for word in content_words(_CELL_SEPARATOR.split(before)[-1]) if word not in subject_words][-3:]
    )


def _find_value(text: str, label: str) -> str:
    """Return the value that a page gives a label in a table or a sentence; empty if it gives none."""
    match = observation_parsing.find_infobox_value(text, label) or observation_parsing.find_in_sentence(text, label)
    return match.text.partition(" | ")[0] if match else ""


def _has_same_name(title: str, subject: str, question: str) -> bool:
    """True if the page has the subject's title, or its name if the question does not say which bearer of the name it
    means.
    """
    bare_name, disambiguator, _ = subject.partition(" (")
    # The question names this bearer of the name, so that other bearers are no rivals.
    if (disambiguator and subject in question) or any(name.startswith(subject) for name in find_quotations(question)):
        return observation_parsing.has_title(title, subject)
    return observation_parsing.has_title(title, bare_name) or observation_parsing.is_namesake(title, bare_name)
