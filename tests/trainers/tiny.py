"""A real Qwen3 of random weights, with a tokenizer of bytes and TRL's Qwen3 template, which samples what it is told to.

Stands in for a model: nothing can be downloaded here. Its forward and backward passes are real.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import chat_template_utils

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
           "<tool_response>", "</tool_response>")  # fmt: skip


def tokenizer() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(BPE({letter: number for number, letter in enumerate(letters)}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words.decoder = decoders.ByteLevel()
    words.add_tokens(list(SPECIAL))
    fast_tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast_tokenizer.chat_template = chat_template_utils.qwen3_chat_template
    return fast_tokenizer


class ScriptedQwen(Qwen3ForCausalLM):
    """Says what a function makes of the text so far, for each row."""

    say: Callable[[int, str], str]
    words: PreTrainedTokenizerFast

    def generate(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        texts = self.words.batch_decode(input_ids, skip_special_tokens=False)
        replies = [self.words(self.say(row, text) + "<|im_end|>")["input_ids"] for row, text in enumerate(texts)]
        longest = max(map(len, replies))
        padded = [ids + [self.words.pad_token_id] * (longest - len(ids)) for ids in replies]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


def model(words: PreTrainedTokenizerFast, say: Callable[[int, str], str]) -> ScriptedQwen:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=1 << 15, tie_word_embeddings=True,
        pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id,
    )  # fmt: skip
    scripted = ScriptedQwen(config)
    scripted.words, scripted.say = words, say
    return scripted


def call(name: str, arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
