"""Oracle: knows the gold answer and still does the work. It searches for each page of the evidence, or follows a link
to it, and gives an accepted answer. It is the upper bound, and the teacher of the first steps (`webemu data sft`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from webemu.rl.evidence import is_supported_by
from webemu.rl.gates import classify_form, contains_answer, contains_phrase
from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt
from webemu.rl.record import url_key
from webemu.rl.tasks import Evidence
from webemu.rl.tasks.phrases import find_names
from webemu.rl.user import list_topics
from webemu.rl.verify import normalise
from webemu.rl.views import strip_link_numbers
from webemu.rl.wording import relation_words

MAX_SEARCHES_PER_PAGE = 3
"""Searches for one page before it is opened by its URL."""
MAX_WINDOWS = 8
"""Windows of one page that are read."""
MAX_QUERY_WORDS = 12
"""Words of a quote that make a query."""
MAX_SEARCH_OVERLAP = 0.6
"""Share of common words (Jaccard) up to which the oracle takes two searches for different ones."""


async def play_with_gold(attempt: Attempt) -> None:
    """Play an attempt with knowledge of the gold answer and its evidence."""
    task = attempt.task
    for reply in task.user:
        await attempt.act("ask_user", question=f"What about the {list_topics(reply)[0]}?")
    if task.answer_type == "none" and not task.evidence:
        await _search_twice(attempt)
    text_by_url = await _read_evidence(attempt)
    if task.answer_type == "report":
        answer, citations = _write_report(task.evidence), list(text_by_url)
    else:
        answer = task.answers[0]
        citations = await _choose_citations(attempt, text_by_url)
    if not attempt.done:
        await attempt.act("finish", answer=answer, citations=[_page_id(attempt, url) for url in citations])


def _page_id(attempt: Attempt, url: str) -> str:
    """Return the id of an opened page, such as `p1`, which a learner can copy even where no URL is shown; for a page
    that was not opened the URL.
    """
    pages = attempt.episode.opened_pages.items()
    return next((name for name, opened_url in pages if url_key(opened_url) == url_key(url)), url)


async def _choose_citations(attempt: Attempt, text_by_url: Mapping[str, str]) -> list[str]:
    """Return the last page that bears the answer, as rewards see it; if none does, the last that showed it, else the
    last of all.
    """
    record = await attempt.record()
    bearing = [url for url in text_by_url if is_supported_by(record, url)]
    answers = attempt.task.answers
    showing = [url for url, text in text_by_url.items() if any(contains_answer(text, gold) for gold in answers)]
    return (bearing or showing or list(text_by_url))[-1:]


async def _search_twice(attempt: Attempt) -> None:
    """Search twice in different words, which is required before "not found" is believed."""
    words = normalise(attempt.question).split()
    names = find_names(attempt.question)
    candidates = (" ".join(names), " ".join(words[len(words) // 2 :]), *(name.split()[0] for name in names))
    different = [one for one in candidates if one and _overlap(one, attempt.question) <= MAX_SEARCH_OVERLAP]
    for query in (attempt.question, *different[:1]):
        await attempt.act("search", query=query)


def _overlap(query: str, other: str) -> float:
    """Return the share of common words of two searches, small words left out."""
    words, other_words = (relation_words(normalise(text)) for text in (query, other))
    return len(words & other_words) / max(1, len(words | other_words))


async def _read_evidence(attempt: Attempt) -> dict[str, str]:
    """Return the text that each page of the evidence showed, by URL, in order. Each page is read until it shows its
    facts.
    """
    task = attempt.task
    text_by_url: dict[str, str] = {}
    pages = list(dict.fromkeys(one.url for one in task.evidence))
    for number, url in enumerate(pages):
        pieces = [one for one in task.evidence if one.url == url]
        # A value alone may stand elsewhere on the page, where it says something else.
        expected_texts = list(dict.fromkeys(text for one in pieces for text in (one.value, one.quote) if text))
        if url == pages[-1] and task.answer_type not in ("none", "report") and not any(expected_texts):
            expected_texts = [task.answers[0]]
        first_position = next(position for position, one in enumerate(task.evidence) if one.url == url)
        link = await _find_link(attempt, first_position, len(pages) - number)
        text_by_url[url] = await _read_page(attempt, link, url, expected_texts)
    return text_by_url


async def _read_page(attempt: Attempt, link: str, url: str, expected_texts: list[str]) -> str:
    """Open a page and read on, or search within it, until all of the wanted texts were shown; return what was shown."""
    text, next_cursor = "", None
    for window in range(MAX_WINDOWS):
        if attempt.done or (
            window and (not next_cursor or all(contains_answer(text, expected) for expected in expected_texts))
        ):
            break
        observation = await (
            attempt.act("open", link=url, cursor=next_cursor) if next_cursor else attempt.act("open", link=link)
        )
        text += "\n" + strip_link_numbers(observation_parsing.parse_page_text(observation.text))
        next_cursor = observation_parsing.parse_next_cursor(observation.text)
    for expected in expected_texts if next_cursor else ():
        if not attempt.done and not contains_answer(text, expected):
            text += "\n" + strip_link_numbers(
                observation_parsing.unwrap((await attempt.act("find", pattern=expected)).text)
            )
    return text


async def _find_link(attempt: Attempt, number: int, pages: int) -> str:
    """Return a link id that leads to a page of the evidence, on the open page or after a search. If there is none, or
    the remaining calls are needed to open the remaining pages, return its URL.
    """
    evidence, searches = attempt.task.evidence[number], 0
    for query in ("", *_candidate_queries(attempt, number)):
        if query:
            # Keep one call for each page that still has to be opened.
            if searches == MAX_SEARCHES_PER_PAGE or attempt.done or attempt.episode.calls_left <= pages:
                break
            await attempt.act("search", query=query)
            searches += 1
        for name, url in attempt.episode.links.items():
            if url_key(url) == url_key(evidence.url):
                return name
    return evidence.url


def _candidate_queries(attempt: Attempt, number: int) -> Iterator[str]:
    """Yield queries for a page, the most natural one first, without repeating an earlier query of the attempt."""
    evidence = attempt.task.evidence
    current, name = evidence[number], _page_name(evidence[number])
    previous_value = (
        evidence[number - 1].value if number and classify_form(evidence[number - 1].value) == "words" else ""
    )
    seen_text = normalise(
        " ".join([attempt.question, *(strip_link_numbers(step.observation) for step in attempt.steps)])
    )
    candidates = (
        name if contains_phrase(seen_text, normalise(name)) else "",
        previous_value,
        attempt.question,
        name,
        " ".join(current.quote.split()[:MAX_QUERY_WORDS]),
    )
    past_queries = [dict(step.arguments).get("query") for step in attempt.steps if not isinstance(step.arguments, str)]
    yield from dict.fromkeys(query for query in candidates if query.strip() and query not in past_queries)


def _page_name(evidence: Evidence) -> str:
    """Return the name of a page according to the end of its URL."""
    last_segment = unquote(urlsplit(evidence.url).path).rstrip("/").rpartition("/")[2].removesuffix(".html")
    return " ".join(last_segment.replace("_", " ").replace("-", " ").split())


def _write_report(evidence: tuple[Evidence, ...]) -> str:
    """Return the quotes of the evidence as a report, each with the number of its page."""
    pages = list(dict.fromkeys(one.url for one in evidence))
    sentences = [f"{(one.quote or one.value).rstrip('. ')} [{pages.index(one.url) + 1}]." for one in evidence]
    return "\n".join(dict.fromkeys(sentences))
