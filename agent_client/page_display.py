"""The displays of the cursor browser: results, pages and matches, each as text with numbered links. Pure.

The texts are those of gpt-oss's `SimpleBrowserTool` (0.0.9) and its backends, word for word where those are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from webemu.agent_client.calls import ApiCall
from webemu.agent_client.calls import open_page as page_call
from webemu.agent_client.calls import search as search_call
from webemu.agent_client.link_numbering import LinkNumbering, escape_marks, host_of, number_links, strip_link_numbers
from webemu.agent_client.numbered_text import wrap_lines
from webemu.agent_client.types import PageAnswer, SearchAnswer

SOURCE_PREFIX = "view-source:"
"""Prefix of an address whose HTML source is requested."""
MAX_MATCHES, LINES_PER_MATCH = 50, 4
"""Maximum number of matches shown, and lines shown of each."""


@dataclass(frozen=True, slots=True)
class Display:
    """One display."""

    url: str
    """Address of the page; empty for search results."""
    title: str
    text: str
    links: Mapping[str, str]
    """Addresses by link number."""
    match_lines: Mapping[str, int] | None = None
    """Page line of each link number, for a display of matches; else None."""


def call_for_results(query: str, size: int) -> ApiCall[Display]:
    """Return the call for a page of results as a display."""
    return search_call(query, 1, size).map(_results_display)


def call_for_page(url: str) -> ApiCall[Display]:
    """Return the call for a page as a display, or for its HTML source if the address asks for it."""
    if url.startswith(SOURCE_PREFIX):
        return page_call(url.removeprefix(SOURCE_PREFIX), "html", length=0).map(_source_display)
    return page_call(url, "markdown", length=0).map(_page_display)


def _results_display(answer: SearchAnswer) -> Display:
    """Return the display of search results."""
    numbering = LinkNumbering("")
    items = [
        f"  * {numbering.format_link(escape_marks(result.title) or result.url, result.url)} "
        f"{' '.join(escape_marks(result.snippet).split())}"
        for result in answer.results
    ]
    text = "\n".join(["", "URL: ", "# Search Results", "", *items])
    return Display("", answer.query, text.rstrip(), numbering.addresses)


def _page_display(answer: PageAnswer) -> Display:
    """Return the display of a page."""
    url = answer.final_url
    numbering = LinkNumbering(host_of(url))
    text = f"\nURL: {url}\n" + number_links(answer.content, numbering)
    return Display(url, answer.title or host_of(url), text, numbering.addresses)


def _source_display(answer: PageAnswer) -> Display:
    """Return the display of a page's HTML source."""
    url = SOURCE_PREFIX + answer.final_url
    return Display(url, answer.title or host_of(answer.final_url), escape_marks(answer.content), {})


def find_in_display(display: Display, pattern: str) -> Display:
    """Return the display of a text's occurrences in a page, ignoring case, each with the lines that follow."""
    pattern = pattern.lower()
    lines = strip_link_numbers("\n".join(wrap_lines(display.text))).split("\n")
    match_lines = _matching_lines(lines, pattern)
    chunks = [
        f"# 【{number}†match at L{line}】\n" + "\n".join(lines[line : line + LINES_PER_MATCH])
        for number, line in enumerate(match_lines)
    ]
    return Display(
        f"{display.url}/find?pattern={quote(pattern.encode('utf-8', 'replace'))}",
        f"Find results for text: `{pattern}` in `{display.title}`",
        "\n\n".join(chunks) or f"No `find` results for pattern: `{pattern}`",
        {str(number): display.url for number in range(len(match_lines))},
        {str(number): line for number, line in enumerate(match_lines)},
    )


def _matching_lines(lines: list[str], pattern: str) -> list[int]:
    """Return the lines that contain the text. Lines that are shown with an earlier match are skipped."""
    matches: list[int] = []
    line = 0
    while line < len(lines) and len(matches) < MAX_MATCHES:
        if pattern in lines[line].lower():
            matches.append(line)
            line += LINES_PER_MATCH
        else:
            line += 1
    return matches
