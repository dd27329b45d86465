"""The commands `webemu search`, `fetch` and `find`: query a running server from a terminal or, with `--json`, a
program.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, cast

import typer

from webemu.agent_client.client import DEFAULT_URL, Client
from webemu.agent_client.errors import ClientError, InfrastructureError
from webemu.agent_client.types import FindAnswer, PageAnswer, RawAnswer, SearchAnswer, View


class Format(StrEnum):
    """Forms in which a page is printed."""

    text = "text"
    markdown = "markdown"
    html = "html"
    links = "links"
    raw = "raw"


ServerOption = Annotated[
    str, typer.Option("--server", envvar="WEBEMU_SERVER", help="Address of the running server, or unix:///path.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for programs.")]
AtOption = Annotated[str | None, typer.Option("--at", help="Use the capture nearest to this time, such as 2024-11-30.")]


def search(
    query: Annotated[list[str], typer.Argument(help="Words and operators to search for.")],
    page: Annotated[int, typer.Option(help="Page of results, from 1.")] = 1,
    size: Annotated[int, typer.Option(help="Results per page, at most 100.")] = 10,
    as_of: Annotated[str | None, typer.Option(help="Search only captures up to this time, such as 2024-11-30.")] = None,
    engine: Annotated[str | None, typer.Option(help="Ranker: full, plain, weak, dense or hybrid.")] = None,
    server: ServerOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Search a running server.

    Operators: "exact phrase", -word, OR, (), site:example.org, intitle:word, filetype:pdf, lang:de, 1990..1999,
    before:2024-01-31, after:2024.

    \b
    Example:
      webemu search 'lighthouse keeper site:example.org'
      webemu search --json --size 3 lighthouse keeper
      webemu search --server unix:///run/webemu.sock lighthouse keeper
    """
    with _open_client(server) as client:
        answer = client.search(" ".join(query), page, size, as_of, engine)
    _print_json(asdict(answer)) if as_json else _print_results(answer)


def fetch(
    url: Annotated[str, typer.Argument(help="URL of the page.")],
    format: Annotated[Format, typer.Option(help="links: text with numbered links; raw: the bytes as recorded.")] = (
        Format.text
    ),
    at_time: AtOption = None,
    start: Annotated[int, typer.Option(help="First character to print.")] = 0,
    length: Annotated[int, typer.Option(help="Number of characters; 0 prints all.")] = 20000,
    follow: Annotated[bool, typer.Option(help="Follow captured redirects.")] = True,
    server: ServerOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Open a page of a running server.

    \b
    Example:
      webemu fetch https://example.org/
      webemu fetch --format raw https://example.org/logo.png > logo.png
    """
    with _open_client(server) as client:
        if format is Format.raw:
            recorded = client.raw(url, at_time)
            _print_json(_raw_answer_fields(recorded)) if as_json else _write(recorded.body)
            return
        page = client.open(url, cast(View, format.value), at_time, start, length, follow=follow)
    _print_json(asdict(page)) if as_json else _print_page(page)


def find(
    url: Annotated[str, typer.Argument(help="URL of the page.")],
    pattern: Annotated[str, typer.Argument(help="Plain text to find; case is ignored.")],
    at_time: AtOption = None,
    limit: Annotated[int, typer.Option(help="Number of matches to show, at most 200.")] = 20,
    server: ServerOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Find text inside a page of a running server.

    \b
    Example:
      webemu find https://example.org/ lighthouse
    """
    with _open_client(server) as client:
        answer = client.find(url, pattern, at_time, limit)
    _print_json(asdict(answer)) if as_json else _print_matches(answer)


@contextmanager
def _open_client(server: str) -> Iterator[Client]:
    """Yield a client; its errors end the command with two lines, what happened and what to do."""
    try:
        with Client(server, retries=1) as client:
            yield client
    except (ClientError, ValueError) as error:
        action = error.action if isinstance(error, ClientError) else f"for example --server {DEFAULT_URL}"
        if isinstance(error, InfrastructureError) and error.reason == "unreachable":
            action = "start it with `webemu serve` (or `webemu demo`), or choose another with --server"
        typer.echo(f"webemu: {error.message if isinstance(error, ClientError) else error}", err=True)
        if action:
            typer.echo(f"  -> {action}", err=True)
        raise typer.Exit(1) from None


def _print_results(answer: SearchAnswer) -> None:
    """Print results for people."""
    if not answer.results:
        typer.echo("No results.")
    for result in answer.results:
        typer.echo(f"{result.rank:>3}  {typer.style(' '.join(result.title.split()), bold=True)}")
        dated = f"  {result.date}" if result.date else ""
        typer.echo(f"     {typer.style(result.url, fg='cyan')}{typer.style(dated, dim=True)}")
        typer.echo(_wrap(result.snippet) + "\n")
    if answer.more:
        typer.secho(f"More: --page {answer.page + 1}", dim=True)


def _print_page(page: PageAnswer) -> None:
    """Print a window of a page, and how to read on."""
    typer.secho(page.title or page.final_url, bold=True)
    typer.echo(f"{typer.style(page.final_url, fg='cyan')}  {page.status}  {page.fetched}\n")
    typer.echo(page.content)
    if page.next is not None:
        window = f"characters {page.start} to {page.next} of {page.total}"
        typer.secho(f"\n({window}; more: --start {page.next})", dim=True)


def _print_matches(answer: FindAnswer) -> None:
    """Print the occurrences of a text."""
    typer.secho(f"{answer.total} of {answer.pattern!r} in {answer.final_url}", bold=True)
    for match in answer.matches:
        typer.echo(f"  line {match.line}, --start {match.start}")
        typer.echo(_wrap(match.text))


def _wrap(text: str) -> str:
    """Return a text indented and wrapped to the terminal."""
    width = min(shutil.get_terminal_size().columns, 110)
    return textwrap.fill(" ".join(text.split()), width, initial_indent="     ", subsequent_indent="     ")


def _raw_answer_fields(answer: RawAnswer) -> dict[str, object]:
    """Return a recorded response as JSON values; its body is replaced by a remark because it is binary."""
    fields = asdict(answer)
    return fields | {"body": f"{len(answer.body)} bytes; without --json they go to standard output"}


def _write(body: bytes) -> None:
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def _print_json(answer: dict[str, object]) -> None:
    typer.echo(json.dumps(answer, ensure_ascii=False, indent=2))
