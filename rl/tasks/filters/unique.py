"""Whether another page of the index states another answer.

Two things are looked for, and no others. A *rival value*: the quote's words before its value are taken for a label; a
page of the same title (what the site adds and brackets aside) that gives this label another value of the same form.
A *rival page*, where the answer is a page or its name and the question is of the quote: another page that has it.
"""

from __future__ import annotations

import asyncio
import re

from webemu.agent_client import observation_parsing
from webemu.emulator import urls
from webemu.rl.gates import classify_form
from webemu.rl.tasks.cached_client import Found, Shown
from webemu.rl.tasks.filters.filter import Means, Verdict, untold
from webemu.rl.tasks.filters.quote import flat
from webemu.rl.tasks.phrases import content, quoted
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import is_exact_match

FEWEST, ASKED = 4, 0.5
"""A question is of a quote that has so many words, and so many of them stand in it."""
FIRST, READ = 20, 5
"""Results that are looked at, and pages that are opened of them."""
_SITE = re.compile(r"\s+[-–—|·]\s+")
_CELL = re.compile(r"[|\t\n:]")


async def unique(task: Task, means: Means) -> Verdict:
    """No other page states a rival value or has the quote; a graph that proves the answer lets rivals stand."""
    if task.answer_type == "report":
        return untold("says nothing of reports")
    look = _rival_pages if task.answer_type in ("title", "url") else _rival_values
    told = await asyncio.gather(*(look(task, one, means) for one in task.evidence if one.quote))
    rivals = [rival for found in told if found is not None for rival in found]
    if rivals and task.recipe not in means.proven:
        return {"ok": False, "rivals": rivals}
    if all(found is None for found in told):
        return untold("no quote says what its value is of")
    return {"ok": True, **({"rivals": rivals} if rivals else {})}


async def _rival_values(task: Task, one: Evidence, means: Means) -> list[dict[str, str]] | None:
    """Pages with another value; None where the quote has no label."""
    page = await means.web.page(one.url)
    subject = _SITE.split(page.title)[0].strip() if page else ""
    accepted = (one.value or task.answers[0], *(task.answers if one is task.evidence[-1] else ()))
    label = label_of(one.quote, next((value for value in accepted if value in one.quote), ""), subject)
    if not label or not subject:
        return None
    found = await asyncio.gather(means.web.search(task.question), means.web.search(f"{subject} {label}"))
    own = {evidence.url for evidence in task.evidence}
    near = [hit for hits in found for hit in hits[:FIRST] if hit.url not in own and _is_meant(hit.url, one, task)]
    alike = [hit for hit in near if _is_named(hit.title, subject, task.question)]
    pages = await _opened(alike, means)
    stated = [(page.url, _stated(page.text, label)) for page in pages]
    kind = classify_form(accepted[0])
    return [
        {"url": url, "value": text}
        for url, text in stated
        if text and classify_form(text) == kind and not is_exact_match(text, accepted)
    ]


async def _rival_pages(task: Task, one: Evidence, means: Means) -> list[dict[str, str]] | None:
    """Pages that have the quote and are neither the evidence nor of an accepted name; None where the question is not
    of the quote."""
    wanted, asked = flat(one.quote), set(content(task.question))
    words = content(wanted)
    if len(words) < FEWEST or sum(word in asked for word in words) < ASKED * len(words):
        return None
    page, own = await means.web.page(one.url), {one.url, *task.answers}
    if page is None or wanted in flat(page.title):  # a title is on every page that lists its own
        return None
    hits = [hit for hit in await means.web.search(wanted[:300]) if hit.url not in own and _is_meant(hit.url, one, task)]
    pages = await _opened(hits, means)
    others = [page for page in pages if wanted in flat(page.text) and not _is_accepted(page, task)]
    return [{"url": page.url, "title": page.title} for page in others]


async def _opened(hits: list[Found], means: Means) -> list[Shown]:
    distinct = list(dict.fromkeys(hit.url for hit in hits))[:READ]
    return [page for page in await asyncio.gather(*map(means.web.page, distinct)) if page is not None]


def _is_accepted(page: Shown, task: Task) -> bool:
    return any(
        observation_parsing.has_title(page.title, answer) or is_exact_match(page.title, (answer,))
        for answer in task.answers
    )


def _is_meant(url: str, one: Evidence, task: Task) -> bool:
    """Whether a page is on the site that the question names, if it names that of the evidence."""
    site = _site(one.url)
    return site not in task.question.casefold() or _site(url) == site


def _site(url: str) -> str:
    return urls.split_domain(urls.host_of(url))[0]


def label_of(quote: str, value: str, subject: str) -> str:
    """What a quote says its value is of: the cell before it, else up to three words of the sentence before it that
    are not the subject's. Empty where there is nothing before it, or no value."""
    before = quote.partition(value)[0] if value and value in quote else ""
    if not before.strip():
        return ""
    if before.rstrip()[-1] in "|:\t\n" or "\n" in before[-3:]:
        return _CELL.split(before.rstrip(" |:\t\n"))[-1].strip()
    own = set(content(subject))
    return " ".join([word for word in content(_CELL.split(before)[-1]) if word not in own][-3:])


def _stated(text: str, label: str) -> str:
    found = observation_parsing.find_infobox_value(text, label) or observation_parsing.find_in_sentence(text, label)
    return found.text.partition(" | ")[0] if found else ""


def _is_named(title: str, subject: str, question: str) -> bool:
    """Whether a page is of the same title, or of the same name where the question does not say which one it means."""
    bare, bracket, _ = subject.partition(" (")
    if (bracket and subject in question) or any(name.startswith(subject) for name in quoted(question)):
        return observation_parsing.has_title(title, subject)
    return observation_parsing.has_title(title, bare) or observation_parsing.is_namesake(title, bare)
