"""Estimate of memory and time of a recipe on common cards, before anything is trained or rented.

Computed from the model's configuration alone (no weights are loaded), for one card without sharding. Sources:
transformer arithmetic as in Kaplan et al. 2020 (2 FLOPs for each parameter and token forward, 4 backward, 2 more with
checkpointing), activations as in Korthikanti et al. 2022, data sheets of the cards. Time assumes that training reaches
`TRAINING_SHARE` of a card's peak and decoding `DECODING_SHARE` of its memory bandwidth: expect a factor of two either
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webemu.rl.train.chat_model import read_config
from webemu.rl.train.held_out import BATCH_SIZE
from webemu.rl.train.recipe import Model, Recipe, Stage

TRAINING_SHARE, DECODING_SHARE = 0.3, 0.5
"""Shares of a card's peak that training and decoding reach."""
SPARE_BYTES = 2 << 30
"""Memory of the CUDA context and of fragmentation."""
LAYER_ACTIVATION_BYTES = 34
"""Bytes of activations of a layer for each token and hidden unit, without attention scores (Korthikanti et al.)."""
LOGIT_BYTES = 10
"""Bytes of each logit in training: in 16 bits, in 32 bits, and the gradient in 32 bits."""
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Card:
    """Graphics card."""

    name: str
    memory_gib: int
    teraflops: float
    """Dense peak in bfloat16."""
    gigabytes_per_second: float
    """Memory bandwidth."""


CARDS = (
    Card("RTX 4090", 24, 165, 1008),
    Card("L40S", 48, 362, 864),
    Card("A100 80G", 80, 312, 2039),
    Card("H100", 80, 989, 3350),
    Card("H200", 141, 989, 4800),
)
"""Common cards."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Sizes of a model that decide about memory and time."""

    parameters: int
    trainable: int
    """Parameters that are trained: all of them, or those of the LoRA adapters."""
    layers: int
    hidden: int
    vocabulary: int
    cache_values: int
    """Keys and values of one token, over all layers."""


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """Estimate of one stage."""

    name: str
    tokens: int
    """Tokens of one step, prompts and results of tools included, if every episode fills its context."""
    memory_bytes: int
    training_flops: float
    """FLOPs of all steps."""
    decoded_bytes: float
    """Bytes that decoding reads from memory in all steps; 0 for SFT."""

    def fits(self, card: Card) -> bool:
        """True if the stage fits into the card's memory."""
        return self.memory_bytes <= card.memory_gib * GIB

    def minutes(self, card: Card) -> float:
        """Return the minutes that all steps take on the card."""
        training_seconds = self.training_flops / (card.teraflops * 1e12 * TRAINING_SHARE)
        decoding_seconds = self.decoded_bytes / (card.gigabytes_per_second * 1e9 * DECODING_SHARE)
        return (training_seconds + decoding_seconds) / 60


def measure_model(spec: Model) -> ModelSize:
    """Return the sizes of a recipe's model, from its configuration. Raises: RecipeError if there is none."""
    import torch  # slow imports
    from transformers import AutoModelForCausalLM

    config = read_config(spec)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    parameters = sum(weight.numel() for weight in model.parameters())
    linear = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    head = model.get_output_embeddings()
    adapters = sum(spec.lora * (layer.in_features + layer.out_features) for layer in linear if layer is not head)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return ModelSize(
        parameters,
        adapters or parameters,
        config.num_hidden_layers,
        config.hidden_size,
        config.vocab_size,
        2 * config.num_hidden_layers * heads * head_size,
    )


def estimate_stage(stage: Stage, spec: Model, size: ModelSize, turns: int) -> StageEstimate:
    """Return the estimate of a stage whose episodes have at most `turns` turns of the model."""
    tokens, rows = stage.batch * stage.context, stage.micro or stage.batch
    weight_bytes = 2 if spec.dtype == "bfloat16" else 4
    optimizer_bytes = 2 if "8bit" in spec.optimizer else 2 * weight_bytes
    state = size.parameters * weight_bytes + size.trainable * (weight_bytes + optimizer_bytes)
    per_token = size.layers * size.hidden * 2 + size.hidden * LAYER_ACTIVATION_BYTES + size.vocabulary * LOGIT_BYTES
    cache = stage.batch * stage.context * size.cache_values * 2 if stage.kind == "grpo" else 0
    # Passes run in 16 bits: weights of 32 bits are copied for them.
    copies = size.parameters * 2 if weight_bytes == 4 else 0
    # After every stage, held-out episodes are played together, without gradients.
    held_out_cache = BATCH_SIZE * stage.context * size.cache_values * 2
    evaluation = size.parameters * weight_bytes + held_out_cache + SPARE_BYTES
    if not stage.steps:
        return StageEstimate(stage.name, 0, evaluation, 0.0, 0.0)
    training = state + copies + max(rows * stage.context * per_token, cache) + SPARE_BYTES
    memory = max(training, evaluation)
    flops = 8.0 * size.parameters * tokens
    if stage.kind == "sft":
        return StageEstimate(stage.name, tokens, memory, flops * stage.steps, 0.0)
    # Every decoded token reads all weights once for the whole batch, and the cache of each rollout.
    decoded = turns * stage.turn * (2.0 * size.parameters + cache / 2)
    flops += 2.0 * size.parameters * tokens
    replays = 1 + stage.resample / 2
    return StageEstimate(stage.name, tokens, memory, flops * stage.steps * replays, decoded * stage.steps * replays)


def format_estimate(recipe: Recipe, cards: Sequence[Card] = CARDS) -> Iterator[str]:
    """Yield the estimate of a recipe as lines of text. Raises: RecipeError if its model has no configuration here."""
    size = measure_model(recipe.model)
    trainable = "" if size.trainable == size.parameters else f", {_count(size.trainable)} of them in adapters trained"
    yield f"{'model':<12} {_count(size.parameters)} parameters{trainable}; {size.layers} layers of {size.hidden}"
    estimates = [estimate_stage(stage, recipe.model, size, recipe.limits.turns) for stage in recipe.stages]
    width = max(12, *(len(one.name) for one in estimates))
    header = "".join(f"{card.name:>12}" for card in cards)
    yield f"{'stage':<{width}} {'tokens a step':>14} {'memory':>9}{header}"
    for estimate in estimates:
        cells = "".join(
            f"{f'{estimate.minutes(card):,.1f} min' if estimate.fits(card) else 'too small':>12}" for card in cards
        )
        yield f"{estimate.name:<{width}} {estimate.tokens:>14,} {estimate.memory_bytes / GIB:>5.1f} GiB{cells}"
    totals = [sum(one.minutes(card) for one in estimates) for card in cards]
    fitting = [all(one.fits(card) for one in estimates) for card in cards]
    cells = "".join(f"{f'{total:,.0f} min' if fits else '-':>12}" for total, fits in zip(totals, fitting, strict=True))
    yield f"{'all':<{width}} {'':>14} {'':>9}{cells}"
    yield "             one card, episodes that fill their context; a factor of two either way. Too small: lower micro,"
    yield '             or set lora = 16, dtype = "bfloat16" or optimizer = "adamw_bnb_8bit" in [model]'


def _count(number: int) -> str:
    """Return a number of parameters in thousands, millions or billions."""
    for unit, divisor in (("B", 1e9), ("M", 1e6)):
        if number >= divisor:
            return f"{number / divisor:.2f}{unit}"
    return f"{number / 1e3:.0f}k"
