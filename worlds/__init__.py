"""Generate an invented web: a knowledge graph, the sites that describe it, and a crawl of those sites as WARC files.

Tests, demos and RL training need a web that no model has seen and whose answers are known exactly. `generate` takes a
seed and a size and writes a folder with `crawl-data/`, `graph.jsonl` and `tasks.jsonl`; the same seed and size give
the same bytes. Nothing here reads the network or a real crawl. Read `invent.py` (the graph) and `sites/` (the pages)
next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webemu.worlds.crawl import list_fetches
from webemu.worlds.folder import TASKS_FILE, open_output_folder
from webemu.worlds.invent import invent_graph
from webemu.worlds.site_directory import assign_addresses
from webemu.worlds.sites import list_sites
from webemu.worlds.tasks import list_graph_lines, list_task_lines
from webemu.worlds.warcs import Progress, write_crawl

GRAPH_FILE = "graph.jsonl"
"""Name of the file with all entities and facts, one JSON object a line."""
STORIES_PER_PAGE = 0.18
"""News stories per page of the web."""
GRAPH_DENSITY = 0.87
"""Size of the graph relative to the requested pages, chosen so that entities, sites and stories together make that
many.
"""


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of what `generate` wrote."""

    hosts: int
    """Hosts with a site of their own."""
    pages: int
    """HTML pages of all sites, each counted once."""
    captures: int
    """Recorded captures: pages, robots.txt, sitemaps, feeds, redirects, errors and revisits."""
    tasks: int
    """Questions in `tasks.jsonl`."""
    files: int
    """WARC files."""
    bytes: int
    """Total size of the WARC files."""


def generate(out: Path, seed: int = 7, pages: int = 2000, progress: Progress | None = None) -> Summary:
    """Write the web of a seed and size to the folder `out` and return its counts.

        summary = generate(Path("web"), seed=1, pages=5000)
        print(summary.pages, "pages on", summary.hosts, "hosts")

    The web has about `pages` pages if that is 1,000 or more; a smaller one has somewhat more, but never less than 470.
    The folder appears under its name only when it is complete, and replaces an earlier web. Raises SourceError if
    `out` exists and is not a generated web.
    """
    directory = assign_addresses(invent_graph(seed, round(pages * GRAPH_DENSITY)), round(pages * STORIES_PER_PAGE))
    sites = list_sites(directory)
    fetches = list(list_fetches(seed, sites))
    with open_output_folder(out) as folder:
        files = write_crawl(folder, seed, fetches, progress)
        tasks = list(list_task_lines(directory))
        (folder / GRAPH_FILE).write_text("".join(list_graph_lines(directory)), encoding="utf-8")
        (folder / TASKS_FILE).write_text("".join(tasks), encoding="utf-8")
        size = sum(path.stat().st_size for path in files)
    # Sites yield their pages lazily, so they are counted by listing them once more; nothing is rendered.
    page_count = sum(len(list(site.list_pages(site))) for site in sites)
    return Summary(len(sites), page_count, len(fetches), len(tasks), len(files), size)
