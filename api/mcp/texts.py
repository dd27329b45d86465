"""Results, pages and matches as the text that a model reads.

The texts equal those of `webemu.agent_client.tools`, so that an agent sees the same whichever way it calls the tools.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.api.http.text_range import TextRange, slice_text
from webemu.emulator.types import Match, Page, Results


def format_results(results: Results) -> str:
    """Return results as a numbered list with title, URL, date and snippet."""
    query = results.query
    description = f"for: {query.text}" + ("" if query.page == 1 else f" (page {query.page})")
    if not results.hits:
        return f"No results {description}"
    blocks = [f"Results {description}"]
    if results.relaxed:
        blocks[0] += f"\nFew pages have {' and '.join(results.relaxed)}. Pages without follow those."
    if results.corrections:
        changes = ", ".join(f"{typed} to {replacement}" for typed, replacement in results.corrections)
        blocks[0] += f"\nCorrected: {changes}. A + before a word keeps its spelling."
    for rank, hit in enumerate(results.hits, (query.page - 1) * query.size + 1):
        date_line = f"\n   {hit.date}" if hit.date else ""
        blocks.append(f"{rank}. {_join_lines(hit.title)}\n   {hit.url}{date_line}\n   {_join_lines(hit.snippet)}")
    if results.more:
        blocks.append(f"More results: search with page={query.page + 1}.")
    return "\n\n".join(blocks)


def format_page(page: Page, text_range: TextRange) -> str:
    """Return the page's address and status, the selected range of it, and how to read on."""
    text_slice = slice_text(page.content, text_range)
    head = [f"Page: {page.capture.url}"]
    if page.redirects:
        head.append(f"Redirected from: {page.request.url}")
    if page.capture.status >= 400:
        head.append(f"The site answered with status {page.capture.status}.")
    if text_slice.start or text_slice.next is not None:
        head.append(
            f"Characters {text_slice.start} to {text_slice.start + len(text_slice.text)} of {text_slice.total}."
        )
    body = text_slice.text or ("The page ends before this place." if text_slice.total else "This page has no text.")
    next_argument = f"line={text_slice.next_line}" if text_range.by_lines else f"start={text_slice.next}"
    tail = "" if text_slice.next is None else f"\n\nThe page goes on: open it with {next_argument}."
    return "\n".join(head) + "\n\n" + body + tail


def format_matches(page: Page, pattern: str, total: int, matches: Sequence[Match]) -> str:
    """Return the places of matches with their context; `total` counts those that are left out too."""
    if not total:
        return f"{pattern!r} does not occur in {page.capture.url}."
    lines = [f"{pattern!r} occurs {'once' if total == 1 else f'{total} times'} in {page.capture.url}:"]
    lines += [f"{number}. start={match.start}: {match.text}" for number, match in enumerate(matches, 1)]
    if total > len(matches):
        lines.append(f"Only the first {len(matches)} are shown.")
    return "\n".join([*lines, "Open the page with a start a little before the one given to read on from there."])


def _join_lines(text: str) -> str:
    """Join the words of a text with single spaces."""
    return " ".join(text.split())
