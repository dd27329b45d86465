"""Share of the text of real pages that their other views contain, share of other words, and rendering times.

python -m benchmarks.views COLLECTION_FOLDER...

Covers every HTML page of a collection. A text is its bag of words (runs of letters and digits, without case), in
markdown without the targets of links. Recall is the share of the text view's words that a view has too, repeated ones
as often; noise is the share of a view's words that the text view does not have: labels, menus, whatever only that view
shows.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles

from webemu.emulator.world import World
from webemu.index.open import open_world
from webemu.index.views import render_links, render_markdown

RECALL_STEPS = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Recall below which pages are counted."""
_WORD = re.compile(r"\w+")
_TARGET = re.compile(r'\]\((?:<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s"[^"]*")?\)')
"""Target of a link in markdown."""
_LINKS_HEADING = "\n\nLinks:\n"
"""Heading of the list of links at the end of a view."""
View = Callable[[str, str, str], str]
"""Function that renders a page from its HTML, its URL and its text."""


@dataclass(frozen=True, slots=True)
class ViewFigures:
    """Figures of one page in one view."""

    url: str
    recall: float
    noise: float
    milliseconds: float


def iter_html_pages(world: World) -> Iterator[tuple[str, str, str]]:
    """Yield (HTML, URL, text) of every HTML page that has a text view."""
    for _, captures in world.listing("", "\U0010ffff"):
        for capture in captures:
            is_page = capture.doc >= 0 and capture.mime in ("text/html", "application/xhtml+xml")
            if is_page and (html := world.html_of(capture)):
                yield html, capture.url, world.text_of(capture)[1]


def bag_of_words(text: str) -> Counter[str]:
    """Return the bag of words of a text."""
    return Counter(_WORD.findall(text.casefold()))


def strip_link_targets(rendered: str) -> str:
    """Return a view without the targets of its links."""
    return _TARGET.sub("]", rendered.partition(_LINKS_HEADING)[0])


def measure_view(page: tuple[str, str, str], view: View) -> ViewFigures:
    """Render a page and compare it with its text."""
    started = time.process_time()
    rendered = view(*page)
    seconds = time.process_time() - started
    text_words, rendered_words = bag_of_words(page[2]), bag_of_words(strip_link_targets(rendered))
    common = (text_words & rendered_words).total()
    recall = common / text_words.total() if text_words else 1.0
    return ViewFigures(page[1], recall, 1 - common / rendered_words.total() if rendered_words else 0.0, 1000 * seconds)


def print_report(name: str, pages: Sequence[ViewFigures]) -> None:
    """Print one view's figures."""
    below = "   ".join(f"<{step:.0%} {sum(page.recall < step for page in pages):>4}" for step in RECALL_STEPS)
    worst = min(pages, key=lambda page: page.recall)
    noise, times = [page.noise for page in pages], [page.milliseconds for page in pages]
    print(f"{name:<9} pages by recall: {below}   least {worst.recall:.3f} {worst.url[:80]}")
    print(f"{'':9} noise: mean {mean(noise):.3f}   median {median(noise):.3f}   p90 {quantiles(noise, n=10)[8]:.3f}")
    print(f"{'':9} ms: median {median(times):.2f}   mean {mean(times):.2f}   most {max(times):.0f}", flush=True)


def main() -> None:
    """Measure and print both views of each collection."""
    if not sys.argv[1:]:
        raise SystemExit("no collection folder given; usage: python -m benchmarks.views COLLECTION_FOLDER...")
    for folder in map(Path, sys.argv[1:]):
        pages = list(iter_html_pages(open_world(folder)))
        print(f"{folder.name}: {len(pages):,} HTML pages, {sum(len(page[0]) for page in pages) / 1e6:.1f} M characters")
        for name, view in (("markdown", render_markdown), ("links", render_links)):
            print_report(name, [measure_view(page, view) for page in pages])


if __name__ == "__main__":
    main()
