"""A GRPO step whose episodes TRL plays (`environment_factory`), and one that plays them together (`rollout_func`).

    python -m benchmarks.rollouts RUN      (a run of `webemu train --recipe tiny`; needs the extra `train`)

Same model, tasks and server, without latency and with 20 ms of it in each tool call.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from trl import GRPOConfig, GRPOTrainer

from webemu.rl.adapters import trl
from webemu.rl.adapters.environment_config import EnvironmentConfig as Seat
from webemu.rl.tasks import Task
from webemu.rl.train.chat_model import load_model
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.grpo import grpo_config, train_grpo
from webemu.rl.train.recipe import EpisodeSettings, Recipe, Stage, read_recipe
from webemu.rl.train.served_web import ServedWeb, serve_web
from webemu.rl.train.trainer import TrainingJob

STEPS, LATENCIES = 3, (0, 20)
"""Steps that are averaged, and milliseconds per tool call."""


def measure_together(web: ServedWeb, model: Path, policy: dict[str, object], folder: Path) -> float:
    """Return the seconds of a step as `webemu train` makes it."""
    recipe = read_recipe("tiny")[1]
    chat_model = load_model(str(model))
    job = TrainingJob(_short_stage(recipe), folder, seed=0)
    with EventLoopThread(web.server) as room:
        started_at = time.perf_counter()
        train_grpo(job, chat_model, _fact_tasks(web), EpisodeSettings(recipe.limits, policy), room)
        return (time.perf_counter() - started_at) / STEPS


def measure_trl(web: ServedWeb, model: Path, policy: dict[str, object], folder: Path) -> float:
    """Return the seconds of a step in which TRL plays the episodes."""
    recipe = read_recipe("tiny")[1]
    chat_model = load_model(str(model))
    trainer_config = grpo_config(_short_stage(recipe), folder, 0)
    trainer_config.max_tool_calling_iterations = recipe.limits.turns
    seats = trl.environment_factories(Seat(web.server, recipe.limits, policy))
    trainer = GRPOTrainer(
        model=chat_model.model,
        reward_funcs=trl.reward,
        args=GRPOConfig(**_trl_options(trainer_config)),
        processing_class=chat_model.tokenizer,
        train_dataset=trl.build_dataset(_fact_tasks(web)),
        environment_factory=seats,
    )
    started_at = time.perf_counter()
    trainer.train()
    return (time.perf_counter() - started_at) / STEPS


def _short_stage(recipe: Recipe) -> Stage:
    """Return the last stage of the recipe, shortened."""
    return replace(recipe.stages[-1], steps=STEPS, resample=0, save=1000)


def _fact_tasks(web: ServedWeb) -> list[Task]:
    return [task for task in web.tasks if task.recipe == "fact"]


def _trl_options(grpo_config: GRPOConfig) -> dict[str, object]:
    """Return the options of a webemu configuration that TRL's own has too."""
    names = ("output_dir", "max_steps", "learning_rate", "per_device_train_batch_size", "num_generations",
             "steps_per_generation", "max_completion_length", "generation_kwargs", "max_tool_calling_iterations",
             "use_cpu", "bf16", "gradient_checkpointing", "seed")  # fmt: skip
    return {name: getattr(grpo_config, name) for name in names} | {"report_to": "none", "disable_tqdm": True}


def main(run: Path) -> None:
    """Measure both for each latency and print the times."""
    model = run / "3-grpo" / "model"
    with serve_web(read_recipe("tiny")[1].web, "train", run / "webs", None, None, None, 1) as web:
        with tempfile.TemporaryDirectory() as work:
            measure_together(web, model, {}, Path(work))  # the first step is slower than others, and not measured
        for latency in LATENCIES:
            weather: dict[str, object] = {"latency": {"kind": "constant", "ms": latency}}
            policy: dict[str, object] = {"weather": weather} if latency else {}
            with tempfile.TemporaryDirectory() as work:
                together_seconds = measure_together(web, model, policy, Path(work) / "a")
                trl_seconds = measure_trl(web, model, policy, Path(work) / "b")
            print(
                f"{latency:>3} ms a call: {together_seconds:.2f} s a step together, "
                f"{trl_seconds:.2f} s by TRL, {trl_seconds / together_seconds:.1f} x"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
