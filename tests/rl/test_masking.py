"""Outages in trainers that need a number: no advantage of their own, and none for the rest of their group."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from webemu.rl.adapters.masking import neutralize_masked
from webemu.rl.adapters.skyrl_masking import GeneratorOutput, mask_trajectory, neutralize_output


def advantages(rewards: list[float]) -> list[float]:
    return [reward - sum(rewards) / len(rewards) for reward in rewards]


@pytest.mark.parametrize("rewards", [[1.0, 0.0, 0.5, None], [None, 1.0, 1.0], [0.0, None, 0.0], [0.3, 0.9], [None]])
def test_a_masked_episode_changes_nobodys_advantage(rewards: list[float | None]) -> None:
    """The mean leaves the masked episode out, as in TRL."""
    scores, masked = [one or 0.0 for one in rewards], [one is None for one in rewards]
    levelled = neutralize_masked(scores, masked, ["a"] * len(rewards))
    masked_advantages = advantages(levelled)
    assert [value for value, is_masked in zip(masked_advantages, masked, strict=True) if is_masked] == pytest.approx(
        [0.0] * sum(masked)
    )
    present = [one for one in rewards if one is not None]
    unmasked = [value for value, is_masked in zip(masked_advantages, masked, strict=True) if not is_masked]
    assert unmasked == pytest.approx(advantages(present) if present else [])


def test_groups_are_apart() -> None:
    rewards = neutralize_masked([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b"])
    assert rewards == [1.0, 1.0, 0.0, 0.0]


@dataclass
class SkyTrajectory:
    """Fields of SkyRL's `TrajectoryOutput`."""

    reward: float
    env_metrics: dict[str, float]
    loss_mask: list[int] = field(default_factory=lambda: [1, 0, 1])
    stop_reason: str = "stop"


@pytest.mark.parametrize("by_token", [False, True])
def test_skyrl_trains_on_no_masked_trajectory(by_token: bool) -> None:
    rows = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.25, 0.0)]
    trajectories = [SkyTrajectory(reward, {"masked": masked}) for reward, masked in rows]
    for trajectory in trajectories:
        mask_trajectory(trajectory)
    assert [one.loss_mask for one in trajectories] == [[1, 0, 1], [1, 0, 1], [0, 0, 0], [1, 0, 1]]
    rewards = [[0.0, 0.0, one.reward] if by_token else one.reward for one in trajectories]
    output: GeneratorOutput = {"rewards": rewards, "stop_reasons": [one.stop_reason for one in trajectories]}  # type: ignore[typeddict-item]
    neutralize_output(output, ["a"] * 3 + ["b"])
    sums = [sum(one) if isinstance(one, list) else one for one in output["rewards"]]
    assert sums == [1.0, 0.0, 0.5, 0.25]
    assert advantages(sums[:3]) == [0.5, -0.5, 0.0]
