"""Generation that keeps the model's keys and values between the turns of a batch of episodes.

A turn then reads only what is new: the results of the tools. Contexts that are equal, as those of a group are at first,
are read once. Episodes that ended are dropped from the cache with the next turn.

Rows of a cache are padded on the left and may have holes: each turn adds as many columns as its longest row needs.
The attention mask hides the holes, and `transformers` counts positions by the mask, so the model computes what it
would compute for the whole context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from transformers import DynamicCache, StoppingCriteria, StoppingCriteriaList
from transformers.cache_utils import DynamicLayer

from webemu.rl.train.rollout import Ids, OnTurn

if TYPE_CHECKING:  # slow imports
    from peft import PeftModel
    from transformers import PreTrainedModel

Generate = Callable[..., torch.Tensor]
"""Function with the parameters of `generate` of `transformers` that returns contexts and turns as one tensor."""


class TurnCache:
    """Sampler of turns whose contexts continue those of the turn before.

    It serves one set of weights: after an update, take a new one. Contexts that continue nothing are read anew, so the
    turns never depend on what is cached.
    """

    def __init__(self, pad_id: int, end_ids: Sequence[int]) -> None:
        """Prepare an empty cache. `end_ids` are the tokens that end a turn."""
        self._pad_id, self._end_ids = pad_id, frozenset(end_ids)
        self._cache: DynamicCache | None = None
        self._rows: list[Ids] = []
        """Token ids whose keys and values each row of the cache holds."""
        self._is_real = torch.zeros(0, 0, dtype=torch.long)
        """1 for each column of a row that holds a token, 0 for padding and holes."""

    @torch.no_grad()
    def sample_turns(
        self,
        model: PreTrainedModel | PeftModel,
        contexts: Sequence[Ids],
        generate: Generate,
        on_turn: OnTurn | None = None,
    ) -> list[Ids]:
        """Return the next turn after each context, with its end token unless it was cut off.

        `on_turn` receives the number and the turn of a context as soon as the turn ends, while others are still being
        written.
        """
        with _without_autocast_on_cpu(model):
            parents = self._find_parents(contexts)
            if parents is None:
                parents = self._read_anew(model, contexts)
            self._keep_rows(parents)
            ids, attention_mask = self._pad_inputs(contexts, model.device)
            width = ids.shape[1]
            watchers = [_TurnWatcher(width, self._end_ids, on_turn)] if on_turn else []
            generated = generate(
                input_ids=ids,
                attention_mask=attention_mask,
                past_key_values=self._cache,
                stopping_criteria=StoppingCriteriaList(watchers),
            )
        turns = [self._cut(turn) for turn in generated[:, width:].tolist()]
        self._remember(contexts, turns, attention_mask, generated.shape[1])
        return turns

    def _find_parents(self, contexts: Sequence[Ids]) -> list[int] | None:
        """Return the row that each context continues, None if one continues none. Contexts keep their order."""
        parents: list[int] = []
        rows = iter(enumerate(self._rows))
        for context in contexts:
            parent = next((number for number, ids in rows if _continues(context, ids)), None)
            if parent is None:
                return None
            parents.append(parent)
        return parents

    def _read_anew(self, model: PreTrainedModel | PeftModel, contexts: Sequence[Ids]) -> list[int]:
        """Read each different context but for its last token and return the row of each context."""
        numbers = {ids: number for number, ids in enumerate(dict.fromkeys(map(tuple, contexts)))}
        self._rows = [list(ids[:-1]) for ids in numbers]
        ids, self._is_real = self._pad_left(self._rows, model.device)
        self._cache = _create_cache(model)
        if self._cache and ids.shape[1]:
            positions = (self._is_real.cumsum(1) - 1).clamp(min=0)
            model(
                input_ids=ids, attention_mask=self._is_real, position_ids=positions, past_key_values=self._cache,
                use_cache=True, logits_to_keep=1,
            )  # fmt: skip
        return [numbers[tuple(context)] for context in contexts]

    def _keep_rows(self, parents: list[int]) -> None:
        """Reduce the cache to the rows of `parents`, in their order, and close the holes."""
        rows = torch.tensor(parents, device=self._is_real.device)
        self._rows, is_real = [self._rows[parent] for parent in parents], self._is_real[rows]
        # A stable sort moves padding and holes to the left, and leaves the tokens in order.
        width = max(map(len, self._rows))
        columns = is_real.argsort(dim=1, stable=True)[:, is_real.shape[1] - width :]
        self._is_real = is_real.gather(1, columns)
        for layer in self._cache.layers if self._cache else ():
            if layer.is_initialized:
                layer.keys, layer.values = (_gather(one, rows, columns) for one in (layer.keys, layer.values))

    def _pad_inputs(self, contexts: Sequence[Ids], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Return whole rows and their attention mask: first what the cache holds, then what is new."""
        if not self._cache:
            return self._pad_left(contexts, device)
        new_ids = [context[len(row) :] for context, row in zip(contexts, self._rows, strict=True)]
        ids, is_real = self._pad_left(new_ids, device)
        cached_ids, _ = self._pad_left(self._rows, device)
        return torch.cat([cached_ids, ids], 1), torch.cat([self._is_real, is_real], 1)

    def _remember(self, contexts: Sequence[Ids], turns: Sequence[Ids], mask: torch.Tensor, width: int) -> None:
        """Note what the cache holds after a turn: all but the last of the generated columns."""
        written = width - 1 - mask.shape[1]
        if not self._cache or self._cache.get_seq_length() != width - 1:  # this model keeps its state elsewhere
            self._cache, self._rows = None, []
            return
        self._rows = [context + turn[:written] for context, turn in zip(contexts, turns, strict=True)]
        lengths = torch.tensor([min(len(turn), written) for turn in turns], device=mask.device)
        is_own = torch.arange(written, device=mask.device) < lengths[:, None]
        self._is_real = torch.cat([mask, is_own.long()], 1)

    def _pad_left(self, rows: Sequence[Ids], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the ids and the attention mask of rows that end at the same column."""
        longest = max(map(len, rows))
        ids = [[self._pad_id] * (longest - len(row)) + row for row in rows]
        mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
        shape = len(rows), longest
        return (
            torch.tensor(ids, dtype=torch.long, device=device).view(shape),
            torch.tensor(mask, dtype=torch.long, device=device).view(shape),
        )

    def _cut(self, turn: Ids) -> Ids:
        """Return a turn without the padding after its end."""
        return turn[: next((place for place, id_ in enumerate(turn, 1) if id_ in self._end_ids), len(turn))]


class _TurnWatcher(StoppingCriteria):
    """Observer of a generation, which reports each turn as soon as it ends, and stops nothing."""

    def __init__(self, width: int, end_ids: frozenset[int], on_turn: OnTurn) -> None:
        """Prepare an observer of turns that begin at column `width`."""
        self._width, self._end_ids, self._on_turn = width, end_ids, on_turn
        self._reported: set[int] = set()

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: object) -> torch.Tensor:
        """Report the turns that ended with the last token."""
        for number, id_ in enumerate(input_ids[:, -1].tolist()):
            if id_ in self._end_ids and number not in self._reported:  # padding may be an end token too
                self._reported.add(number)
                self._on_turn(number, input_ids[number, self._width :].tolist())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)


@contextmanager
def _without_autocast_on_cpu(model: PreTrainedModel | PeftModel) -> Iterator[None]:
    """Let a model on a CPU run in the type of its weights: under autocast, where Accelerate's wrapper of `forward` puts
    it, every new token would convert all weights (SmolLM2-135M on 2 cores: 56 tokens a second instead of 311).
    """
    wrapped_forward, plain_forward = model.__dict__.get("forward"), model.__dict__.get("_original_forward")
    if wrapped_forward is None or plain_forward is None or model.device.type != "cpu":
        yield
        return
    model.forward = plain_forward
    try:
        yield
    finally:
        model.forward = wrapped_forward


def _create_cache(model: PreTrainedModel | PeftModel) -> DynamicCache | None:
    """Return an empty cache; None for models that keep more than the keys and values of all tokens."""
    cache = DynamicCache(config=model.config.get_text_config(decoder=True))
    return cache if all(type(layer) is DynamicLayer for layer in cache.layers) else None


def _gather(states: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return keys or values (row, head, column, part) of some rows, with the columns of each row in another order."""
    selected = states[rows]
    return selected.gather(2, columns[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3]))


def _continues(context: Ids, ids: Ids) -> bool:
    return len(context) > len(ids) and context[: len(ids)] == ids
