"""Tiny models from scratch: a tokenizer learned on the spot, a compact chat template with its response template, and a
small Qwen3 with random weights. They use the same messages and tools as real models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from webemu.rl.train.messages import Message

PAD, END, USER, ASSISTANT, TOOL = "<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|tool|>"
CALL, ARGUMENT = "<|call|>", "<|argument|>"
CHAT_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|assistant|>' }}
{%- generation %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
{{- '<|call|>' + call.function.name }}
{%- for name, value in call.function.arguments.items() if value is not none %}
{{- '<|argument|>' + name + ':' + (value if value is string else value | tojson) }}
{%- endfor %}
{%- endfor %}
{{- '<|end|>' }}
{%- endgeneration %}
{%- elif message.role == 'tool' %}
{{- '<|tool|>' + message.content + '<|end|>' }}
{%- elif message.role == 'user' %}
{{- '<|user|>' + message.content + '<|end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"""
"""Chat template. Prefix-preserving; system messages and tools are left out, since such a model learns the tools by
heart.
"""
RESPONSE_TEMPLATE: dict[str, object] = {
    "defaults": {"role": "assistant"},
    "start_anchor": ASSISTANT,
    "fields": {
        "tool_calls": {
            "open_pattern": r"<\|call\|>(?P<name>\w+)(<\|argument\|>)?",
            "close_pattern": r"(?=<\|call\|>)|<\|end\|>|$",
            "repeats": True,
            "content": "kv-lines",
            "content_args": {"line_sep": ARGUMENT},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close_pattern": r"<\|end\|>|$", "content": "text"},
    },
}
"""Response template, with which TRL parses a turn back into a message."""
_TOKEN_PATTERN = Regex(r"[A-Za-z]+ ?|[0-9]|\s|[^A-Za-z0-9\s]+")
"""Pre-tokenizer pattern. A space belongs to the word before it: then the token after a word is the next word, which
small models learn to copy soonest, and the last word of a name is the same wherever a line or an argument ends.
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Dimensions of a model. `vocabulary` and `context` are in tokens."""

    hidden: int
    layers: int
    heads: int
    vocabulary: int
    context: int = 1024


SIZES = {"tiny": Size(128, 2, 4, 768), "small": Size(512, 8, 8, 2000, 2048)}
"""Sizes by the names that recipes use."""


def list_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the texts of a conversation in the form in which the template renders them."""
    for message in messages:
        yield message.get("content") or ""
        for call in message.get("tool_calls") or ():
            yield call["function"]["name"]
            arguments = call["function"].get("arguments")
            for name, value in arguments.items() if isinstance(arguments, Mapping) else ():
                yield f"{name}:{value if isinstance(value, str) else json.dumps(value)}"


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer trained on `texts`, with the templates above. The same texts give the same
    tokenizer.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_TOKEN_PATTERN, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [PAD, END, USER, ASSISTANT, TOOL, CALL, ARGUMENT]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False
    )
    bpe.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token=PAD, eos_token=END)
    fast.chat_template, fast.response_template = CHAT_TEMPLATE, RESPONSE_TEMPLATE
    return fast


def create_model(size: Size, seed: int, tokens: int, pad: int, end: int) -> Qwen3ForCausalLM:
    """Return a Qwen3 with random weights that depend on the seed."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=tokens, hidden_size=size.hidden, intermediate_size=4 * size.hidden,
        num_hidden_layers=size.layers, num_attention_heads=size.heads, num_key_value_heads=size.heads,
        head_dim=size.hidden // size.heads, max_position_embeddings=size.context, tie_word_embeddings=True,
        pad_token_id=pad, eos_token_id=end, bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)
