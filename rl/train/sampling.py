"""A model that speaks through `transformers`, and one that speaks through a trainer's own engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from trl.chat_template_utils import add_response_schema, get_training_chat_template, parse_response

from webemu.rl.sanitizing import neutral
from webemu.rl.tasks import Task
from webemu.rl.train.rollout import Ids


def prepared(tokenizer: Any) -> Any:
    """The tokenizer with a chat template that can be trained on, and a response template. Raises ValueError.

    TRL has both for the models it knows, by the text of their templates. What is trained speaks by that template and
    is saved with it: Qwen3's own, for one, drops earlier thoughts, so that no turn would be what was said.
    """
    name = tokenizer.name_or_path
    if not tokenizer.chat_template:
        raise ValueError(f"{name}: no chat template: take an instruct model, or give its tokenizer one")
    try:
        if not getattr(tokenizer, "response_template", None):
            tokenizer = add_response_schema(tokenizer)
        tokenizer.chat_template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    turn = [{"role": "user", "content": "-"}, {"role": "assistant", "content": "-"}]
    if tokenizer.eos_token_id not in tokenizer.apply_chat_template(turn, return_dict=False)[-2:]:
        raise ValueError(f"{name}: a turn of its chat template must end with its eos token, {tokenizer.eos_token!r}")
    return tokenizer


class Tongue:
    """Messages to ids and back, by the tokenizer's chat template and response template."""

    def __init__(self, tokenizer: Any, system: str = "") -> None:
        self.tokenizer, self._system, self.end = tokenizer, system, int(tokenizer.eos_token_id)

    def messages(self, task: Task) -> list[dict[str, str]]:
        """With which an episode begins."""
        system = [{"role": "system", "content": self._system}] if self._system else []
        return [*system, {"role": "user", "content": neutral(task.question)}]

    def prompt(self, task: Task, tools: Sequence[dict[str, Any]]) -> Ids:
        return self.context(self.messages(task), tools)

    def context(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> Ids:
        """The ids of a conversation, up to the model's next turn."""
        return self._ids(list(messages), tools=list(tools), add_generation_prompt=True)

    def said(self, ids: Ids, context: Ids, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
        try:
            said: dict[str, Any] = parse_response(self.tokenizer, ids, prefix=context, tools=list(tools))
        except RecursionError:  # JSON of a thousand brackets
            said = {"role": "assistant", "content": self.tokenizer.decode(ids, skip_special_tokens=True)}
        calls = [
            {"type": "function", "function": call.get("function", call)} for call in said.pop("tool_calls", None) or ()
        ]
        return said | ({"tool_calls": calls} if calls else {})

    def answers(self, shown: Sequence[tuple[str, str]]) -> Ids:
        """What the template adds after a turn that ends with its end-of-turn token."""
        call = [{"type": "function", "function": {"name": name, "arguments": {}}} for name, _ in shown]
        before: list[dict[str, Any]] = [
            {"role": "user", "content": "-"},
            {"role": "assistant", "content": "", "tool_calls": call},
        ]
        after = [{"role": "tool", "name": name, "content": text} for name, text in shown]
        start, whole = self._ids(before), self._ids([*before, *after], add_generation_prompt=True)
        start = start[: len(start) - start[::-1].index(self.end)]
        if whole[: len(start)] != start:
            raise ValueError("the chat template changes what was said before: it must be prefix-preserving")
        return whole[len(start) :]

    def _ids(self, messages: list[dict[str, Any]], **said: Any) -> Ids:
        ids: Ids = self.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **said)
        return ids


class Voice(Tongue):
    """A model in this process."""

    def __init__(self, model: Any, tokenizer: Any, most: int, temperature: float = 1.0, system: str = "") -> None:
        """`most`: tokens of a turn; a temperature of 0 is greedy."""
        super().__init__(tokenizer, system)
        self._model, self._most, self._temperature = model, most, temperature

    @torch.no_grad()
    def turns(self, contexts: list[Ids]) -> tuple[list[Ids], None]:
        pad, end = self.tokenizer.pad_token_id, self.end
        longest = max(map(len, contexts))
        ids = torch.tensor([[pad] * (longest - len(one)) + one for one in contexts])
        seen = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in contexts])
        how = {"do_sample": True, "temperature": self._temperature, "top_k": 0, "top_p": 1.0}
        how = how if self._temperature else {"do_sample": False}
        device = self._model.device
        made = self._model.generate(
            input_ids=ids.to(device), attention_mask=seen.to(device), max_new_tokens=self._most, pad_token_id=pad,
            eos_token_id=end, **how,
        )  # fmt: skip
        turns: list[Ids] = made[:, longest:].tolist()
        return [turn[: turn.index(end) + 1] if end in turn else turn for turn in turns], None


class TrainerVoice(Tongue):
    """The engine of a GRPO trainer."""

    def __init__(self, trainer: Any, system: str = "") -> None:
        super().__init__(trainer.processing_class, system)
        self._trainer = trainer

    def turns(self, contexts: list[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        return self._trainer._generate_single_turn(contexts, None, {}, num_generations=1)  # type: ignore[no-any-return]
