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
from webemu.rl.tasks import Evidence, Task
from webemu.rl.train.rollout import Rollout

PlayEpisodes = Callable[[Sequence[tuple[Task, int]]], list[Rollout]]
"""Function that plays an episode for each (task, seed), in order."""


def earned_reward(rollout: Rollout) -> float | None:
    """Return the reward that an episode has earned; None if it is masked."""
    return rollout.score.reward


def earned_outcome(rollout: Rollout) -> float | None:
    """Return what a curriculum learns of an episode (`score_outcome`)."""
    return score_outcome(rollout.score)


def play_groups(
    curriculum: Curriculum,
    play: PlayEpisodes,
    count: int,
    group: int,
    resample: int,
    step: int,
    min_spread: float = 0.0,
    reward_of: Callable[[Rollout], float | None] = earned_reward,
    outcome_of: Callable[[Rollout], float | None] = earned_outcome,
) -> tuple[list[Rollout], int]:
    """Return `count` groups of `group` rollouts in one list, and the number of groups that were played in all.

    A group whose rewards are all the same, or differ by less than `min_spread`, teaches nothing, so another one is
    drawn, up to `resample` times (DAPO, Yu et al. 2025, section 3.2). The curriculum learns from every attempt,
    selected or not. Under a control, `reward_of` and `outcome_of` are its own: the choice must not see the true ones.
    """
    varying_groups: list[list[Rollout]] = []
    uniform_groups: list[list[Rollout]] = []
    played = 0
    for attempt in range(resample + 1):
        missing = count - len(varying_groups)
        if not missing:
            break
        samples = [(task, _sample_seed(step, attempt, n)) for task in curriculum.draw(missing) for n in range(group)]
        batch_rollouts = play(samples)
        played += missing
        for rollout in batch_rollouts:
            curriculum.learn(rollout.task, outcome_of(rollout))
        for begin in range(0, len(batch_rollouts), group):
            group_rollouts = batch_rollouts[begin : begin + group]
            is_varying = _is_varying([reward_of(one) for one in group_rollouts], min_spread)
            (varying_groups if is_varying else uniform_groups).append(group_rollouts)
    return [rollout for rollouts in (varying_groups + uniform_groups)[:count] for rollout in rollouts], played


def has_reward_spread(rollouts: Sequence[Rollout], min_spread: float = 0.0) -> bool:
    """True if the rewards of a group differ, by `min_spread` at least. Masked rollouts do not count."""
    return _is_varying([one.score.reward for one in rollouts], min_spread)


def level_small_spreads(rewards: Sequence[float | None], group: int, min_spread: float) -> list[float | None]:
    """Return the rewards of groups in order, with the mean instead of each reward in groups that differ by less than
    `min_spread`: their advantage is 0, whatever divides it. Masked episodes stay None.

        level_small_spreads([1.0, 0.98, 1.0, 0.0], 2, 0.1)  # [0.99, 0.99, 1.0, 0.0]
    """
    levelled: list[float | None] = []
    for begin in range(0, len(rewards), group):
        group_rewards = rewards[begin : begin + group]
        present = [reward for reward in group_rewards if reward is not None]
        is_small = bool(present) and not _is_varying(group_rewards, min_spread)
        mean = sum(present) / len(present) if present else 0.0
        levelled += [mean if is_small and reward is not None else reward for reward in group_rewards]
    return levelled


def _is_varying(rewards: Sequence[float | None], min_spread: float) -> bool:
    present = [reward for reward in rewards if reward is not None]
    spread = max(present, default=0.0) - min(present, default=0.0)
    return spread > 0 and spread >= min_spread


def score_outcome(score: Score) -> float | None:
    """Return 1 for a correct answer or a report with a reward above one half, else 0; None if the episode is masked."""
    if score.reward is None:
        return None
    return float(score.terms.get("correct") or 0) if "correct" in score.terms else float(score.reward > 0.5)


_UNREACHABLE = Evidence("https://control.invalid/", "Nobody reads this.", "nobody")
"""Evidence from which an answer follows that no page states."""


def shuffle_answers(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Return the tasks with the answers of other tasks. This is a control: nothing that is found for a question is
    correct.
    """
    order = [*tasks]
    Random(f"{seed}:shuffled").shuffle(order)
    doubled = order + order
    return [
        _with_other_answers(task, islice(doubled, position, position + len(order)))
        for position, task in enumerate(tasks)
    ]


def _with_other_answers(task: Task, other_tasks: Iterable[Task]) -> Task:
    """Return the task with the answers of the first candidate that shares none with it. A shared answer would
    sometimes be correct, and dynamic sampling would select just those groups. The evidence is a page that nobody can
    open: with the task's own, or none, a lucky guess would earn wherever the opened page seems to bear it.
    """
    other = next((one for one in other_tasks if not {*one.answers} & {*task.answers}), task)
    return replace(task, answers=other.answers, answer_type=other.answer_type, evidence=(_UNREACHABLE,))


def _sample_seed(step: int, attempt: int, sample: int) -> int:
    return step * 1000 + attempt * 100 + sample
