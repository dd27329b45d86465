"""Parts that the SFT and the GRPO trainer share: what a stage is to train, how its batch is split, and where it
continues.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch

from webemu.rl.train import distributed
from webemu.rl.train.recipe import Model, RecipeError, Stage

if TYPE_CHECKING:
    from transformers import Trainer

NO_OPTIONS: Mapping[str, object] = MappingProxyType({})
"""Options of a trainer that is given none."""
ReportStep = Callable[[int, Mapping[str, float]], None]
"""Function that is called with a step and its figures, to show the progress."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """Stage as its trainer needs it."""

    stage: Stage
    folder: Path
    """Folder of the stage, for checkpoints and step log."""
    seed: int
    lora: int = 0
    """Rank of LoRA adapters; 0 trains all weights."""
    vllm: str = ""
    """Engine of GRPO rollouts, as `webemu.rl.train.recipe.Model.vllm` names it."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Further arguments of the trainer (`trainer_options`)."""
    resume: int = 0
    """Step of the checkpoint to continue from; 0 starts at the beginning."""
    on_step: ReportStep = lambda step, figures: None


def train_to_end(trainer: Trainer, job: TrainingJob) -> None:
    """Train to the last step. A checkpoint of the last step is only loaded, since the trainer would make one more
    step.
    """
    checkpoint = str(job.folder / f"checkpoint-{job.resume}") if job.resume else None
    if job.resume < job.stage.steps:
        trainer.train(resume_from_checkpoint=checkpoint)
    else:
        trainer._load_from_checkpoint(checkpoint)


@dataclass(frozen=True, slots=True)
class BatchSplit:
    """Batch of a step as one process works on it."""

    micro_batch: int
    """Rows that go through the model at the same time."""
    accumulation_steps: int
    """Micro-batches of a step."""


def split_batch(stage: Stage) -> BatchSplit:
    """Return how the batch of a step is split on each process.

    Raises: RecipeError if the batch is not a multiple of processes times micro-batch size.
    """
    processes = distributed.process_count()
    local_batch = stage.batch // processes
    micro_batch = stage.micro or local_batch
    if stage.batch % (processes * micro_batch):
        raise RecipeError(
            f"stage {stage.name}: batch ({stage.batch}) must be a multiple of processes ({processes}) times micro"
            f" ({micro_batch})"
        )
    return BatchSplit(micro_batch, local_batch // micro_batch)


def device_options() -> dict[str, bool]:
    """Return the trainer options for this machine: bf16 and gradient checkpointing with CUDA, else the CPU."""
    cuda = torch.cuda.is_available()
    return {"use_cpu": not cuda, "bf16": cuda, "gradient_checkpointing": cuda}


def trainer_options(spec: Model) -> dict[str, object]:
    """Return the trainer's arguments for the keys `optimizer`, `passes`, `checkpointing` and `fsdp` of a recipe's
    model.
    """
    options: dict[str, object] = {"optim": spec.optimizer} if spec.optimizer else {}
    if spec.passes != "auto":
        options["bf16"] = spec.passes == "bfloat16"
    elif spec.name and cpu_has_bfloat16():
        options["bf16"] = True
    if spec.checkpointing != "auto":
        options["gradient_checkpointing"] = spec.checkpointing == "on"
    if spec.fsdp:
        options["fsdp"] = spec.fsdp
    return options


def cpu_has_bfloat16() -> bool:
    """Return True if this CPU multiplies numbers of bfloat16 itself (AVX-512 BF16 or AMX), faster than float32."""
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def take_peak_memory_mb() -> float:
    """Return the peak of memory in MB: that of the GPU since the last call, or that of the process so far."""
    if torch.cuda.is_available():
        peak = int(torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()
        return peak / 1e6
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
