"""The displays of the cursor browser: results, pages and matches, each as text with numbered links. Pure.

The texts are those of gpt-oss's `SimpleBrowserTool` (0.0.9) and its backends, word for word where those are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from webemu.agent_client.calls import Call
from webemu.agent_client.calls import page as page_call
from webemu.agent_client.calls import search as search_call
from webemu.agent_client.link_numbering import Marks, host_of, marked, plain, unmarked
from webemu.agent_client.numbered_text import wrapped
from webemu.agent_client.types import PageAnswer, SearchAnswer

SOURCE = "view-source:"
"""Prefix of an address whose HTML source is requested."""
CHUNKS, CHUNK_LINES = 50, 4
"""Maximum number of matches shown, and lines shown of each."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One display."""

    url: str
    """Address of the page; empty for search results."""
    title: str
    text: str
    links: Mapping[str, str]
    """Addresses by link number."""
    places: Mapping[str, int] | None = None
    """Page line of each link number, for a display of matches; else None."""


def results(query: str, size: int) -> Call[Leaf]:
    """Return the call for a page of results as a display."""
    return search_call(query, 1, size).then(_results_leaf)


def page(url: str) -> Call[Leaf]:
    """Return the call for a page as a display, or for its HTML source if the address asks for it."""
    if url.startswith(SOURCE):
        return page_call(url.removeprefix(SOURCE), "html", length=0).then(_source_leaf)
    return page_call(url, "markdown", length=0).then(_page_leaf)


def _results_leaf(answer: SearchAnswer) -> Leaf:
    """Return the display of search results."""
    marks = Marks("")
    items = [
        f"  * {marks.mark(plain(result.title) or result.url, result.url)} {' '.join(plain(result.snippet).split())}"
        for result in answer.results
    ]
    text = "\n".join(["", "URL: ", "# Search Results", "", *items])
    return Leaf("", answer.query, text.rstrip(), marks.addresses)


def _page_leaf(answer: PageAnswer) -> Leaf:
    """Return the display of a page."""
    url = answer.final_url
    marks = Marks(host_of(url))
    text = f"\nURL: {url}\n" + marked(answer.content, marks)
    return Leaf(url, answer.title or host_of(url), text, marks.addresses)


def _source_leaf(answer: PageAnswer) -> Leaf:
    """Return the display of a page's HTML source."""
    url = SOURCE + answer.final_url
    return Leaf(url, answer.title or host_of(answer.final_url), plain(answer.content), {})


def found(leaf: Leaf, pattern: str) -> Leaf:
    """Return the display of a text's occurrences in a page, ignoring case, each with the lines that follow."""
    pattern = pattern.lower()
    lines = unmarked("\n".join(wrapped(leaf.text))).split("\n")
    places = _places(lines, pattern)
    chunks = [
        f"# 【{number}†match at L{line}】\n" + "\n".join(lines[line : line + CHUNK_LINES])
        for number, line in enumerate(places)
    ]
    return Leaf(
        f"{leaf.url}/find?pattern={quote(pattern.encode('utf-8', 'replace'))}",
        f"Find results for text: `{pattern}` in `{leaf.title}`",
        "\n\n".join(chunks) or f"No `find` results for pattern: `{pattern}`",
        {str(number): leaf.url for number in range(len(places))},
        {str(number): line for number, line in enumerate(places)},
    )


def _places(lines: list[str], pattern: str) -> list[int]:
    """Return the lines that contain the text. Lines that are shown with an earlier match are skipped."""
    places: list[int] = []
    line = 0
    while line < len(lines) and len(places) < CHUNKS:
        if pattern in lines[line].lower():
            places.append(line)
            line += CHUNK_LINES
        else:
            line += 1
    return places
