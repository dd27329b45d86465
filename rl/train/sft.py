"""SFT stage: TRL's trainer on chat messages, with loss on the assistant's tokens only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from webemu.rl.train import distributed
from webemu.rl.train.recipe import RecipeError, Stage
from webemu.rl.train.step_log import StepLog


class SftCallback(TrainerCallback):
    """Trainer callback that logs each step that TRL logs."""

    def __init__(self, step_log: StepLog, show: Any) -> None:
        self._step_log, self._on_step = step_log, show

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Write the figures of a step."""
        if logs and "loss" in logs:
            self._step_log.write_step(state.global_step, {f"trl/{name}": value for name, value in logs.items()})
            self._on_step(state.global_step, logs)


def train_sft(
    stage: Stage, model: Any, tokenizer: Any, rows: Sequence[dict[str, Any]], folder: Path, *, seed: int,
    peft: Any = None, resume: int = 0, show: Any = lambda step, figures: None,
) -> Any:  # fmt: skip
    """Train `model` on rows of `messages` and `tools`, and return the trainer. A `resume` other than 0 is the step of
    the checkpoint to continue from.
    """
    step_log = StepLog(folder, resume, distributed.is_first())
    trainer = SFTTrainer(
        model=model, args=sft_config(stage, folder, seed), train_dataset=to_dataset(rows), processing_class=tokenizer,
        peft_config=peft, callbacks=[SftCallback(step_log, show)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    train_to_end(trainer, folder, resume, stage.steps)
    return trainer


def train_to_end(trainer: Any, folder: Path, resume: int, steps: int) -> None:
    """Train to the last step. A checkpoint of the last step is only loaded, since the trainer would make one more
    step.
    """
    checkpoint = str(folder / f"checkpoint-{resume}") if resume else None
    if resume < steps:
        trainer.train(resume_from_checkpoint=checkpoint)
    else:
        trainer._load_from_checkpoint(checkpoint)


def to_dataset(rows: Sequence[dict[str, Any]]) -> Dataset:
    """Return rows as a dataset whose tool calls keep their own arguments. As Arrow structs, each would get those of
    all others as nulls.
    """
    return Dataset.from_list(list(rows), on_mixed_types="use_json")


def sft_config(stage: Stage, folder: Path, seed: int) -> SFTConfig:
    """Return the stage as TRL's configuration."""
    micro_batch, accumulation_steps = split_batch(stage)
    return SFTConfig(
        output_dir=str(folder),
        max_steps=stage.steps,
        learning_rate=stage.rate,
        adam_beta2=stage.beta2,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": stage.steps // 5},
        warmup_steps=max(1, stage.steps // 50),
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=accumulation_steps,
        max_length=None,
        assistant_only_loss=True,
        seed=seed,
        logging_steps=10,
        save_steps=max(100, stage.save),
        save_total_limit=1,
        report_to="tensorboard",
        disable_tqdm=True,
        dataloader_num_workers=0,
        **device_options(),
    )


def split_batch(stage: Stage) -> tuple[int, int]:
    """Return the micro-batch size per process, and the number of micro-batches in a step.

    Raises: RecipeError if the batch is not a multiple of processes times micro-batch size.
    """
    local_batch = stage.batch // distributed.process_count()
    micro_batch = stage.micro or local_batch
    if stage.batch % (distributed.process_count() * micro_batch):
        raise RecipeError(
            f"stage {stage.name}: batch ({stage.batch}) must be a multiple of processes "
            f"({distributed.process_count()}) times micro"
            f" ({micro_batch})"
        )
    return micro_batch, local_batch // micro_batch


def device_options() -> dict[str, Any]:
    """Return the trainer options for this machine: bf16 and gradient checkpointing with CUDA, else the CPU."""
    cuda = torch.cuda.is_available()
    return {"use_cpu": not cuda, "bf16": cuda, "gradient_checkpointing": cuda}
