"""verl's own agent loop plays episodes to their end with a stand-in for its engine, and brings their rewards."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl")

from omegaconf import OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

from tests.rl.contract import SEED
from tests.rl.transcripts import Transcript, as_text, staged, transcript
from tests.rl.worlds import World
from tests.trainers.test_verl import configured
from webemu.rl.adapters import verl
from webemu.rl.adapters.environment_config import close_clients
from webemu.rl.adapters.verl_agent_loop import WebAgentLoop

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + (message['content'] or '') }}"
    "{% for call in message['tool_calls'] or [] %}{{ '<tool_call>\n' + call | tojson + '\n</tool_call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ROLLOUT = {
    "prompt_length": 4000, "response_length": 60_000, "full_determinism": False,
    "multi_turn": {"max_user_turns": 20, "max_assistant_turns": 20, "max_parallel_calls": 1, "format": "hermes",
                   "max_tool_response_length": 9000, "tool_response_truncate_side": "middle"},
}  # fmt: skip


def byte_tokenizer() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words.decoder = decoders.ByteLevel()
    words.add_tokens(["<|im_start|>", "<|im_end|>"])
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", chat_template=TEMPLATE)


class ScriptedEngine:
    """Stands in for verl's engine: says the calls of a transcript, one a turn, and then only talks."""

    def __init__(self, words: PreTrainedTokenizerFast, played: Transcript) -> None:
        self._words, self._played, self.turns = words, played, 0

    async def generate(self, prompt_ids: list[int], **more: Any) -> TokenOutput:
        calls = self._played.calls[self.turns : self.turns + 1]
        self.turns += 1
        text = "".join(as_text(name, arguments) for name, arguments in calls) or "Well."
        ids = self._words(text + "<|im_end|>")["input_ids"]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids))


def play(url: str, played: Transcript, folder: Path) -> tuple[AgentLoopOutput, ScriptedEngine]:
    words = byte_tokenizer()
    engine, row = ScriptedEngine(words, played), verl.build_rows([played.task], SEED)[0]

    async def run() -> AgentLoopOutput:
        config = DictConfigWrap(OmegaConf.create({"actor_rollout_ref": {"rollout": ROLLOUT}}))
        data, tools = DictConfigWrap(OmegaConf.create({})), ToolListWrap(configured(folder, url, played.case()))
        loop = WebAgentLoop(config, engine, words, None, RLHFDataset, data, tools=tools)
        extra_info: dict[str, Any] = row["extra_info"]  # type: ignore[assignment]
        output = await loop.run({}, raw_prompt=row["prompt"], extra_info=extra_info,
                                tools_kwargs=extra_info["tools_kwargs"])  # fmt: skip
        await close_clients()
        return output

    return asyncio.run(run()), engine


@pytest.mark.parametrize(
    "name",
    ["right", "wrong", "never opened", "malformed calls", "cut off", "outage in search", "outage in open",
     "judge fails"],
)  # fmt: skip
def test_a_trajectory_brings_the_reward_of_its_episode(world: World, tmp_path: Path, name: str) -> None:
    played = transcript(world, name)
    with staged(world, played) as url:
        output, engine = play(url, played, tmp_path)
    score = output.extra_fields["reward_extra_info"]
    assert output.reward_score == score["score"] == (played.earns or 0.0)
    assert bool(score["masked"]) == (played.earns is None)
    assert (sum(output.response_mask) == 0) == (played.earns is None), "no token of a masked episode gets a loss"
    assert json.dumps(score)
    if score["ended"] and not score["masked"]:
        assert engine.turns == len(played.calls), "nobody speaks after the end"


def test_tokens_are_the_engines_own(world: World, tmp_path: Path) -> None:
    played = transcript(world, "right")
    output, engine = play(world.url, played, tmp_path)
    words = byte_tokenizer()
    sampled_ids = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask]
    assert words.decode(sampled_ids).count("<tool_call>") == engine.turns == 3
    assert output.as_dict()["rm_scores"].tolist()[-1] == 1.0
