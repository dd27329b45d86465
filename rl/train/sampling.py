"""Codec between chat messages and token ids, and two samplers: a model in this process, and a GRPO trainer's own
engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from trl.chat_template_utils import parse_response
from trl.models.utils import unwrap_model_for_generation

from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import Task
from webemu.rl.train.messages import Message, ToolCall, system_messages
from webemu.rl.train.rollout import Ids, OnTurn
from webemu.rl.train.turn_cache import TurnCache

if TYPE_CHECKING:  # slow imports
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from trl import GRPOTrainer


class ChatCodec:
    """Codec from messages to token ids and back, by the tokenizer's chat template and response template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, system: str = "") -> None:
        self.tokenizer, self._system, self.end_id = tokenizer, system, int(tokenizer.eos_token_id)

    def opening_messages(self, task: Task) -> list[Message]:
        """Return the messages with which an episode begins."""
        system = system_messages(self._system, task.answer_type)
        return [*system, {"role": "user", "content": sanitize(task.question)}]

    def encode_prompt(self, task: Task, tools: Sequence[Mapping[str, object]]) -> Ids:
        """Return the token ids with which an episode begins, up to the model's first turn."""
        return self.encode_conversation(self.opening_messages(task), tools)

    def encode_conversation(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]
    ) -> Ids:
        """Return the token ids of a conversation, up to the model's next turn."""
        return self._encode(messages, tools=list(tools), add_generation_prompt=True)

    def parse_turn(self, ids: Ids, context: Ids, tools: Sequence[Mapping[str, object]]) -> Message:
        """Return a turn as a message with `content`, and with `tool_calls` and `reasoning_content` if there are any."""
        try:
            message: Message = parse_response(self.tokenizer, ids, prefix=context, tools=list(tools))
        except RecursionError:  # deeply nested JSON
            message = {"role": "assistant", "content": self.tokenizer.decode(ids, skip_special_tokens=True)}
        # Templates differ: some give calls as {"type", "function"}, others the function alone, or no calls as null.
        calls: list[ToolCall] = [
            {"type": "function", "function": call.get("function", call)}
            for call in message.pop("tool_calls", None) or ()
        ]
        if calls:
            message["tool_calls"] = calls
        return message

    def encode_tool_results(self, results: Sequence[tuple[str, str]]) -> Ids:
        """Return the token ids that the template adds for tool messages, after a turn that ends with its end-of-turn
        token.

        Raises: ValueError if the template renders earlier messages differently once others follow.
        """
        calls: list[ToolCall] = [
            {"type": "function", "function": {"name": name, "arguments": {}}} for name, _ in results
        ]
        earlier_messages: list[Message] = [
            {"role": "user", "content": "-"},
            {"role": "assistant", "content": "", "tool_calls": calls},
        ]
        tool_messages: list[Message] = [{"role": "tool", "name": name, "content": text} for name, text in results]
        prefix_ids, full_ids = (
            self._encode(earlier_messages),
            self._encode([*earlier_messages, *tool_messages], add_generation_prompt=True),
        )
        prefix_ids = prefix_ids[: len(prefix_ids) - prefix_ids[::-1].index(self.end_id)]
        if full_ids[: len(prefix_ids)] != prefix_ids:
            raise ValueError(
                "the chat template must be prefix-preserving, but later messages change how it renders earlier ones"
            )
        return full_ids[len(prefix_ids) :]

    def _encode(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: list[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = False,
    ) -> Ids:
        ids: Ids = self.tokenizer.apply_chat_template(
            list(messages), tools=tools, tokenize=True, return_dict=False, add_generation_prompt=add_generation_prompt
        )
        return ids


class LocalSampler(ChatCodec):
    """Sampler that runs a model in this process with `transformers`."""

    def __init__(
        self,
        model: PreTrainedModel | PeftModel,
        tokenizer: PreTrainedTokenizerBase,
        max_tokens: int,
        temperature: float = 1.0,
        system: str = "",
    ) -> None:
        """Prepare a sampler. `max_tokens` is the token limit of a turn; temperature 0 decodes greedily."""
        super().__init__(tokenizer, system)
        self._model, self._cache = model, TurnCache(tokenizer.pad_token_id, [self.end_id])
        self._options: dict[str, object] = {
            "max_new_tokens": max_tokens, "pad_token_id": tokenizer.pad_token_id, "eos_token_id": self.end_id,
            "do_sample": bool(temperature),
        }  # fmt: skip
        if temperature:
            self._options |= {"temperature": temperature, "top_k": 0, "top_p": 1.0}

    def sample_turns(self, contexts: list[Ids], on_turn: OnTurn | None = None) -> tuple[list[Ids], None]:
        """Return the next turn after each context. This engine provides no log probabilities."""
        generate = partial(self._model.generate, **self._options)
        return self._cache.sample_turns(self._model, contexts, generate, on_turn), None


class TrainerSampler(ChatCodec):
    """Sampler that uses the engine of a GRPO trainer: vLLM as TRL drives it, or its model with a `TurnCache`.

    It serves one step: the weights must not change between its turns.
    """

    def __init__(self, trainer: GRPOTrainer, system: str = "") -> None:
        super().__init__(trainer.processing_class, system)
        self._trainer = trainer
        self._cache = TurnCache(self.tokenizer.pad_token_id, trainer.eos_token_ids)

    def sample_turns(
        self, contexts: list[Ids], on_turn: OnTurn | None = None
    ) -> tuple[list[Ids], list[list[float]] | None]:
        """Return the next turn after each context, with log probabilities if the engine provides them."""
        trainer = self._trainer
        if trainer.use_vllm:
            return trainer._generate_single_turn(contexts, None, {}, num_generations=1)  # type: ignore[no-any-return]
        # As in TRL's `_generate_single_turn`, which would read all contexts anew.
        with (
            unwrap_model_for_generation(
                trainer.model_wrapped,
                trainer.accelerator,
                gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
                generation_kwargs=trainer.generation_kwargs,
                gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
            ) as model,
            torch.no_grad(),
            trainer._dist.summon_full_params(trainer.model_wrapped, recurse=False),
        ):
            generate = partial(model.generate, generation_config=trainer.generation_config)
            return self._cache.sample_turns(model, contexts, generate, on_turn), None
