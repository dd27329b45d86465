"""Baselines without a model on one task file: how much is guessed, read in snippets, and found by a script.

python -m benchmarks.baselines TASKS [--collection NAME] [--root FOLDER] [--server URL] [--out FOLDER]

The oracle must earn everything. A closed book and a list of results earn nothing, since rewards demand an opened page;
so the table has the share of their answers that are right, over all tasks and over those with an open answer (no
choice between two, and not "not found"). "Not found" counts as right after two searches only, as rewards have it.
`shown` is the share of tasks whose accepted answer some title or snippet of
the results has: no reader of snippets can be better. The scripted searcher's passes are given by difficulty. The
closed book knows the answers of the split `train`, without the task's own, so only the other splits tell what a new
question gives away.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webemu.rl.attempt_row import AttemptRow
from webemu.rl.evaluation.agents import BaselineName, baseline_agent
from webemu.rl.evaluation.evaluate import Evaluation, evaluate
from webemu.rl.evaluation.rows import PASS_REWARD, name_difficulty
from webemu.rl.evaluation.run import RunSettings
from webemu.rl.gates import contains_answer
from webemu.rl.rewards import MIN_SEARCHES
from webemu.rl.serving import run_server
from webemu.rl.tasks import Task, load

BASELINES = (BaselineName.oracle, BaselineName.closed_book, BaselineName.snippet_only, BaselineName.scripted)
"""Baselines that are played."""
CLOSED_BOOK_LIMIT, SNIPPET_LIMIT = 0.02, 0.15
"""Largest shares of right answers of a closed book and of snippets."""
Rows = Mapping[str, Mapping[str, AttemptRow]]
"""Attempts by baseline and task id."""


def main() -> None:
    """Play all baselines and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--collection", default=None)
    parser.add_argument("--root", type=Path, default=None)
    parser.add_argument("--server", default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    tasks = load(options.tasks)
    with (
        tempfile.TemporaryDirectory() as temporary,
        run_server(options.server, options.root, options.collection) as address,
    ):
        folder = options.out or Path(temporary)
        rows = {name.value: play(name, tasks, address, folder / name.value) for name in BASELINES}
    print_table(tasks, rows)


def play(name: BaselineName, tasks: Sequence[Task], address: str, folder: Path) -> dict[str, AttemptRow]:
    """Let a baseline answer the tasks and return its attempts by task id."""
    asyncio.run(
        evaluate(
            Evaluation(tasks, {"count": len(tasks)}, baseline_agent(name, tasks), RunSettings(), folder),
            address,
            lambda row: None,
        )
    )
    with (folder / "episodes.jsonl").open(encoding="utf-8") as lines:
        attempts = [json.loads(line) for line in lines]
    return {row["task"]: row for row in attempts if not row["mask"]}


def print_table(tasks: Sequence[Task], rows: Rows) -> None:
    """Print the shares over all tasks, over those with open answers, and by difficulty and recipe."""
    print(f"{'':<22}{'tasks':>6}{'oracle':>8}{'closed':>8}{'snippets':>9}{'shown':>7}{'script':>8}{'(right)':>8}")
    open_tasks = [task for task in tasks if task.answer_type not in ("choice", "none", "report")]
    print_line("all", tasks, rows)
    print_line("open answers", open_tasks, rows)
    groupings: dict[str, Callable[[Task], str]] = {
        "difficulty": lambda task: name_difficulty(task.difficulty),
        "hops": lambda task: str(task.hops),
        "recipe": lambda task: task.recipe or "none",
        "split": lambda task: task.split or "none",
    }
    for heading, group_of in groupings.items():
        groups: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            groups[group_of(task)].append(task)
        print(f"by {heading}")
        for group in sorted(groups):
            print_line(f"  {group}", groups[group], rows)
    closed = share(tasks, lambda task: is_right(task, rows["closed-book"].get(task.id)))
    snippets = share(tasks, lambda task: is_right(task, rows["snippet-only"].get(task.id)))
    print(f"closed book {'meets' if closed < CLOSED_BOOK_LIMIT else 'misses'} its limit of {CLOSED_BOOK_LIMIT}")
    print(f"snippets {'meet' if snippets < SNIPPET_LIMIT else 'miss'} their limit of {SNIPPET_LIMIT}")


def print_line(name: str, tasks: Sequence[Task], rows: Rows) -> None:
    """Print the shares of one group of tasks."""
    figures = (
        share(tasks, lambda task: has_passed(rows["oracle"].get(task.id))),
        share(tasks, lambda task: is_right(task, rows["closed-book"].get(task.id))),
        share(tasks, lambda task: is_right(task, rows["snippet-only"].get(task.id))),
        share(tasks, lambda task: shows_answer(task, rows["snippet-only"].get(task.id))),
        share(tasks, lambda task: has_passed(rows["scripted"].get(task.id))),
        share(tasks, lambda task: is_right(task, rows["scripted"].get(task.id))),
    )
    cells = "".join(f"{figure:>{width}.3f}" for figure, width in zip(figures, (8, 8, 9, 7, 8, 8), strict=True))
    print(f"{name:<22}{len(tasks):>6}{cells}")


def share(tasks: Sequence[Task], holds: Callable[[Task], bool]) -> float:
    """Return the share of tasks for which something holds; 0 without tasks."""
    return sum(map(holds, tasks)) / len(tasks) if tasks else 0.0


def has_passed(row: AttemptRow | None) -> bool:
    """True if the attempt earned enough to count as a pass."""
    return row is not None and (row["reward"] or 0.0) >= PASS_REWARD


def is_right(task: Task, row: AttemptRow | None) -> bool:
    """True if the answer of the attempt is right, whatever it cites; "not found" only if the attempt searched."""
    if row is None or (task.answer_type == "none" and (row["terms"].get("searches") or 0.0) < MIN_SEARCHES):
        return False
    return bool(row["terms"].get("correct"))


def shows_answer(task: Task, row: AttemptRow | None) -> bool:
    """True if the results of a snippet-only attempt had an accepted answer that the question does not have."""
    if row is None or task.answer_type in ("none", "report"):
        return False
    texts = [step["observation"] for turn in row["turns"] for step in turn.get("steps", ()) if step["tool"] == "search"]
    return any(contains_answer(text.partition("\n\n")[2], answer) for text in texts for answer in task.answers)


if __name__ == "__main__":
    main()
