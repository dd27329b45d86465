"""The command `webemu misses`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.misses import HOST, QUERY, URL, Miss, find_misses
from webemu.index.trace_files import read_traces

FORMATS = ("table", "jsonl", "urls")


def misses(
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    root: RootOption = None,
    form: Annotated[str, typer.Option("--format", help="Output format: table, jsonl or urls.")] = "table",
    kind: Annotated[str, typer.Option(help="Only misses of this kind: url, host or query.")] = "",
    task: Annotated[str, typer.Option(help="Only sessions of tasks whose id begins like this.")] = "",
    rewards: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="attempts.jsonl of `webemu eval`: ranks by the reward that was lost."
        ),
    ] = None,
    min_results: Annotated[int, typer.Option(help="Results that the first page of a search should have.", min=1)] = 3,
    limit: Annotated[int, typer.Option(help="Most misses to print; 0 means all.", min=0)] = 0,
) -> None:
    """List what agents asked for and did not get: URLs, hosts of which no page was opened, queries with few results.

    Read from the traces of sessions. Ranked by lost reward if --rewards is given, then by the number of sessions.
    Faults that were injected are left out; pages that a session's policy hides count.

    webemu misses --collection mine

    webemu misses --collection mine --format urls >wanted.txt

    webemu pick 'cc-index/*.parquet' --urls wanted.txt
    """
    if form not in FORMATS or kind not in ("", URL, HOST, QUERY):
        raise BadRequest(
            f"unknown --format {form!r} or --kind {kind!r}",
            action=f"use --format {', '.join(FORMATS)}, and --kind {URL}, {HOST} or {QUERY}",
        )
    config = load_config({"root": root, "collection": collection})
    if not config.state_folder.is_dir():  # WEBEMU_STATE may put it elsewhere than the collection
        find_collection(config)
    rows, _ = read_traces(config.state_folder / "traces")
    kept_rows = [row for row in rows if row.task.startswith(task)]
    ranked_misses = find_misses(kept_rows, min_results, _read_rewards(rewards))
    kinds = {URL} if form == "urls" else {kind} if kind else {URL, HOST, QUERY}
    selection = [miss for miss in ranked_misses if miss.kind in kinds]
    _show(selection[: limit or None], form)
    if not selection:
        print(f"webemu: nothing is missing in the traces of {len(kept_rows):,} requests", file=sys.stderr)


def _read_rewards(path: Path | None) -> dict[tuple[str, str], float]:
    """Return the reward of each attempt by (task, rollout). Raises BadRequest for a file of another kind."""
    if path is None:
        return {}
    rewards: dict[tuple[str, str], float] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            attempt = json.loads(line)
            if attempt["reward"] is not None:
                rewards[str(attempt["task"]), str(attempt["seed"])] = float(attempt["reward"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(
            f"{path} holds no attempts: {error!r}", action="give the attempts.jsonl that webemu eval wrote"
        ) from error
    return rewards


def _show(misses_found: list[Miss], form: str) -> None:
    """Print misses in the named format."""
    if form == "table" and misses_found:
        print("kind   sessions  requests  lost reward  what")
    for miss in misses_found:
        if form == "jsonl":
            print(json.dumps(asdict(miss), ensure_ascii=False))
        elif form == "urls":
            print(miss.text)
        else:
            print(f"{miss.kind:5}  {miss.sessions:8,}  {miss.requests:8,}  {miss.lost_reward:11.2f}  {miss.text}")
