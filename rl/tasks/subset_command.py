"""The command `webemu tasks subset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config as configured
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.rl.outputs import check_writable
from webemu.rl.tasks.options import CollectionOption, RootOption, convert_errors
from webemu.rl.tasks.subset import write_subset
from webemu.rl.tasks.task import load


def make_subset(
    to: Annotated[str, typer.Option(help="Name of the new collection.")],
    urls: Annotated[Path | None, typer.Option(help="Gold URLs, one per line.")] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="Task file: its evidence is gold, its questions find hard distractors.")
    ] = None,
    distractors: Annotated[int, typer.Option(help="Number of other pages.", min=0)] = 1000,
    collection: CollectionOption = None,
    root: RootOption = None,
    missing_to: Annotated[
        Path | None, typer.Option("--missing", help="File for gold URLs that the collection lacks, one per line.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random distractors.")] = 0,
) -> None:
    """Copy gold pages and distractors into a collection of their own.

    Up to half of the distractors are pages that search shows for the questions of --tasks; the rest are drawn at
    random. All captures of each page are copied byte for byte.

    \b
    Example:
      webemu tasks subset --tasks tasks.jsonl --distractors 5000 --collection mine --to small
    """
    source = configured({"root": root, "collection": collection})
    target = configured({"root": root, "collection": to})
    with convert_errors():
        check_writable(missing_to)
        loaded_tasks = load(tasks) if tasks else ()
    gold_urls = [*_read_lines(urls), *(one.url for task in loaded_tasks for one in task.evidence)]
    if not gold_urls:
        raise BadRequest(
            "there is no gold URL to copy", action="give --urls FILE, or --tasks FILE of tasks with evidence"
        )
    report = write_subset(
        find_collection(source),
        target.collection_folder,
        gold_urls,
        [task.question for task in loaded_tasks],
        distractors,
        seed,
    )
    if missing_to:
        missing_to.write_text("".join(f"{url}\n" for url in report.missing_urls), encoding="utf-8")
    typer.echo(f"gold        {len(report.gold_urls):,} URLs, {len(report.missing_urls):,} missing")
    for url in report.missing_urls[:10]:
        typer.echo(f"missing     {url}")
    typer.echo(f"distractors {report.hard_distractors:,} from results, {report.random_distractors:,} drawn")
    typer.echo(f"records     {report.record_count:,}")
    typer.echo(f"next        webemu serve --collection {to}{f' --root {root}' if root else ''}")


def _read_lines(path: Path | None) -> list[str]:
    """Return the non-empty lines of a file; none if the path is None. Raises BadRequest if it cannot be read."""
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="name a file of URLs, one per line") from error
