"""Oracle: knows the gold answer and still does the work. It searches for each page of the evidence, or follows a link
to it, and gives an accepted answer. It is the upper bound, and the teacher of the first steps (`webemu data sft`).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from webemu.rl.gates import form, holds, says
from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt
from webemu.rl.record import key
from webemu.rl.tasks import Evidence
from webemu.rl.verify import normalise

TRIES = 3
"""Searches for one page before it is opened by its URL."""
WINDOWS = 8
"""Windows of one page that are read."""
QUOTED = 12
"""Words of a quote that make a query."""
CITED = 2
"""Pages that a short answer cites."""


async def oracle(attempt: Attempt) -> None:
    """Play an attempt with knowledge of the gold answer and its evidence."""
    task = attempt.task
    for reply in task.user:
        await attempt.act("ask_user", question=f"What about {reply.words[0]}?")
    if task.answer_type == "none" and not task.evidence:
        await _search_in_vain(attempt)
    shown = await _read_all(attempt)
    if task.answer_type == "report":
        answer, cited = _report(task.evidence), list(shown)
    else:
        answer = task.answers[0]
        saying = [url for url, text in shown.items() if any(says(text, one) for one in task.answers)]
        cited = (saying or list(shown)[-1:])[:CITED]
    if not attempt.done:
        await attempt.act("finish", answer=answer, citations=cited)


async def _search_in_vain(attempt: Attempt) -> None:
    """Search twice in different words, which is required before "not found" is believed."""
    words = normalise(attempt.question).split()
    for query in (attempt.question, " ".join(words[len(words) // 2 :])):
        await attempt.act("search", query=query)


async def _read_all(attempt: Attempt) -> dict[str, str]:
    """Return the text that each page of the evidence showed, by URL, in order. Each page is read until it shows its
    facts.
    """
    task = attempt.task
    shown: dict[str, str] = {}
    pages = list(dict.fromkeys(one.url for one in task.evidence))
    for number, url in enumerate(pages):
        wanted = [one.value or one.quote for one in task.evidence if one.url == url]
        if url == pages[-1] and task.answer_type not in ("none", "report") and not any(wanted):
            wanted = [task.answers[0]]
        first = next(place for place, one in enumerate(task.evidence) if one.url == url)
        link = await _reached(attempt, first, len(pages) - number)
        shown[url] = await _read(attempt, link, url, [one for one in wanted if one])
    return shown


async def _read(attempt: Attempt, link: str, url: str, wanted: list[str]) -> str:
    """Open a page and read on, or search within it, until all of the wanted texts were shown; return what was shown."""
    text, following = "", None
    for window in range(WINDOWS):
        if attempt.done or (window and (not following or all(says(text, one) for one in wanted))):
            break
        found = await (attempt.act("open", link=url, cursor=following) if following else attempt.act("open", link=link))
        text += "\n" + observation_parsing.plain(observation_parsing.page(found.text))
        following = observation_parsing.cursor(found.text)
    for one in wanted if following else ():
        if not attempt.done and not says(text, one):
            text += "\n" + observation_parsing.plain(
                observation_parsing.within((await attempt.act("find", pattern=one)).text)
            )
    return text


async def _reached(attempt: Attempt, number: int, pages: int) -> str:
    """Return a link id that leads to a page of the evidence, on the open page or after a search. If there is none, or
    the remaining calls are needed to open the remaining pages, return its URL.
    """
    one, tries = attempt.task.evidence[number], 0
    for query in ("", *_queries(attempt, number)):
        if query:
            # Keep one call for each page that still has to be opened.
            if tries == TRIES or attempt.done or attempt.episode.calls_left <= pages:
                break
            await attempt.act("search", query=query)
            tries += 1
        for name, url in attempt.episode.links.items():
            if key(url) == key(one.url):
                return name
    return one.url


def _queries(attempt: Attempt, number: int) -> Iterator[str]:
    """Yield queries for a page, the most natural one first, without repeating an earlier query of the attempt."""
    evidence = attempt.task.evidence
    one, name = evidence[number], _name(evidence[number])
    before = evidence[number - 1].value if number and form(evidence[number - 1].value) == "words" else ""
    known = normalise(
        " ".join([attempt.question, *(observation_parsing.plain(step.observation) for step in attempt.steps)])
    )
    candidates = (
        name if holds(known, normalise(name)) else "",
        before,
        attempt.question,
        name,
        " ".join(one.quote.split()[:QUOTED]),
    )
    asked = [dict(step.arguments).get("query") for step in attempt.steps if not isinstance(step.arguments, str)]
    yield from dict.fromkeys(query for query in candidates if query.strip() and query not in asked)


def _name(one: Evidence) -> str:
    """Return the name of a page according to the end of its URL."""
    end = unquote(urlsplit(one.url).path).rstrip("/").rpartition("/")[2].removesuffix(".html")
    return " ".join(end.replace("_", " ").replace("-", " ").split())


def _report(evidence: tuple[Evidence, ...]) -> str:
    """Return the quotes of the evidence as a report, each with the number of its page."""
    pages = list(dict.fromkeys(one.url for one in evidence))
    sentences = [f"{(one.quote or one.value).rstrip('. ')} [{pages.index(one.url) + 1}]." for one in evidence]
    return "\n".join(dict.fromkeys(sentences))
