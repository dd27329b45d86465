"""Command line of the generator: `webemu generate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.worlds import generate as write_web
from webemu.worlds.folder import TASKS_FILE
from webemu.worlds.toy_web import generate_toy


def generate(
    out: Annotated[Path, typer.Argument(help="Folder to write; replaced if it holds a generated web.")],
    pages: Annotated[
        int, typer.Option(help="Approximate number of pages, from 1000 up; fewer gives 470 or more.", min=1)
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the web; the same seed and size give the same bytes.")] = 7,
    toy: Annotated[
        bool, typer.Option("--toy", help="Write pages of a few words, for models that learn from nothing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar.")] = False,
) -> None:
    """Write an invented web as Common-Crawl-style WARC files, with questions whose answers are known.

    People, towns, companies, novels and prizes are invented from the seed, and some forty sites describe them: an
    encyclopedia, newspapers, councils, shops, forums. Beside the WARC files lie graph.jsonl (every fact with the page
    that states it) and tasks.jsonl (questions, accepted answers, evidence).

    webemu generate web --pages 50000 --seed 1

    webemu ingest web --collection invented

    webemu serve --collection invented
    """
    with tqdm(unit="record", desc="writing", disable=quiet, file=sys.stderr, leave=False) as bar:

        def show_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        if toy:
            print(f"tasks     {generate_toy(out, seed, pages, show_progress):,} in {out / TASKS_FILE}")
            return
        summary = write_web(out, seed, pages, show_progress)
    print(f"web       {summary.pages:,} pages of {summary.hosts} hosts, {summary.captures:,} captures")
    print(f"files     {summary.files:,} WARC files, {summary.bytes / 1e6:,.1f} MB, below {out}")
    print(f"tasks     {summary.tasks:,} in {out / TASKS_FILE}")
