"""Choice of the tasks of a GRPO step: drawn by the curriculum, the same for all samples of a group and on every
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from webemu.rl.curriculum import Curriculum
from webemu.rl.rubric import Score
from webemu.rl.tasks import Task
from webemu.rl.train.rollout import Rollout

Play = Callable[[Sequence[tuple[Task, int]]], list[Rollout]]
"""Function that plays an episode for each (task, seed), in order."""


def groups(
    curriculum: Curriculum, play: Play, count: int, group: int, resample: int, step: int
) -> tuple[list[Rollout], int]:
    """Return `count` groups of `group` rollouts in one list, and the number of groups that were played in all.

    A group whose rewards are all the same teaches nothing, so another one is drawn, up to `resample` times (DAPO, Yu
    et al. 2025, section 3.2). The curriculum learns from every attempt, selected or not.
    """
    kept: list[list[Rollout]] = []
    spare: list[list[Rollout]] = []
    played = 0
    for attempt in range(resample + 1):
        wanted = count - len(kept)
        if not wanted:
            break
        asked = [(task, _seed(step, attempt, n)) for task in curriculum.draw(wanted) for n in range(group)]
        made = play(asked)
        played += wanted
        for one in made:
            curriculum.learn(one.task, outcome(one.score))
        for begin in range(0, len(made), group):
            (kept if is_telling(made[begin : begin + group]) else spare).append(made[begin : begin + group])
    return [one for rollouts in (kept + spare)[:count] for one in rollouts], played


def is_telling(rollouts: Sequence[Rollout]) -> bool:
    """True if the rewards of a group differ. Masked rollouts do not count."""
    rewards = {one.score.reward for one in rollouts if one.score.reward is not None}
    return len(rewards) > 1


def outcome(score: Score) -> float | None:
    """Return 1 for a correct answer or a report with a reward above one half, else 0; None if the episode is masked."""
    if score.reward is None:
        return None
    return float(score.terms.get("correct") or 0) if "correct" in score.terms else float(score.reward > 0.5)


def shuffled(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Return the tasks with the answers of other tasks. This is a control: nothing that is found for a question is
    correct.
    """
    order = [*tasks]
    Random(f"{seed}:shuffled").shuffle(order)
    twice = order + order
    return [_with_another(task, islice(twice, place, place + len(order))) for place, task in enumerate(tasks)]


def _with_another(task: Task, others: Iterable[Task]) -> Task:
    """Return the task with the answers of the first candidate that shares none with it. A shared answer would
    sometimes be correct, and dynamic sampling would select just those groups.
    """
    other = next((one for one in others if not {*one.answers} & {*task.answers}), task)
    return replace(task, answers=other.answers, answer_type=other.answer_type)


def _seed(step: int, attempt: int, sample: int) -> int:
    return step * 1000 + attempt * 100 + sample
