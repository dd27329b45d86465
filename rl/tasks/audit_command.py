"""The command `webemu tasks audit`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config as configured
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.rl.outputs import check_writable
from webemu.rl.serving import run_server
from webemu.rl.tasks.audit import Row, as_row, audit, figures, missing, questions
from webemu.rl.tasks.cached_client import Served
from webemu.rl.tasks.options import Collection, Quiet, Root, Server, told
from webemu.rl.tasks.question_fields import Asked, Names


def audit_questions(
    file: Annotated[Path, typer.Argument(help="Questions: JSON lines, a JSON list, CSV or TSV.")],
    collection: Collection = None,
    root: Root = None,
    server: Server = None,
    out: Annotated[Path | None, typer.Option(help="Write a line of JSON per question here.")] = None,
    missing_to: Annotated[
        Path | None, typer.Option("--missing", help="Write the URLs that are to be crawled here, one per line.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many questions.", min=1)] = None,
    question_field: Annotated[str, typer.Option(help="Field of the question. [default: found by name]")] = "",
    answer_field: Annotated[str, typer.Option(help="Field of the answers. [default: found by name]")] = "",
    url_field: Annotated[str, typer.Option(help="Field of the gold URLs. [default: found by name]")] = "",
    title_field: Annotated[str, typer.Option(help="Field of gold titles. [default: found by name]")] = "",
    title_url: Annotated[
        str, typer.Option(help="Makes a URL of a missing title: https://en.wikipedia.org/wiki/{title}")
    ] = "",
    quiet: Quiet = False,
) -> None:
    """Say which of your questions a collection can answer.

    And what is missing for the others. Gold pages are looked up by URL, or by title where the set names no more. A
    question is answerable if its gold pages are there and state an answer, or if one of its first ten results does.

    \b
    Example:
      webemu tasks audit questions.jsonl --collection mine --missing to-crawl.txt
    """
    names = Names(question_field, answer_field, url_field, title_field)
    asks = questions(file, names)[:limit]
    if not asks:
        raise BadRequest(f"{file}: there is no question in it", action="use JSON lines, a JSON list, CSV or TSV")
    if not server:
        find_collection(configured({"root": root, "collection": collection}))
    with told():
        check_writable(out, missing_to)
    with told(), run_server(server, root, collection) as address:
        rows = asyncio.run(_audited(asks, address, quiet))
    if out:
        out.write_text("".join(f"{as_row(row)}\n" for row in rows), encoding="utf-8")
    gone = missing(rows, title_url)
    if missing_to:
        missing_to.write_text("".join(f"{url}\n" for url in gone), encoding="utf-8")
    for name, text in figures(rows):
        typer.echo(f"{name:<20}  {text}")
    if gone:
        place = f" in {missing_to}" if missing_to else ": --missing FILE writes them"
        typer.echo(f"{'to crawl':<20}  {len(gone):,} URLs{place}")


async def _audited(asks: Sequence[Asked], address: str, quiet: bool) -> list[Row]:
    with tqdm(total=len(asks), unit="question", desc="auditing", disable=quiet, file=sys.stderr, leave=False) as bar:
        async with Served(address) as web:
            return await audit(asks, web, bar.update)
