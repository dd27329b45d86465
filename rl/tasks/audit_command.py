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
from webemu.rl.tasks.audit import (
    AuditRow,
    audit,
    list_urls_to_crawl,
    make_tasks,
    read_questions,
    summarize,
    to_json_line,
)
from webemu.rl.tasks.cached_client import CachedClient
from webemu.rl.tasks.options import CollectionOption, QuietOption, RootOption, ServerOption, convert_errors
from webemu.rl.tasks.question_fields import FieldNames, UserQuestion
from webemu.rl.tasks.task import save


def audit_questions(
    file: Annotated[Path, typer.Argument(help="Question set: JSON lines, a JSON list, CSV or TSV.")],
    collection: CollectionOption = None,
    root: RootOption = None,
    server: ServerOption = None,
    out: Annotated[Path | None, typer.Option(help="File for the audit, one line of JSON per question.")] = None,
    tasks_to: Annotated[
        Path | None, typer.Option("--tasks", help="Task file to write of the answerable questions.")
    ] = None,
    missing_to: Annotated[
        Path | None, typer.Option("--missing", help="File for the URLs to crawl, one per line.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Number of questions to audit, from the first. [default: all]", min=1)
    ] = None,
    question_field: Annotated[str, typer.Option(help="Field with the question. [default: by its usual names]")] = "",
    answer_field: Annotated[str, typer.Option(help="Field with the answers. [default: by its usual names]")] = "",
    url_field: Annotated[str, typer.Option(help="Field with the gold URLs. [default: by its usual names]")] = "",
    title_field: Annotated[str, typer.Option(help="Field with the gold titles. [default: by its usual names]")] = "",
    title_url: Annotated[
        str, typer.Option(help="URL of a page with a missing title, such as https://en.wikipedia.org/wiki/{title}")
    ] = "",
    quiet: QuietOption = False,
) -> None:
    """Report which of your questions a collection can answer.

    Also report what is missing for the others. Gold pages are looked up by URL, or by title if the set has no URL. A
    question is answerable if its gold pages are there and state an answer, or if one of its first ten results does.

    \b
    Example:
      webemu tasks audit questions.jsonl --collection mine --tasks tasks.jsonl --missing to-crawl.txt
    """
    names = FieldNames(question_field, answer_field, url_field, title_field)
    user_questions = read_questions(file, names)[:limit]
    if not user_questions:
        raise BadRequest(f"{file}: there is no question in it", action="use JSON lines, a JSON list, CSV or TSV")
    if not server:
        find_collection(configured({"root": root, "collection": collection}))
    with convert_errors():
        check_writable(out, tasks_to, missing_to)
    with convert_errors(), run_server(server, root, collection) as address:
        rows = asyncio.run(_run_audit(user_questions, address, quiet))
    if out:
        out.write_text("".join(f"{to_json_line(row)}\n" for row in rows), encoding="utf-8")
    tasks = make_tasks(rows)
    if tasks_to:
        save(tasks_to, tasks)
    missing_urls = list_urls_to_crawl(rows, title_url)
    if missing_to:
        missing_to.write_text("".join(f"{url}\n" for url in missing_urls), encoding="utf-8")
    for name, text in summarize(rows):
        typer.echo(f"{name:<20}  {text}")
    if tasks_to:
        typer.echo(f"{'tasks':<20}  {len(tasks):,} in {tasks_to}")
    if missing_urls:
        destination = f" in {missing_to}" if missing_to else ": --missing FILE writes them"
        typer.echo(f"{'to crawl':<20}  {len(missing_urls):,} URLs{destination}")


async def _run_audit(user_questions: Sequence[UserQuestion], address: str, quiet: bool) -> list[AuditRow]:
    """Audit the questions against a server, with a progress bar."""
    with tqdm(
        total=len(user_questions), unit="question", desc="auditing", disable=quiet, file=sys.stderr, leave=False
    ) as bar:
        async with CachedClient(address) as web:
            return await audit(user_questions, web, bar.update)
