"""The command `webemu traces`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.exports import FORMATS
from webemu.index.trace_files import read_traces


def traces(
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    root: RootOption = None,
    form: Annotated[str, typer.Option("--format", help="Output format: jsonl, sft or clickstream.")] = "jsonl",
    session: Annotated[str, typer.Option(help="Only sessions whose id begins like this.")] = "",
) -> None:
    """Export what sessions did: every search and every page, with ranks shown and ranks opened.

    jsonl: one search or page per line. sft: one session per line, as messages. clickstream: prev, curr, type, n.

    webemu traces --collection mine --format clickstream
    """
    if form not in FORMATS:
        raise BadRequest(f"unknown --format {form!r}", action=f"use {', '.join(FORMATS)}")
    config = load_config({"root": root, "collection": collection})
    if not config.state_folder.is_dir():  # WEBEMU_STATE may put it elsewhere than the collection
        find_collection(config)
    rows, lost = read_traces(config.state_folder / "traces")
    for line in FORMATS[form](row for row in rows if row.session.startswith(session)):
        print(line)
    if lost:
        print(f"webemu: {lost:,} rows were lost while tracing, since too many were waiting", file=sys.stderr)
