"""Turns sampled with keys and values of the turns before are those of generation without a cache, token by token."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from transformers import Qwen3Config, Qwen3ForCausalLM

from webemu.rl.train.rollout import Ids
from webemu.rl.train.turn_cache import TurnCache

END, PAD, VOCABULARY = 2, 0, 40


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(3)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=512, pad_token_id=PAD, eos_token_id=END,
        initializer_range=0.3,
    )  # fmt: skip
    return Qwen3ForCausalLM(config).eval()


def generate(model: Any, sampled: bool = False) -> Any:
    options = {"do_sample": True, "top_k": 0, "top_p": 1.0} if sampled else {"do_sample": False}
    return partial(model.generate, max_new_tokens=12, pad_token_id=PAD, eos_token_id=END, **options)


def sample_without_cache(model: Any, contexts: list[Ids], sampled: bool = False) -> list[Ids]:
    """Return the turns that generation over the whole padded contexts gives."""
    longest = max(map(len, contexts))
    ids = torch.tensor([[PAD] * (longest - len(one)) + one for one in contexts])
    mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in contexts])
    turns = generate(model, sampled)(input_ids=ids, attention_mask=mask)[:, longest:].tolist()
    return [turn[: turn.index(END) + 1] if END in turn else turn for turn in turns]


def play(model: Any, sampled: bool) -> tuple[list[Ids], list[list[Ids]], int]:
    """Play four turns of eight contexts, of which one ends with each turn, and return the contexts, the turns of
    each, and the number of token positions that the model computed.
    """
    rng, cache, rounds, positions = Random(5), TurnCache(PAD, [END]), [], 0

    def count(_: Any, args: Any, kwargs: Any) -> None:
        nonlocal positions
        positions += kwargs["input_ids"].numel()

    prompts = [[rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(5, 30))] for _ in range(4)]
    contexts = [prompts[n // 2] for n in range(8)]
    hook = model.register_forward_pre_hook(count, with_kwargs=True)
    torch.manual_seed(1)
    history = []
    for number in range(4):
        turns = cache.sample_turns(model, contexts, generate(model, sampled))
        history.append([list(one) for one in contexts])
        rounds.append(turns)
        contexts = [
            context + turn + [rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(1, 20))]
            for context, turn in zip(contexts, turns, strict=True)
        ]
        del contexts[number]
    hook.remove()
    return history, rounds, positions


@pytest.mark.parametrize("sampled", [False, True], ids=["greedy", "sampled"])
def test_turns_are_those_of_generation_without_a_cache(model: Any, sampled: bool) -> None:
    history, rounds, _ = play(model, sampled)
    torch.manual_seed(1)
    assert rounds == [sample_without_cache(model, contexts, sampled) for contexts in history]
    lengths = {len(turn) for turns in rounds for turn in turns}
    assert len(lengths) > 2  # rows ended at different places


def test_what_was_read_is_not_read_again(model: Any) -> None:
    history, rounds, positions = play(model, sampled=False)
    last = [context + turn for context, turn in zip(history[-1], rounds[-1], strict=True)]
    assert positions < 3 * sum(map(len, last))
    assert positions < sum(len(one) for contexts in history for one in contexts)


def test_cached_log_probabilities_are_those_of_one_pass(model: Any) -> None:
    """The scores of each generated token, against a pass over context and turn without padding."""
    cache, scores = TurnCache(PAD, [END]), list[torch.Tensor]()

    def scored(**inputs: Any) -> torch.Tensor:
        output = generate(model)(**inputs, return_dict_in_generate=True, output_scores=True)
        scores[:] = output.scores
        return output.sequences

    contexts = [[5, 6, 7, 8, 9, 10], [11, 12], [13, 14, 15]]
    for _ in range(3):
        turns = cache.sample_turns(model, contexts, scored)
        for row, (context, turn) in enumerate(zip(contexts, turns, strict=True)):
            logits = model(torch.tensor([context + turn])).logits[0, len(context) - 1 : -1]
            cached = torch.stack([one[row] for one in scores[: len(turn)]])
            torch.testing.assert_close(cached.log_softmax(-1), logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
        contexts = [context + turn + [20 + row] * (3 * row + 1) for row, (context, turn) in
                    enumerate(zip(contexts, turns, strict=True))]  # fmt: skip


def test_contexts_that_continue_nothing_are_read_anew(model: Any) -> None:
    cache = TurnCache(PAD, [END])
    for contexts in ([[3, 4, 5], [6, 7]], [[9]], [[8, 9, 10], [3, 4, 5]], [[3, 4, 5]]):
        assert cache.sample_turns(model, contexts, generate(model)) == sample_without_cache(model, contexts)


def test_turns_are_reported_as_they_end(model: Any) -> None:
    reported: list[tuple[int, Ids]] = []
    contexts = [[n, n + 1, n + 2] for n in range(3, 35)]
    cache = TurnCache(PAD, [END])
    turns = cache.sample_turns(model, contexts, generate(model), lambda number, ids: reported.append((number, ids)))
    complete = [(number, turn) for number, turn in enumerate(turns) if turn[-1] == END]
    assert complete
    assert sorted(reported) == complete
    lengths = [len(ids) for _, ids in reported]
    assert lengths == sorted(lengths)


def test_a_sliding_window_is_generated_without_a_cache() -> None:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, pad_token_id=PAD, eos_token_id=END, initializer_range=0.3,
        use_sliding_window=True, sliding_window=4, max_window_layers=0,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config).eval()
    history, rounds, _ = play(model, sampled=False)
    assert rounds == [sample_without_cache(model, contexts) for contexts in history]


def test_turns_are_sampled_in_the_type_of_the_weights_on_a_cpu(model: Any) -> None:
    """Accelerate wraps `forward` in autocast, which converts all weights for every new token."""
    AcceleratorState._reset_state(True)
    prepared = Accelerator(cpu=True, mixed_precision="bf16").prepare(deepcopy(model))
    is_autocast: list[bool] = []
    prepared.model.register_forward_pre_hook(lambda *_: is_autocast.append(torch.is_autocast_enabled("cpu")))
    contexts = [[5, 6, 7], [8, 9]]
    turns = TurnCache(PAD, [END]).sample_turns(prepared, contexts, generate(prepared))
    assert turns == sample_without_cache(model, contexts)
    assert is_autocast
    assert not any(is_autocast)
    prepared(input_ids=torch.tensor([contexts[0]]))
    assert is_autocast[-1], "training passes keep their autocast"
    AcceleratorState._reset_state(True)
