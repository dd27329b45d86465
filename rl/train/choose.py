"""Which tasks a GRPO step is about: drawn by the curriculum, the same for all samples of a group, on every process."""

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


def groups(
    curriculum: Curriculum, play: Play, count: int, group: int, resample: int, step: int
) -> tuple[list[Rollout], int]:
    """`count` groups of rollouts, and how many groups were played in all.

    A group whose rewards are all the same teaches nothing: it is drawn again, `resample` times at most (DAPO, Yu et al.
    2025, section 3.2). Every attempt is told to the curriculum, kept or not.
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
    """Whether rewards differ."""
    rewards = {one.score.reward for one in rollouts if one.score.reward is not None}
    return len(rewards) > 1


def outcome(score: Score) -> float | None:
    """1 for a right answer, or a report above one half; None where masked."""
    if score.reward is None:
        return None
    return float(score.terms.get("correct") or 0) if "correct" in score.terms else float(score.reward > 0.5)


def shuffled(tasks: Sequence[Task], seed: int) -> list[Task]:
    """The same questions with others' answers, which their own are not: nothing that is found for them is right."""
    order = [*tasks]
    Random(f"{seed}:shuffled").shuffle(order)
    twice = order + order
    return [_with_another(task, islice(twice, place, place + len(order))) for place, task in enumerate(tasks)]


def _with_another(task: Task, others: Iterable[Task]) -> Task:
    """Where answers are few, a shuffled one is right now and then, and sampling would look for those groups."""
    other = next((one for one in others if not {*one.answers} & {*task.answers}), task)
    return replace(task, answers=other.answers, answer_type=other.answer_type)


def _seed(step: int, attempt: int, sample: int) -> int:
    return step * 1000 + attempt * 100 + sample
