"""SFT stage: rows of chat messages, and TRL's trainer on them, with loss on the assistant's tokens only.

The rows are search patterns, or the best episodes of earlier GRPO stages mixed with patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from webemu.rl.arguments import TOOLS
from webemu.rl.tasks import Task
from webemu.rl.train import distributed
from webemu.rl.train.best import select_best_episodes
from webemu.rl.train.chat_model import ChatModel, lora_config
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.messages import Message, SftRow
from webemu.rl.train.patterns import play_traces
from webemu.rl.train.recipe import EpisodeSettings, Stage
from webemu.rl.train.step_log import StepLog
from webemu.rl.train.trainer import ReportStep, TrainingJob, device_options, split_batch, train_to_end

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments


def collect_rows(
    job: TrainingJob,
    tasks: Sequence[Task],
    earlier_grpo_folders: Sequence[Path],
    episodes: EpisodeSettings,
    loop_thread: EventLoopThread,
) -> list[SftRow]:
    """Return the rows of a stage: patterns played on `tasks`, or the best episodes of the folders of earlier GRPO
    stages with patterns added to them.

    Raises: InfrastructureError if an outage masks a pattern.
    """
    stage, best = job.stage, list[list[Message]]()
    if stage.rows == "best":
        best = select_best_episodes(earlier_grpo_folders, episodes.system)
        pattern_count = round(len(best) * sum(stage.mix.values()))
        tasks = Random(f"{job.seed}:{stage.name}").sample(tasks, min(pattern_count, len(tasks)))
    mix = dict(stage.mix)
    traces = play_traces(loop_thread, tasks, mix, episodes.limits, job.seed, episodes.system) if tasks else []
    return [{"messages": messages, "tools": list(TOOLS)} for messages in best + traces]


def train_sft(job: TrainingJob, chat_model: ChatModel, rows: Sequence[SftRow]) -> SFTTrainer:
    """Train the model on the rows and return the trainer."""
    step_log = StepLog(job.folder, job.resume, distributed.is_first())
    trainer = SFTTrainer(
        model=chat_model.model,
        args=sft_config(job.stage, job.folder, job.seed),
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


def sft_config(stage: Stage, folder: Path, seed: int) -> SFTConfig:
    """Return the stage as TRL's configuration."""
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
        logging_steps=10,
        save_steps=max(100, stage.save),
        save_total_limit=1,
        report_to="tensorboard",
        disable_tqdm=True,
        dataloader_num_workers=0,
        **device_options(),
    )
