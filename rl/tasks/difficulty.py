"""How hard a task is, from 0 to 1.

Measured: the share of attempts that fail. Before anything was measured: half of it is hops, 1 to 5, and half is the
rank at which search shows the page that is hardest to find, from 1 to 50 on a logarithmic scale, and 1 where no query
made of the question shows it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from math import log
from pathlib import Path

from webemu.emulator.errors import BadRequest
from webemu.rl.tasks.cached_client import DEPTH, PLAIN
from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.task import Task

MOST_HOPS = 5
PASS = 0.5
"""The reward from which `webemu eval` counts an attempt as passed."""


def difficulty(task: Task, verdicts: dict[str, Verdict]) -> float:
    """From the verdicts of the filters."""
    rate = verdicts.get("band", {}).get("rate")
    if rate is not None:
        return round(1 - float(rate), 3)
    hops = min(1.0, (task.hops - 1) / (MOST_HOPS - 1))
    ranks = verdicts.get("answerable", {}).get("ranks", {}).get(PLAIN)
    if not ranks:
        return round(hops, 3)
    depth = max(1.0 if rank is None else log(rank) / log(DEPTH) for rank in ranks)
    return round((hops + depth) / 2, 3)


def pass_rates(path: Path) -> dict[str, float]:
    """Share of passed attempts by task id, of an evaluation's folder or its `episodes.jsonl`. Of several lines about an
    attempt the last one counts; masked ones do not."""
    file = path / "episodes.jsonl" if path.is_dir() else path
    rewards: dict[tuple[str, int], float | None] = {}
    try:
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                row = json.loads(line)
                rewards[str(row["task"]), int(row["sample"])] = row["reward"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRequest(
            f"{file} holds no results ({type(error).__name__}: {error})",
            action="name the folder that `webemu eval --out` wrote",
        ) from error
    passed: defaultdict[str, list[bool]] = defaultdict(list)
    for (name, _), reward in rewards.items():
        if reward is not None:
            passed[name].append(reward >= PASS)
    return {name: sum(each) / len(each) for name, each in passed.items()}
