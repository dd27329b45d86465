"""Difficulty of a task, from 0 (easy) to 1 (hard).

If attempts were measured, it is the share of them that fail. Otherwise half of it comes from the number of hops, 1 to
5, and half from the rank at which search shows the page that is hardest to find: from 1 to 50 on a logarithmic scale,
and 1 if no query made from the question shows it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from math import log
from pathlib import Path

from webemu.emulator.errors import BadRequest
from webemu.rl.tasks.cached_client import MAX_RESULTS, PLAIN_SETTING
from webemu.rl.tasks.filters.answerable import read_ranks
from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.task import Task

MAX_HOPS = 5
"""Number of hops from which the part for hops is 1."""
OBFUSCATION_LEVELS = {
    "described": 1,
    "common": 1,
    "compare": 1,
    "between": 1,
    "related": 1,
    "requires": 1,
    "joined": 2,
}
"""Level of obfuscation by recipe: 1, descriptions instead of names; 2, descriptions from another page."""
PASS_REWARD = 0.5
"""Smallest reward that `webemu eval` counts as a pass."""


def estimate_difficulty(task: Task, verdicts: dict[str, Verdict]) -> float:
    """Return the difficulty of a task, from the verdicts of the filters by name."""
    pass_rate = verdicts.get("band", {}).get("rate")
    if isinstance(pass_rate, int | float):
        return round(1 - pass_rate, 3)
    # A description in place of a name is half a hop: the name has to be found first.
    hop_share = min(1.0, (task.hops - 1 + OBFUSCATION_LEVELS.get(task.recipe, 0) / 2) / (MAX_HOPS - 1))
    ranks = read_ranks(verdicts.get("answerable", {}), "ranks").get(PLAIN_SETTING)
    if not ranks:
        return round(hop_share, 3)
    # The hardest page to find decides.
    rank_share = max(1.0 if rank is None else log(rank) / log(MAX_RESULTS) for rank in ranks)
    return round((hop_share + rank_share) / 2, 3)


def read_pass_rates(path: Path) -> dict[str, float]:
    """Return the share of passed attempts by task id, from an evaluation's folder or its `episodes.jsonl`.

    If several lines are about one attempt, the last one counts. Masked attempts (`reward` is null) do not count.

    Raises:
        BadRequest: The file cannot be read or holds no results.
    """
    file = path / "episodes.jsonl" if path.is_dir() else path
    rewards: dict[tuple[str, int], float | None] = {}
    try:
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                row = json.loads(line)
                # An attempt that was repeated has several lines; the last one overwrites the others.
                rewards[str(row["task"]), int(row["sample"])] = row["reward"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRequest(
            f"{file} holds no results ({type(error).__name__}: {error})",
            action="name the folder that `webemu eval --out` wrote",
        ) from error
    outcomes: defaultdict[str, list[bool]] = defaultdict(list)
    for (task_id, _), reward in rewards.items():
        if reward is not None:
            outcomes[task_id].append(reward >= PASS_REWARD)
    return {task_id: sum(task_outcomes) / len(task_outcomes) for task_id, task_outcomes in outcomes.items()}
