"""Tinker's cookbook plays groups of episodes, and what it makes of them updates a model in this process."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tinker_cookbook")

import tinker
import torch
from tinker_cookbook.completers import StopCondition, TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
from tinker_cookbook.rl.rollout_strategy import RetryOnFailure
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.rl.types import TrajectoryGroup

from tests.train.toy import BRIEF, good, of, qwen_words, turn
from tests.trainers import tiny
from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError
from webemu.rl.adapters.environment_config import EnvironmentConfig, close_clients
from webemu.rl.adapters.tinker import Encoding, SearchDataset, SearchGroup
from webemu.rl.tasks import Task
from webemu.rl.train.served_web import ServedWeb


class HalfRight(TokenCompleter):
    """Stands in for Tinker's sampling client: every second episode answers, the others only talk. The log
    probabilities are those of a model in this process.
    """

    def __init__(self, model: Any, words: Any, task: Task) -> None:
        self._model, self._words, self._task, self._episodes = model, words, task, 0

    async def __call__(
        self, model_input: tinker.ModelInput, stop: StopCondition, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        context = model_input.to_ints()
        assert stop == [self._words.eos_token_id]
        number = self._words.decode(context).count("<tool_response>")
        self._episodes += number == 0
        is_talk = number == 0 and self._episodes % 2
        ids = turn(self._words, [], "Well.") if is_talk else turn(self._words, good(self._task)[number])
        with torch.no_grad():
            logprobs = log_probabilities(self._model, context + ids)
        return TokensWithLogprobs(ids, logprobs[len(context) - 1 :].tolist())


def log_probabilities(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the log probability of each token after the first one."""
    logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    return logits.log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def played(group: SearchGroup, completer: TokenCompleter) -> TrajectoryGroup:
    async def play() -> TrajectoryGroup:
        try:
            return await do_group_rollout(group, completer, RetryOnFailure(max_retries=1))
        finally:
            await close_clients()

    return asyncio.run(play())


def update(model: Any, data: list[tinker.Datum]) -> tuple[float, list[float]]:
    """Make a step of Tinker's loss `importance_sampling`; return it and the ratios to the sampled probabilities."""
    losses, ratios = [], []
    for datum in data:
        fields = {name: one.to_torch() for name, one in datum.loss_fn_inputs.items()}
        ids = [*datum.model_input.to_ints(), int(fields["target_tokens"][-1])]
        ratio = torch.exp(log_probabilities(model, ids) - fields["logprobs"])
        losses.append(-(ratio * fields["advantages"]).sum())
        ratios += ratio[fields["mask"] > 0].tolist()
    loss = torch.stack(losses).sum()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss.backward()
    optimizer.step()
    return float(loss), ratios


def test_a_group_of_the_cookbook_updates_a_model(toy: ServedWeb, tmp_path: Path) -> None:
    words = qwen_words()
    words.save_pretrained(tmp_path)
    model, task = tiny.model(words, lambda *_: ""), of(toy, "fact")[0]
    group = SearchGroup(EnvironmentConfig(toy.server, BRIEF), Encoding(str(tmp_path)), task, 4)
    group = pickle.loads(pickle.dumps(group))
    trajectories = played(group, HalfRight(model, words, task))
    rewards = trajectories.get_total_rewards()
    assert sorted(rewards) == [0.0, 0.0, 1.0, 1.0]
    last_metrics = [one.transitions[-1].metrics for one in trajectories.trajectories_G]
    assert [one["correct"] for one in last_metrics] == rewards
    assert [one.get("over/silent", 0.0) for one in last_metrics] == [1.0 - reward for reward in rewards]

    advantages = compute_advantages([trajectories])
    data, _ = assemble_training_data([trajectories], advantages)
    assert len(data) == 4, "tokens are joined, so that an episode is one datum"
    own_tokens = [int(one.loss_fn_inputs["mask"].to_torch().sum()) for one in data]
    assert own_tokens == [sum(len(step.ac.tokens) for step in one.transitions) for one in trajectories.trajectories_G]
    right = data[rewards.index(1.0)].model_input.to_ints()
    before = float(log_probabilities(model, right).sum())
    loss, ratios = update(model, data)
    assert torch.allclose(torch.tensor(ratios), torch.ones(len(ratios)), atol=1e-4), "nothing was trained yet"
    assert loss != 0.0
    assert float(log_probabilities(model, right).sum()) > before


def test_an_outage_is_played_again_and_then_leaves_the_group_out(toy: ServedWeb, tmp_path: Path) -> None:
    words = qwen_words()
    words.save_pretrained(tmp_path)
    task = of(toy, "fact")[0]
    group = SearchGroup(EnvironmentConfig("http://127.0.0.1:9", BRIEF), Encoding(str(tmp_path)), task, 2)
    with pytest.raises(MaskedEpisodeError, match="unreachable"):
        played(group, HalfRight(tiny.model(words, lambda *_: ""), words, task))


def test_batches_are_whole(toy: ServedWeb, tmp_path: Path) -> None:
    groups = [SearchGroup(EnvironmentConfig(toy.server), Encoding("m"), one) for one in toy.tasks[:5]]
    dataset = SearchDataset(groups, 2)
    assert len(dataset) == 2
    assert list(dataset.get_batch(1)) == groups[2:4]
    assert groups[0].logging_tags() == [toy.tasks[0].recipe]
