"""The command `webemu tasks subset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config as configured
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.rl.outputs import check_writable
from webemu.rl.tasks.options import Collection, Root, told
from webemu.rl.tasks.subset import subset
from webemu.rl.tasks.task import load


def cut_subset(
    to: Annotated[str, typer.Option(help="Name of the new collection.")],
    urls: Annotated[Path | None, typer.Option(help="Gold URLs, one per line.")] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="Task file: its evidence is gold, its questions find hard distractors.")
    ] = None,
    distractors: Annotated[int, typer.Option(help="Pages beside them.", min=0)] = 1000,
    collection: Collection = None,
    root: Root = None,
    missing_to: Annotated[
        Path | None, typer.Option("--missing", help="Write gold URLs that are not there here, one per line.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which distractors are drawn.")] = 0,
) -> None:
    """Cut gold pages and distractors out of a collection.

    They make a collection of their own. Up to half of the distractors are pages that search shows for the questions of
    --tasks, the rest are drawn at random. Of each page all captures go over, byte for byte.

    \b
    Example:
      webemu tasks subset --tasks tasks.jsonl --distractors 5000 --collection mine --to small
    """
    source = configured({"root": root, "collection": collection})
    target = configured({"root": root, "collection": to})
    with told():
        check_writable(missing_to)
        given = load(tasks) if tasks else ()
    gold = [*_lines(urls), *(one.url for task in given for one in task.evidence)]
    if not gold:
        raise BadRequest("there is no gold URL", action="give --urls FILE, or --tasks FILE of tasks with evidence")
    cut = subset(
        find_collection(source), target.collection_folder, gold, [task.question for task in given], distractors, seed
    )
    if missing_to:
        missing_to.write_text("".join(f"{url}\n" for url in cut.missing), encoding="utf-8")
    typer.echo(f"gold        {len(cut.gold):,} URLs, {len(cut.missing):,} missing")
    for url in cut.missing[:10]:
        typer.echo(f"missing     {url}")
    typer.echo(f"distractors {cut.hard:,} from results, {cut.drawn:,} drawn")
    typer.echo(f"records     {cut.records:,}")
    typer.echo(f"next        webemu serve --collection {to}{f' --root {root}' if root else ''}")


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="name a file of URLs, one per line") from error
