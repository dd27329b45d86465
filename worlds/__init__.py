"""A web that does not exist: an invented knowledge graph, sites that tell of it, and the crawl of them as WARC files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webemu.worlds.crawl import visits
from webemu.worlds.folder import TASKS, writing
from webemu.worlds.invent import invent
from webemu.worlds.site_directory import draw_atlas
from webemu.worlds.sites import all_sites
from webemu.worlds.tasks import graph_lines, task_lines
from webemu.worlds.warcs import write_crawl

GRAPH = "graph.jsonl"
STORIES = 0.18
"""News stories per page of the web."""
DENSITY = 0.87
"""Size of the graph for which entities, sites and stories together make the wanted number of pages."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written."""

    hosts: int
    pages: int
    visits: int
    """Pages, robots.txt, sitemaps, feeds, redirects, errors and second visits."""
    tasks: int
    files: int
    """WARC files."""
    bytes: int


def generate(
    out: Path, seed: int = 7, pages: int = 2000, progress: Callable[[int, int], None] | None = None
) -> Summary:
    """Write the web of that seed and size (about `pages` pages, at least some 400) to the folder `out`.

    All or nothing: it appears under its name when it is whole, and replaces an earlier one. `progress` is called with
    (visits written, all visits). Raises SourceError where `out` is something else.
    """
    atlas = draw_atlas(invent(seed, round(pages * DENSITY)), round(pages * STORIES))
    sites = all_sites(atlas)
    crawl = list(visits(seed, sites))
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done, len(crawl))

    with writing(out) as folder:
        files = write_crawl(folder, seed, crawl, tick)
        tasks = list(task_lines(atlas))
        (folder / GRAPH).write_text("".join(graph_lines(atlas)), encoding="utf-8")
        (folder / TASKS).write_text("".join(tasks), encoding="utf-8")
        size = sum(path.stat().st_size for path in files)
    found = sum(len(list(site.leaves(site))) for site in sites)
    return Summary(len(sites), found, len(crawl), len(tasks), len(files), size)
