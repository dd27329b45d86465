"""Evaluation after a stage: the trained model answers held-out tasks, each once, at the temperature of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from random import Random

from transformers import set_seed

from webemu.rl.evaluation.statistics import mean_with_interval
from webemu.rl.tasks import Task
from webemu.rl.train import distributed
from webemu.rl.train.chat_model import ChatModel
from webemu.rl.train.choose import score_outcome
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.manifest import HeldOutFigures
from webemu.rl.train.recipe import EpisodeSettings, Stage
from webemu.rl.train.rollout import Rollout, play
from webemu.rl.train.run_folder import RunError
from webemu.rl.train.sampling import LocalSampler
from webemu.rl.train.step_log import is_grounded

BATCH_SIZE = 128
"""Episodes that are played together, which bounds the memory of generation."""


def draw_tasks(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """Return at most `count` tasks. The same tasks and seed give the same draw, after every stage."""
    return Random(f"{seed}:held-out").sample(tasks, min(count, len(tasks)))


def play_held_out(
    chat_model: ChatModel,
    tasks: Sequence[Task],
    stage: Stage,
    seed: int,
    episodes: EpisodeSettings,
    loop_thread: EventLoopThread,
) -> list[Rollout]:
    """Return the episodes that the model plays on held-out tasks, those of all processes."""
    chat_model.model.eval()
    set_seed(seed)
    sampler = LocalSampler(chat_model.model, chat_model.tokenizer, stage.turn, stage.temperature, episodes.system)
    local_samples, rollouts = distributed.this_rank_share([(task, seed) for task in tasks]), list[Rollout]()
    for begin in range(0, len(local_samples), BATCH_SIZE):
        batch = local_samples[begin : begin + BATCH_SIZE]
        rollouts += play(
            loop_thread, sampler, batch, episodes.limits_under_control, stage.context, episodes.policy, episodes.judge
        )[0]
    return distributed.gather_all(rollouts)


def summarize_held_out(rollouts: Sequence[Rollout]) -> HeldOutFigures:
    """Return the figures of held-out episodes: overall, and by recipe if their tasks have several.

    Raises: RunError if all are masked.
    """
    scored = [one for one in rollouts if one.score.reward is not None]
    if not scored:
        raise RunError(
            f"an outage masked all held-out tasks ({rollouts[0].score.mask}): start the server, then run this again"
        )
    recipes = sorted({one.task.recipe for one in scored})
    by_recipe = {name: _compute_figures([one for one in scored if one.task.recipe == name]) for name in recipes}
    return {
        **_compute_figures(scored),
        "masked": len(rollouts) - len(scored),
        "recipes": by_recipe if len(recipes) > 1 else {},
    }


def _compute_figures(rollouts: Sequence[Rollout]) -> dict[str, object]:
    """Return the means of rollouts that are not masked, with their intervals."""
    values = {
        "grounded": [float(is_grounded(one)) for one in rollouts],
        "correct": [score_outcome(one.score) or 0.0 for one in rollouts],
        "reward": [one.score.reward or 0.0 for one in rollouts],
        "coverage": [one.score.terms["coverage"] or 0.0 for one in rollouts if "coverage" in one.score.terms],
        "calls": [float(len(one.latencies)) for one in rollouts],
    }
    return {
        name: asdict(interval) for name, samples in values.items() if (interval := mean_with_interval(samples, name))
    }
