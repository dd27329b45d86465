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
from typing import Any

from trl import GRPOConfig, GRPOTrainer

from webemu.rl.adapters import trl
from webemu.rl.adapters.environment_config import Place as Seat
from webemu.rl.train.event_loop import Room
from webemu.rl.train.grpo import config, grpo
from webemu.rl.train.recipe import read
from webemu.rl.train.run import loaded
from webemu.rl.train.served_web import Place, place

STEPS, LATENCIES = 3, (0, 20)
"""Steps that are averaged, and milliseconds per tool call."""


def together(web: Place, model: Path, weather: dict[str, Any], folder: Path) -> float:
    """Return the seconds of a step as `webemu train` makes it."""
    recipe = read("tiny")[1]
    speaker, words = loaded(str(model))
    given = _stage(recipe)
    with Room(web.server) as room:
        began = time.perf_counter()
        grpo(given, speaker, words, room, _facts(web), recipe.limits, folder, seed=0, policy=weather)
        return (time.perf_counter() - began) / STEPS


def by_trl(web: Place, model: Path, weather: dict[str, Any], folder: Path) -> float:
    """Return the seconds of a step in which TRL plays the episodes."""
    recipe = read("tiny")[1]
    speaker, words = loaded(str(model))
    told = config(_stage(recipe), folder, 0)
    told.max_tool_calling_iterations = recipe.limits.turns
    seats = trl.environments(Seat(web.server, recipe.limits, weather))
    trainer = GRPOTrainer(
        model=speaker, reward_funcs=trl.reward, args=GRPOConfig(**_plain(told)), processing_class=words,
        train_dataset=trl.dataset(_facts(web)), environment_factory=seats,
    )  # fmt: skip
    began = time.perf_counter()
    trainer.train()
    return (time.perf_counter() - began) / STEPS


def _stage(recipe: Any) -> Any:
    """Return the last stage of the recipe, shortened."""
    return replace(recipe.stages[-1], steps=STEPS, resample=0, save=1000)


def _facts(web: Place) -> list[Any]:
    return [task for task in web.tasks if task.recipe == "fact"]


def _plain(told: GRPOConfig) -> dict[str, Any]:
    """Return the options of a webemu configuration that TRL's own has too."""
    names = ("output_dir", "max_steps", "learning_rate", "per_device_train_batch_size", "num_generations",
             "steps_per_generation", "max_completion_length", "generation_kwargs", "max_tool_calling_iterations",
             "use_cpu", "bf16", "gradient_checkpointing", "seed")  # fmt: skip
    return {name: getattr(told, name) for name in names} | {"report_to": "none", "disable_tqdm": True}


def main(run: Path) -> None:
    """Measure both for each latency and print the times."""
    model = run / "3-grpo" / "model"
    with place(read("tiny")[1].web, "train", run / "webs", None, None, None, 1) as web:
        with tempfile.TemporaryDirectory() as work:
            together(web, model, {}, Path(work))  # the first step is slower than others, and not measured
        for latency in LATENCIES:
            weather = {"weather": {"latency": {"kind": "constant", "ms": latency}}} if latency else {}
            with tempfile.TemporaryDirectory() as work:
                ours = together(web, model, weather, Path(work) / "a")
                theirs = by_trl(web, model, weather, Path(work) / "b")
            print(f"{latency:>3} ms a call: {ours:.2f} s a step together, {theirs:.2f} s by TRL, {theirs / ours:.1f} x")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
