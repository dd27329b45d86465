"""Masked episodes in SkyRL's trainer: their tokens get no loss, and their reward moves nobody's advantage.

SkyRL's environments return numbers only, so a masked episode must be taken out where SkyRL allows it: `mask_trajectory`
belongs in a generator's `agent_loop`, `neutralize_output` in a trainer's `postprocess_generator_output`
(docs/trainers.md). Neither imports SkyRL. Step-wise trajectories are not supported.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol, TypedDict

from webemu.rl.adapters.masking import neutralize_masked

MASKED = "masked"
"""Stop reason of a masked trajectory, and the name of the metric that says so."""


class Trajectory(Protocol):
    """Trajectory of SkyRL's generator (`TrajectoryOutput`), as far as it is used here."""

    loss_mask: list[int]
    stop_reason: str
    env_metrics: Mapping[str, float]


class GeneratorOutput(TypedDict):
    """Output of SkyRL's generator, as far as it is used here; rewards are numbers, or lists with one for each token."""

    rewards: list[float] | list[list[float]]
    stop_reasons: list[str]


def mask_trajectory(trajectory: Trajectory) -> None:
    """Take a masked episode's tokens out of the loss, and name its stop reason so that the trainer finds it."""
    if trajectory.env_metrics.get(MASKED):
        trajectory.loss_mask = [0] * len(trajectory.loss_mask)
        trajectory.stop_reason = MASKED


def neutralize_output(output: GeneratorOutput, uids: Sequence[Hashable]) -> None:
    """Give masked trajectories the mean reward of their group, so that their advantage is 0 (`neutralize_masked`).

    `uids` name the group of each trajectory, as SkyRL passes them.
    """
    rewards = output["rewards"]
    scores = [float(sum(one)) if isinstance(one, list) else float(one) for one in rewards]
    levelled = neutralize_masked(scores, [one == MASKED for one in output["stop_reasons"]], uids)
    for number, (score, level) in enumerate(zip(scores, levelled, strict=True)):
        row = rewards[number]
        if isinstance(row, list):
            row[-1] += level - score
        else:
            rewards[number] = level  # type: ignore[call-overload]
