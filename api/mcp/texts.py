"""Results, pages and matches as the text that a model reads.

The texts equal those of `webemu.agent_client.tools`, so that an agent sees the same whichever way it calls the tools.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.api.http.text_range import Window, cut
from webemu.emulator.types import Match, Page, Results


def results_text(results: Results) -> str:
    """Return results as a numbered list with title, URL, date and snippet."""
    query = results.query
    of = f"for: {query.text}" + ("" if query.page == 1 else f" (page {query.page})")
    if not results.hits:
        return f"No results {of}"
    blocks = [f"Results {of}"]
    for rank, hit in enumerate(results.hits, (query.page - 1) * query.size + 1):
        dated = f"\n   {hit.date}" if hit.date else ""
        blocks.append(f"{rank}. {_flat(hit.title)}\n   {hit.url}{dated}\n   {_flat(hit.snippet)}")
    if results.more:
        blocks.append(f"More results: search with page={query.page + 1}.")
    return "\n\n".join(blocks)


def page_text(page: Page, window: Window) -> str:
    """Return the page's address and status, the selected range of it, and how to read on."""
    part = cut(page.content, window)
    head = [f"Page: {page.capture.url}"]
    if page.redirects:
        head.append(f"Redirected from: {page.request.url}")
    if page.capture.status >= 400:
        head.append(f"The site answered with status {page.capture.status}.")
    if part.start or part.next is not None:
        head.append(f"Characters {part.start} to {part.start + len(part.text)} of {part.total}.")
    body = part.text or ("The page ends before this place." if part.total else "This page has no text.")
    where = f"line={part.next_line}" if window.by_lines else f"start={part.next}"
    tail = "" if part.next is None else f"\n\nThe page goes on: open it with {where}."
    return "\n".join(head) + "\n\n" + body + tail


def matches_text(page: Page, pattern: str, total: int, matches: Sequence[Match]) -> str:
    """Return the places of matches with their context; `total` counts those that are left out too."""
    if not total:
        return f"{pattern!r} does not occur in {page.capture.url}."
    lines = [f"{pattern!r} occurs {'once' if total == 1 else f'{total} times'} in {page.capture.url}:"]
    lines += [f"{number}. start={match.start}: {match.text}" for number, match in enumerate(matches, 1)]
    if total > len(matches):
        lines.append(f"Only the first {len(matches)} are shown.")
    return "\n".join([*lines, "Open the page with a start a little before the one given to read on from there."])


def _flat(text: str) -> str:
    """Join the words of a text with single spaces."""
    return " ".join(text.split())
