"""Knows the gold and does the work all the same: it searches for each page of the evidence, or follows a link to it,
and answers with what is accepted. The upper bound, and the teacher of the first steps (`webemu data sft`)."""

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
"""Searches for one page, before it is opened by its address."""
WINDOWS = 8
"""Parts that are read of one page."""
QUOTED = 12
"""Words of a quote that are searched for."""
CITED = 2


async def oracle(attempt: Attempt) -> None:
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
    """Twice in different words, as long as the web is asked at all before it is said not to know."""
    words = normalise(attempt.question).split()
    for query in (attempt.question, " ".join(words[len(words) // 2 :])):
        await attempt.act("search", query=query)


async def _read_all(attempt: Attempt) -> dict[str, str]:
    """What each page of the evidence showed, in order; every page is read once, until it says what is wanted of it."""
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
    """A link id that leads to a page of the evidence: of what is open, or of a search; its address where there is none,
    or where the searches that are left are needed for the pages that are."""
    one, tries = attempt.task.evidence[number], 0
    for query in ("", *_queries(attempt, number)):
        if query:
            if tries == TRIES or attempt.done or attempt.episode.calls_left <= pages:
                break
            await attempt.act("search", query=query)
            tries += 1
        for name, url in attempt.episode.links.items():
            if key(url) == key(one.url):
                return name
    return one.url


def _queries(attempt: Attempt, number: int) -> Iterator[str]:
    """What is searched for, that with which one would come upon the page first; nothing twice."""
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
    """What the end of an address calls the page."""
    end = unquote(urlsplit(one.url).path).rstrip("/").rpartition("/")[2].removesuffix(".html")
    return " ".join(end.replace("_", " ").replace("-", " ").split())


def _report(evidence: tuple[Evidence, ...]) -> str:
    """The quotes, each with the number of its page."""
    pages = list(dict.fromkeys(one.url for one in evidence))
    sentences = [f"{(one.quote or one.value).rstrip('. ')} [{pages.index(one.url) + 1}]." for one in evidence]
    return "\n".join(dict.fromkeys(sentences))
