"""Texts that the tools of an episode show: search results, windows of a page, matches. Pure; sanitising and delimiting
follow in `webemu.rl.sanitizing`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from webemu.agent_client.errors import WebError
from webemu.agent_client.tools import InvalidToolCall
from webemu.agent_client.types import PageAnswer, SearchAnswer

MAX_PAGE_CHARACTERS = 400_000
"""Characters of a page that are requested and kept."""
MAX_MATCHES, MATCH_CONTEXT_CHARACTERS = 10, 120
"""Occurrences that are shown, and characters of context on either side of each."""
_LINK_LINE = re.compile(r"\[(\d+)\] (\S+)")
_LINK_NUMBER = re.compile(r"\[\d+\]")
_LINK_ID = re.compile(r"\[?([rp]?)(\d{1,6})\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """Page that is open in an episode."""

    requested_url: str
    """URL that was requested."""
    url: str
    """URL at the end of the redirects."""
    title: str
    text: str
    """Text of the page, with links as [8]."""
    links: Mapping[str, str]
    """URL by link number."""
    status: int
    """HTTP status of the page."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """Part of a page as it is shown: where it is, its text, and how to read on."""

    head: str
    text: str
    tail: str


@dataclass(frozen=True, slots=True)
class Match:
    """Occurrence of a text in a page: its offset in characters, and the text around it."""

    start: int
    text: str


def parse_page(answer: PageAnswer) -> OpenPage:
    """Return the page in an answer of the format `links`, which lists the URLs of the links at its end."""
    text, _, link_section = answer.content.rpartition("\n\nLinks:\n")
    lines = [_LINK_LINE.fullmatch(line) for line in link_section.splitlines()]
    link_lines = [line for line in lines if line]
    # The page itself may contain the words "Links:"; then its last lines are not link lines.
    if not text or len(link_lines) != len(lines):
        text, link_lines = answer.content, []
    links = {one[1]: one[2] for one in link_lines}
    return OpenPage(answer.url, answer.final_url, answer.title, text, links, answer.status)


def cut_window(page: OpenPage, start: int, length: int) -> TextWindow:
    """Return the part of a page from character `start`, with its position and how to read on."""
    text, total = page.text[start : start + length], len(page.text)
    head = f"Page: {page.url}\n"
    if page.status >= 400:
        head += f"The site answered with status {page.status}.\n"
    if start or len(text) < total:
        head += f"Characters {start} to {start + len(text)} of {total}.\n"
    if not text:
        return TextWindow(head, "", "This page has no text." if not total else "The page ends before this place.")
    end = start + len(text)
    return TextWindow(head + "\n", text, "" if end >= total else f"\n\nThe page goes on: open it with cursor={end}.")


def format_titles(answer: SearchAnswer) -> str:
    """Return the titles of the results with their link ids, one on each line."""
    return (
        "\n".join(f"r{number} {_collapse_whitespace(result.title)}" for number, result in enumerate(answer.results, 1))
        or "nothing"
    )


def format_results(answer: SearchAnswer) -> str:
    """Return the results with link id, title, URL, date and snippet."""
    if not answer.results:
        return f"No results for: {_collapse_whitespace(answer.query)}"
    blocks = [
        f"Results for: {_collapse_whitespace(answer.query)}" + (f" (page {answer.page})" if answer.page > 1 else "")
    ]
    for number, result in enumerate(answer.results, 1):
        blocks.append(
            f"[r{number}] {_collapse_whitespace(result.title)}\n   {result.url} {result.date}\n   "
            f"{_collapse_whitespace(result.snippet)}"
        )
    return "\n\n".join([*blocks, *([f"More results: search with page={answer.page + 1}."] if answer.more else [])])


def find_matches(page: OpenPage, pattern: str) -> tuple[Match, ...]:
    """Return the first occurrences of a plain text in a page, ignoring case, each with its surroundings."""
    occurrences = re.finditer(re.escape(pattern), page.text, re.IGNORECASE)
    starts = [occurrence.start() for occurrence, _ in zip(occurrences, range(MAX_MATCHES), strict=False)]
    return tuple(
        Match(
            start, page.text[max(0, start - MATCH_CONTEXT_CHARACTERS) : start + len(pattern) + MATCH_CONTEXT_CHARACTERS]
        )
        for start in starts
    )


def format_matches(page: OpenPage, pattern: str, page_matches: tuple[Match, ...]) -> str:
    """Return the occurrences of a text in a page, one on each line."""
    if not page_matches:
        return f"{_collapse_whitespace(pattern)!r} does not occur in {page.url}."
    return f"In {page.url}:\n" + "\n".join(
        f"cursor={match.start}: {_collapse_whitespace(match.text)}" for match in page_matches
    )


def resolve_link(
    link: str, result_urls: tuple[str, ...], opened_urls: tuple[str, ...], links: Mapping[str, str]
) -> str:
    """Return the URL that a link id stands for; any other text is returned as a URL. `result_urls` are the URLs of the
    last results, `opened_urls` those of opened pages, `links` those on the open page.

    Raises: InvalidToolCall if the link id is unknown.
    """
    id_match = _LINK_ID.fullmatch(link.strip())
    if not id_match:
        return link.strip()
    if id_match[1] in ("p", "P"):
        if 1 <= int(id_match[2]) <= len(opened_urls):
            return opened_urls[int(id_match[2]) - 1]
        raise InvalidToolCall(f"There is no page p{int(id_match[2])}: {len(opened_urls)} were opened.")
    if id_match[1]:
        if 1 <= int(id_match[2]) <= len(result_urls):
            return result_urls[int(id_match[2]) - 1]
        raise InvalidToolCall(f"There is no result r{int(id_match[2])}: the last search shows {len(result_urls)}.")
    if id_match[2] in links:
        return links[id_match[2]]
    raise InvalidToolCall(f"There is no link {id_match[2]} on the page that is open. Results have ids such as r1.")


def strip_link_numbers(text: str) -> str:
    """Return the text without link numbers."""
    return _LINK_NUMBER.sub("", text)


def refusal_text(error: WebError) -> str:
    """Return the text that a model reads for a refusal of the session policy; empty for other errors."""
    return _REFUSAL_TEXTS.get(error.reason, "")


_REFUSAL_TEXTS = {
    "out-of-budget": "No more can be asked of the web. Call finish with what was found.",
    "rate-limited": "Too many requests. Try again, or look elsewhere.",
    "captcha": "This site wants to know whether you are a robot. Look elsewhere.",
}


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
