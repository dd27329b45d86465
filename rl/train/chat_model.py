"""Chat model to train: created with random weights, loaded from a folder or hub id, and saved after a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from webemu.rl.train import tiny_models
from webemu.rl.train.chat_templates import AUTO, prepare_tokenizer
from webemu.rl.train.messages import SftRow
from webemu.rl.train.model_sources import locate
from webemu.rl.train.recipe import Model, RecipeError

if TYPE_CHECKING:  # slow imports, and peft is only needed for adapters
    from peft import LoraConfig, PeftModel
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, Trainer


@dataclass(frozen=True, slots=True)
class ChatModel:
    """Language model with the tokenizer that holds its chat template."""

    model: PreTrainedModel | PeftModel
    tokenizer: PreTrainedTokenizerBase


def create_model(spec: Model, seed: int, rows: Sequence[SftRow]) -> ChatModel:
    """Return a model of random weights, whose tokenizer is trained on the rows of its first stage."""
    size = tiny_models.SIZES[spec.size]
    texts = [text for row in rows for text in tiny_models.list_texts(row["messages"])]
    tokenizer = tiny_models.train_tokenizer(texts, size.vocabulary)
    model = tiny_models.create_model(
        size, spec.seed + seed, len(tokenizer), tokenizer.pad_token_id, tokenizer.eos_token_id
    )
    return ChatModel(model, tokenizer)


def load_model(source: str, template: str = AUTO, dtype: str = "float32", attention: str = "") -> ChatModel:
    """Return the model of a folder, a hub id or a GGUF file, whose weights are no longer quantised then.

    `template` names the chat template (`webemu.rl.train.chat_templates.prepare_tokenizer`); `dtype` and `attention` are
    those of `webemu.rl.train.recipe.Model`.

    Raises: ValueError if it is not there (`webemu.rl.train.model_sources`) or its chat template cannot be trained on.
    """
    from transformers import AutoModelForCausalLM  # slow import

    folder, gguf = locate(source)
    tokenizer = load_tokenizer(source, template)
    # By default 32 bits: weights of 16 bits lose small optimizer steps. Passes use bf16 anyway, set by the trainers.
    implementation = {"attn_implementation": attention} if attention else {}
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **gguf, **implementation)
    if gguf:
        _forget_quantization(model)
    return ChatModel(model, tokenizer)


def load_tokenizer(source: str, template: str = AUTO) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a folder, a hub id or a GGUF file, with a chat template that can be trained on.

    Raises: ValueError if it is not there (`webemu.rl.train.model_sources`) or its chat template cannot be trained on.
    """
    from transformers import AutoTokenizer  # slow import

    folder, gguf = locate(source, "tokenizer")
    return prepare_tokenizer(AutoTokenizer.from_pretrained(folder, **gguf), template)


def read_config(spec: Model) -> PretrainedConfig:
    """Return the configuration of a recipe's model. Raises: RecipeError if it cannot be read."""
    from transformers import AutoConfig  # slow import

    if spec.size:
        size = tiny_models.SIZES[spec.size]
        return tiny_models.create_model(size, 0, size.vocabulary, 0, 1).config
    folder, gguf = locate(spec.name)
    try:
        return AutoConfig.from_pretrained(folder, **gguf)
    except (OSError, ValueError, ImportError) as error:
        here = "" if Path(folder).exists() else "is no folder here, and "
        raise RecipeError(
            f"{spec.name!r} {here}cannot be read ({str(error).splitlines()[0]}): name the folder of a model (--model"
            " FOLDER); its config.json is enough for an estimate"
        ) from error


def _forget_quantization(model: PreTrainedModel) -> None:
    """Let a model of a GGUF file be saved: its weights are whole, but it still says that they were quantised."""
    del model.config.quantization_config
    model.hf_quantizer, model.is_quantized = None, False


def unwrap_model(trainer: Trainer) -> ChatModel:
    """Return the model of a trainer without the wrappers of distributed training; adapters stay on it."""
    return ChatModel(trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class)


def save_model(chat_model: ChatModel, folder: Path) -> None:
    """Save the model, with LoRA adapters merged into it, and the tokenizer."""
    model = chat_model.model
    merged_model = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    merged_model.save_pretrained(folder)
    chat_model.tokenizer.save_pretrained(folder)


def lora_config(rank: int) -> LoraConfig | None:
    """Return the configuration of LoRA adapters on all linear layers; None for rank 0, which trains all weights."""
    if not rank:
        return None
    from peft import LoraConfig  # needed for adapters only

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
