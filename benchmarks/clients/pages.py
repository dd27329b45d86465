"""Writes the pages of `docs/frameworks`: one for each program, and a table of all clients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from benchmarks.clients.programs import Program
from benchmarks.clients.verdicts import Verdict

LANGUAGES = {".py": "python", ".mjs": "js", ".sh": "sh"}
MARKS = {"": "yes", "-": "-"}
"""Words for a case that held, and for one that a client has not; any other case is a `no`."""
PAGE = """\
# {title}

{introduction} The code of an agent stays as it is: `webemu run` leads every name to the crawl.

```sh
{steps}
```

{failures}{table}

What the columns mean, and how to do without `webemu run`: [all clients](README.md). The program that was run:

```{language}
{source}
```
"""
INDEX = """\
# Your framework

Look up the framework or the client of your agent: its page has the lines that work.

```sh
webemu run --collection demo -- python agent.py     # any client, unchanged (Linux)
webemu serve --collection demo                      # or a server, and in another shell
eval "$(webemu env)"; python agent.py               # clients that obey a proxy
```

In `webemu run` names resolve, certificates are trusted, and nothing leads out. `webemu env` sets the variables of the
proxy and of the authority in one shell; clients that read neither, or that refuse private addresses, have a `no` in the
last column. Services can be named by a base URL as well: [emulated services](../dialects.md).

| page | clients | as shipped |
|---|---|---|
{pages}

## All clients

`python -m benchmarks.clients --write` ran these {count} clients on {date}, each as it is published, against a generated
web of 400 pages. **{shipped} work as shipped in `webemu run`; {by_proxy} find the page by proxy as well.**

- **found**: a search finds a page, or a page is read, over https.
- **empty**: a query without results, or a page that is a 404. The client says so in its own way: no error of format, no
  other page, and no word of the emulator but the headers that mark answers, which some clients log.
- **error**: a wrong key, or a host that does not exist: likewise. `-`: the service wants no key.
- **paging**: the second page of results differs from the first. `-`: the client takes no page.
- **proxy**: the first case with the variables of `webemu env` instead.

{table}
"""


def write_page(program: Program, verdicts: Sequence[Verdict]) -> str:
    """Return the page of a framework as Markdown: what to run, which clients were tried, and the program."""
    introduction = program.introduction.removeprefix(program.title).lstrip(":, ").replace("\n", " ").rstrip(".")
    return PAGE.format(
        title=program.title,
        introduction=f"{introduction[:1].upper()}{introduction[1:]}.",
        steps=_write_steps(program),
        failures=_list_failures(verdicts),
        table=_make_table(verdicts),
        language=LANGUAGES[program.file.suffix],
        source=program.source.strip(),
    )


def write_index(programs: Mapping[str, Program], verdicts: Mapping[str, Sequence[Verdict]], date: str) -> str:
    """Return the page of all clients as Markdown."""
    rows = list(chain.from_iterable(verdicts.values()))
    counts = {name: sum(verdict.as_shipped for verdict in own_verdicts) for name, own_verdicts in verdicts.items()}
    pages = [
        f"| [{programs[name].title}]({name}.md) | {len(verdicts[name])} | {count} |" for name, count in counts.items()
    ]
    return INDEX.format(
        pages="\n".join(pages),
        count=len(rows),
        date=date,
        shipped=sum(verdict.as_shipped for verdict in rows),
        by_proxy=sum(not verdict.proxy for verdict in rows),
        table=_make_table(rows),
    )


def _write_steps(program: Program) -> str:
    """Return the commands that run the first client of a program."""
    client, folder = program.clients[0], "examples/clients"
    keys = f". {folder}/keys.sh\n" if client.is_search else ""
    argument = '"lighthouse museum"' if client.is_search else "https://en.openlexicon.org/wiki/Main_Page"
    words = f"{client.function} {argument}"
    if program.file.suffix == ".mjs":
        folder = f"{folder}/{program.file.parent.name}"
        install = f"npm install --prefix {folder}"
        return f"{install}\n{keys}webemu run --collection demo -- node {folder}/clients.mjs {words}"
    if program.file.suffix == ".sh":
        return f"webemu run --collection demo -- sh {folder}/{program.file.name} {words}"
    file = f"{folder}/{program.file.name}"
    find = f"uv sync --script {file}\nPYTHON=$(uv python find --script {file})"
    return f'{find}\n{keys}webemu run --collection demo -- "$PYTHON" {file} {words}'


def _make_table(verdicts: Sequence[Verdict]) -> str:
    header = ["| client | version | found | empty | error | paging | proxy |", "|---|---|---|---|---|---|---|"]
    rows = [
        [_shorten(verdict.description), verdict.version, *(MARKS.get(case, "no") for case in verdict.cases.values())]
        for verdict in verdicts
    ]
    return "\n".join([*header, *(f"| {' | '.join(row)} |" for row in rows)])


def _list_failures(verdicts: Sequence[Verdict]) -> str:
    """Return what does not work in `webemu run`, and why, as a list; empty if everything does."""
    lines = [
        f"- {_shorten(verdict.description)}, {case}: `{reason.replace('`', chr(39))}`"
        for verdict in verdicts
        for case, reason in verdict.cases.items()
        if case != "proxy" and reason not in MARKS
    ]
    return "\n".join(["**What does not work:**", "", *lines, "", ""]) if lines else ""


def _shorten(description: str) -> str:
    """Return a client's description without its verb."""
    text = re.sub(r"^(Search|Ask|Read)\b.*? with (the )?", "", description, count=1)
    return text.rstrip(".").replace("|", r"\|")
