"""SFT stage: TRL's trainer on rows of chat messages, with loss on the assistant's tokens only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from webemu.rl.train import distributed
from webemu.rl.train.chat_model import ChatModel, lora_config
from webemu.rl.train.messages import SftRow
from webemu.rl.train.recipe import Stage
from webemu.rl.train.step_log import StepLog
from webemu.rl.train.trainer import NO_OPTIONS, ReportStep, TrainingJob, device_options, split_batch, train_to_end

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments


def train_sft(job: TrainingJob, chat_model: ChatModel, rows: Sequence[SftRow]) -> SFTTrainer:
    """Train the model on the rows and return the trainer."""
    step_log = StepLog(job.folder, job.resume, distributed.is_first())
    trainer = SFTTrainer(
        model=chat_model.model,
        args=sft_config(job.stage, job.folder, job.seed, job.options),
        train_dataset=to_dataset(rows),
        processing_class=chat_model.tokenizer,
        peft_config=lora_config(job.lora),
        callbacks=[SftCallback(step_log, job.on_step)],
    )
    trainer.remove_callback(PrinterCallback)
    train_to_end(trainer, job)
    return trainer


class SftCallback(TrainerCallback):
    """Trainer callback that logs each step that TRL logs."""

    def __init__(self, step_log: StepLog, on_step: ReportStep) -> None:
        self._step_log, self._on_step = step_log, on_step

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: object,
    ) -> None:
        """Write the figures of a step."""
        if logs and "loss" in logs:
            self._step_log.write_step(state.global_step, {f"trl/{name}": value for name, value in logs.items()})
            self._on_step(state.global_step, logs)


def to_dataset(rows: Sequence[SftRow]) -> Dataset:
    """Return rows as a dataset whose tool calls keep their own arguments. As Arrow structs, each would get those of
    all others as nulls.
    """
    return Dataset.from_list(list(rows), on_mixed_types="use_json")


def sft_config(stage: Stage, folder: Path, seed: int, options: Mapping[str, object] = NO_OPTIONS) -> SFTConfig:
    """Return the stage as TRL's configuration; `options` are further arguments of it."""
    batch = split_batch(stage)
    return SFTConfig(
        output_dir=str(folder),
        max_steps=stage.steps,
        learning_rate=stage.rate,
        adam_beta2=stage.beta2,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": stage.steps // 5},
        warmup_steps=max(1, stage.steps // 50),
        per_device_train_batch_size=batch.micro_batch,
        gradient_accumulation_steps=batch.accumulation_steps,
        max_length=None,
        assistant_only_loss=True,
        seed=seed,
        logging_steps=min(10, max(1, stage.steps // 20)),
        save_steps=max(stage.save, stage.steps // 10),
        save_total_limit=1,
        report_to="tensorboard",
        disable_tqdm=True,
        dataloader_num_workers=0,
        **device_options() | dict(options),
    )
