"""A stage of SFT: TRL's trainer on chat messages, its loss on what the model says alone."""

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
from webemu.rl.train.step_log import Journal


class Keeper(TrainerCallback):
    """Writes a line for each step that is logged."""

    def __init__(self, journal: Journal, show: Any) -> None:
        self._journal, self._show = journal, show

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if logs and "loss" in logs:
            self._journal.step(state.global_step, {f"trl/{name}": value for name, value in logs.items()})
            self._show(state.global_step, logs)


def sft(
    stage: Stage, model: Any, tokenizer: Any, rows: Sequence[dict[str, Any]], folder: Path, *, seed: int,
    peft: Any = None, resume: int = 0, show: Any = lambda step, figures: None,
) -> Any:  # fmt: skip
    """Train `model` on rows of `messages` and `tools`, from checkpoint `resume` if that is not 0; gives the trainer."""
    journal = Journal(folder, resume, distributed.is_first())
    trainer = SFTTrainer(
        model=model, args=config(stage, folder, seed), train_dataset=dataset(rows), processing_class=tokenizer,
        peft_config=peft, callbacks=[Keeper(journal, show)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    go_on(trainer, folder, resume, stage.steps)
    return trainer


def go_on(trainer: Any, folder: Path, resume: int, steps: int) -> None:
    """Train to the last step. Started at its end, a trainer would make one step more."""
    checkpoint = str(folder / f"checkpoint-{resume}") if resume else None
    if resume < steps:
        trainer.train(resume_from_checkpoint=checkpoint)
    else:
        trainer._load_from_checkpoint(checkpoint)


def dataset(rows: Sequence[dict[str, Any]]) -> Dataset:
    """Rows whose tool calls keep their own arguments: as Arrow structs each would get those of all, as nulls."""
    return Dataset.from_list(list(rows), on_mixed_types="use_json")


def config(stage: Stage, folder: Path, seed: int) -> SFTConfig:
    """The stage in TRL's words."""
    at_once, passes = parts(stage)
    return SFTConfig(
        output_dir=str(folder), max_steps=stage.steps, learning_rate=stage.rate, adam_beta2=stage.beta2,
        lr_scheduler_type="warmup_stable_decay", lr_scheduler_kwargs={"num_decay_steps": stage.steps // 5},
        warmup_steps=max(1, stage.steps // 50), per_device_train_batch_size=at_once, gradient_accumulation_steps=passes,
        max_length=None, assistant_only_loss=True, seed=seed, logging_steps=10,
        save_steps=max(100, stage.save), save_total_limit=1, report_to="tensorboard", disable_tqdm=True,
        dataloader_num_workers=0, **machine(),
    )  # fmt: skip


def parts(stage: Stage) -> tuple[int, int]:
    """Rows of a process that go through the model at once, and how often in a step. Raises RecipeError."""
    mine = stage.batch // distributed.count()
    at_once = stage.micro or mine
    if stage.batch % (distributed.count() * at_once):
        raise RecipeError(
            f"stage {stage.name}: {stage.batch} rows cannot be shared by {distributed.count()} processes, {at_once} at once"
        )
    return at_once, mine // at_once


def machine() -> dict[str, Any]:
    """bf16 where there is CUDA, else the processor."""
    cuda = torch.cuda.is_available()
    return {"use_cpu": not cuda, "bf16": cuda, "gradient_checkpointing": cuda}
