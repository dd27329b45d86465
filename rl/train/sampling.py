"""Codec between chat messages and token ids, and two samplers: a model in this process, and a GRPO trainer's own
engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from trl.chat_template_utils import parse_response

from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import Task
from webemu.rl.train.messages import Message, ToolCall, system_messages
from webemu.rl.train.rollout import Ids

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
        self._model, self._max_tokens, self._temperature = model, max_tokens, temperature

    @torch.no_grad()
    def sample_turns(self, contexts: list[Ids]) -> tuple[list[Ids], None]:
        """Return the next turn after each context. This engine provides no log probabilities."""
        pad, end = self.tokenizer.pad_token_id, self.end_id
        longest = max(map(len, contexts))
        # Contexts are padded on the left, so that generation continues all of them at the same position.
        ids = torch.tensor([[pad] * (longest - len(one)) + one for one in contexts])
        attention_mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in contexts])
        sampling_options: dict[str, float] = {
            "do_sample": True,
            "temperature": self._temperature,
            "top_k": 0,
            "top_p": 1.0,
        }
        sampling_options = sampling_options if self._temperature else {"do_sample": False}
        device = self._model.device
        generated = self._model.generate(
            input_ids=ids.to(device),
            attention_mask=attention_mask.to(device),
            max_new_tokens=self._max_tokens,
            pad_token_id=pad,
            eos_token_id=end,
            **sampling_options,
        )
        turns: list[Ids] = generated[:, longest:].tolist()
        return [turn[: turn.index(end) + 1] if end in turn else turn for turn in turns], None


class TrainerSampler(ChatCodec):
    """Sampler that uses the engine of a GRPO trainer."""

    def __init__(self, trainer: GRPOTrainer, system: str = "") -> None:
        super().__init__(trainer.processing_class, system)
        self._trainer = trainer

    def sample_turns(self, contexts: list[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        """Return the next turn after each context, with log probabilities if the engine provides them."""
        return self._trainer._generate_single_turn(contexts, None, {}, num_generations=1)  # type: ignore[no-any-return]
