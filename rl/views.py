"""Texts that the tools of an episode show: search results, windows of a page, matches. Pure; sanitising and delimiting
follow in `webemu.rl.sanitizing`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from webemu.agent_client.errors import WebError
from webemu.agent_client.tools import Misuse
from webemu.agent_client.types import PageAnswer, SearchAnswer

MOST = 400_000
"""Characters of a page that are requested and kept."""
MATCHES, AROUND = 10, 120
"""Occurrences that are shown, and characters of context on either side of each."""
_ADDRESS = re.compile(r"\[(\d+)\] (\S+)")
_MARK = re.compile(r"\[\d+\]")
_LINK_ID = re.compile(r"\[?([rp]?)(\d{1,6})\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Leaf:
    """Page that is open in an episode."""

    asked: str
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
class Window:
    """Part of a page as it is shown: where it is, its text, and how to read on."""

    head: str
    text: str
    tail: str


@dataclass(frozen=True, slots=True)
class Match:
    """Occurrence of a text in a page: its offset in characters, and the text around it."""

    start: int
    text: str


def leaf(answer: PageAnswer) -> Leaf:
    """Return the page in an answer of the format `links`, which lists the URLs of the links at its end."""
    text, _, below = answer.content.rpartition("\n\nLinks:\n")
    lines = [_ADDRESS.fullmatch(line) for line in below.splitlines()]
    found = [line for line in lines if line]
    # The page itself may contain the words "Links:"; then its last lines are not link lines.
    if not text or len(found) != len(lines):
        text, found = answer.content, []
    links = {one[1]: one[2] for one in found}
    return Leaf(answer.url, answer.final_url, answer.title, text, links, answer.status)


def window(page: Leaf, start: int, length: int) -> Window:
    """Return the part of a page from character `start`, with its position and how to read on."""
    text, total = page.text[start : start + length], len(page.text)
    head = f"Page: {page.url}\n"
    if page.status >= 400:
        head += f"The site answered with status {page.status}.\n"
    if start or len(text) < total:
        head += f"Characters {start} to {start + len(text)} of {total}.\n"
    if not text:
        return Window(head, "", "This page has no text." if not total else "The page ends before this place.")
    end = start + len(text)
    return Window(head + "\n", text, "" if end >= total else f"\n\nThe page goes on: open it with cursor={end}.")


def titles(answer: SearchAnswer) -> str:
    """Return the titles of the results with their link ids, one on each line."""
    return "\n".join(f"r{number} {_flat(one.title)}" for number, one in enumerate(answer.results, 1)) or "nothing"


def results(answer: SearchAnswer) -> str:
    """Return the results with link id, title, URL, date and snippet."""
    if not answer.results:
        return f"No results for: {_flat(answer.query)}"
    blocks = [f"Results for: {_flat(answer.query)}" + (f" (page {answer.page})" if answer.page > 1 else "")]
    for number, one in enumerate(answer.results, 1):
        blocks.append(f"[r{number}] {_flat(one.title)}\n   {one.url} {one.date}\n   {_flat(one.snippet)}")
    return "\n\n".join([*blocks, *([f"More results: search with page={answer.page + 1}."] if answer.more else [])])


def matches(page: Leaf, pattern: str) -> tuple[Match, ...]:
    """Return the first occurrences of a plain text in a page, ignoring case, each with its surroundings."""
    places = re.finditer(re.escape(pattern), page.text, re.IGNORECASE)
    starts = [place.start() for place, _ in zip(places, range(MATCHES), strict=False)]
    return tuple(Match(start, page.text[max(0, start - AROUND) : start + len(pattern) + AROUND]) for start in starts)


def told(page: Leaf, pattern: str, found: tuple[Match, ...]) -> str:
    """Return the occurrences of a text in a page, one on each line."""
    if not found:
        return f"{_flat(pattern)!r} does not occur in {page.url}."
    return f"In {page.url}:\n" + "\n".join(f"cursor={match.start}: {_flat(match.text)}" for match in found)


def address(link: str, shown: tuple[str, ...], opened: tuple[str, ...], links: Mapping[str, str]) -> str:
    """Return the URL that a link id stands for; any other text is returned as a URL. `result_urls` are the URLs of the
    last results, `opened_urls` those of opened pages, `links` those on the open page.

    Raises: InvalidToolCall if the link id is unknown.
    """
    named = _LINK_ID.fullmatch(link.strip())
    if not named:
        return link.strip()
    if named[1] in ("p", "P"):
        if 1 <= int(named[2]) <= len(opened):
            return opened[int(named[2]) - 1]
        raise Misuse(f"There is no page p{int(named[2])}: {len(opened)} were opened.")
    if named[1]:
        if 1 <= int(named[2]) <= len(shown):
            return shown[int(named[2]) - 1]
        raise Misuse(f"There is no result r{int(named[2])}: the last search shows {len(shown)}.")
    if named[2] in links:
        return links[named[2]]
    raise Misuse(f"There is no link {named[2]} on the page that is open. Results have ids such as r1.")


def plain(text: str) -> str:
    """Return the text without link numbers."""
    return _MARK.sub("", text)


def refused(error: WebError) -> str:
    """Return the text that a model reads for a refusal of the session policy; empty for other errors."""
    return _REFUSED.get(error.reason, "")


_REFUSED = {
    "out-of-budget": "No more can be asked of the web. Call finish with what was found.",
    "rate-limited": "Too many requests. Try again, or look elsewhere.",
    "captcha": "This site wants to know whether you are a robot. Look elsewhere.",
}


def _flat(text: str) -> str:
    return " ".join(text.split())
