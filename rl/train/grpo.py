"""GRPO stage: TRL makes the steps, `webemu.rl.train.rollout` plays the episodes, and a curriculum chooses the tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.curriculum import Curriculum, horizon, noise
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train import distributed
from webemu.rl.train.choose import groups, outcome
from webemu.rl.train.event_loop import Room
from webemu.rl.train.recipe import Control, Stage
from webemu.rl.train.rollout import Rollout, Timing, play
from webemu.rl.train.sampling import TrainerVoice
from webemu.rl.train.sft import go_on, machine, parts
from webemu.rl.train.step_log import Journal, figures

CURRICULUM = "curriculum-{}.json"
"""File name of the curriculum's state next to the checkpoint of a step."""
PATIENCE = 10
"""Number of consecutive steps of low entropy after which the stage stops."""
PAUSES = (1, 2, 4, 8, 16, 32, 64)
"""Seconds between attempts at a step whose episodes are all masked: nothing can be learned from an outage."""


class Rounds:
    """TRL's `rollout_func`: returns tokens, masks and rewards of one step. Of the prompts that TRL passes, only the
    number matters.
    """

    def __init__(
        self, room: Room, stage: Stage, curriculum: Curriculum, limits: Limits, policy: dict[str, Any], system: str,
        control: Control, journal: Journal,
    ) -> None:  # fmt: skip
        self._room, self.stage, self._limits, self._policy = room, stage, limits, policy
        self._system, self._control, self._journal = system, control, journal
        self.curriculum = curriculum
        self.last: dict[str, float] = {}

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """Play the episodes of a step and return this process's share in TRL's format.

        Raises: InfrastructureError if all episodes stay masked after the last retry.
        """
        stage, step = self.stage, int(trainer.state.global_step)
        voice, times = TrainerVoice(trainer, self._system), []
        limits = horizon(self._limits, step, stage.horizon)
        policy = self._weather(step / max(1, stage.steps - 1))

        def played(asked: Sequence[tuple[Task, int]]) -> list[Rollout]:
            # All processes take the same branch, since the gathered rollouts are the same on all of them.
            for pause in PAUSES:
                mine, timing = play(self._room, voice, distributed.share(asked), limits, stage.context, policy)
                rollouts = distributed.together(mine)
                times.append(timing)
                if any(one.score.reward is not None for one in rollouts):
                    return rollouts
                time.sleep(pause)
            raise InfrastructureError(
                rollouts[0].score.mask, action="start the server, then run the same command again to continue"
            )

        count = len(prompts) * distributed.count() // stage.group
        everyone, tried = groups(self.curriculum, played, count, stage.group, stage.resample, step)
        self.last = figures(everyone, Timing(*map(sum, zip(*map(_seconds, times), strict=True))), tried)
        self._journal.trajectories(step + 1, everyone)
        rollouts = distributed.share(everyone)
        return {
            "prompt_ids": [one.prompt_ids for one in rollouts],
            # TRL needs at least one token of each rollout, and divides by the number of the model's own tokens.
            "completion_ids": [one.ids or [voice.end] for one in rollouts],
            "logprobs": [one.logprobs or [0.0] for one in rollouts] if any(one.logprobs for one in rollouts) else None,
            "env_mask": [one.mask or [1] for one in rollouts],
            "earned": [self._earned(one, step) for one in rollouts],
        }

    def _weather(self, progress: float) -> dict[str, Any]:
        """Return the session policy with the weather rates of this point of the stage, from 0 to 1."""
        start, end = ({name: pair[at] for name, pair in self.stage.noise.items()} for at in (0, 1))
        rates = noise(start, end, min(1.0, progress))
        return self._policy | ({"weather": self._policy.get("weather", {}) | rates} if rates else {})

    def _earned(self, one: Rollout, step: int) -> float | None:
        """Return the reward of a rollout under the stage's control and length penalty; None if it is masked."""
        if one.score.reward is None:
            return None
        if self._control == "random-reward":
            return Random(f"{step}:{one.task.id}:{one.seed}").random()
        if self._control == "shuffled-gold" and not outcome(one.score):
            return 0.0  # without this, a cited wrong answer would still earn `webemu.rl.rewards.WRONG_ANSWER_CAP`
        return one.score.reward * (1 - self.stage.length * min(1.0, sum(one.mask) / self.stage.context))


class Keeper(TrainerCallback):
    """Trainer callback that logs each step, saves the curriculum with each checkpoint, and stops the stage at low
    entropy.
    """

    def __init__(self, rounds: Rounds, journal: Journal, folder: Path, show: Any) -> None:
        self._rounds, self._journal, self._folder, self._show = rounds, journal, folder, show
        self._quiet = 0
        """Consecutive steps whose entropy was below the stage's limit."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Write the figures of a step, and stop the stage after too many consecutive steps of low entropy."""
        if logs and "loss" in logs:
            told = {f"trl/{name}": value for name, value in logs.items()}
            self._journal.step(state.global_step, told | self._rounds.last)
            self._show(state.global_step, logs | self._rounds.last)
            entropy = logs.get("entropy")
            self._quiet = self._quiet + 1 if entropy is not None and entropy < self._rounds.stage.entropy else 0
            control.should_training_stop = control.should_training_stop or self._quiet >= PATIENCE

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save the curriculum's state, on the first process only."""
        if distributed.is_first():
            path = self._folder / CURRICULUM.format(state.global_step)
            path.write_text(self._rounds.curriculum.saved(), encoding="utf-8")


def earned(completions: Sequence[Any], earned: Sequence[float | None], **_: Any) -> list[float | None]:
    """Return the rewards of the rubric as TRL's reward function; None for masked episodes. TRL passes the field
    `earned` of the rollouts by its name.
    """
    return list(earned)


def grpo(
    stage: Stage, model: Any, tokenizer: Any, room: Room, tasks: Sequence[Task], limits: Limits, folder: Path,
    *, seed: int, policy: dict[str, Any], system: str = "", control: Control = "", peft: Any = None,
    resume: int = 0, vllm: str = "", show: Any = lambda step, figures: None,
) -> Any:  # fmt: skip
    """Train `model` for the stage's steps and return the trainer. A `resume` other than 0 is the step of the
    checkpoint to continue from.
    """
    journal = Journal(folder, resume, distributed.is_first())
    curriculum = _curriculum(stage, tasks, folder, seed, resume)
    limits = replace(limits, calls=0) if control == "no-tools" else limits
    rounds = Rounds(room, stage, curriculum, limits, policy, system, control, journal)
    # Text prompts instead of messages: otherwise TRL parses each rollout as one turn, and fails on deeply nested JSON.
    slots = Dataset.from_list([{"prompt": str(n)} for n in range(stage.batch)])
    trainer = GRPOTrainer(
        model=model, reward_funcs=earned, args=config(stage, folder, seed, vllm), train_dataset=slots,
        processing_class=tokenizer, rollout_func=rounds, peft_config=peft,
        callbacks=[Keeper(rounds, journal, folder, show)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    go_on(trainer, folder, resume, stage.steps)
    return trainer


def config(stage: Stage, folder: Path, seed: int, vllm: str = "") -> GRPOConfig:
    """Return the stage as TRL's configuration."""
    engine: dict[str, Any] = {"generation_kwargs": {"max_new_tokens": stage.turn}}
    if vllm:
        engine = {"generation_kwargs": {"max_tokens": stage.turn}, "use_vllm": True}
        engine |= {"vllm_mode": vllm} if vllm == "colocate" else {"vllm_mode": "server", "vllm_server_base_url": vllm}
    at_once, passes = parts(stage)
    return GRPOConfig(
        output_dir=str(folder), max_steps=stage.steps, learning_rate=stage.rate, adam_beta2=stage.beta2,
        lr_scheduler_type="constant", per_device_train_batch_size=at_once, gradient_accumulation_steps=passes,
        steps_per_generation=passes, num_generations=stage.group,
        loss_type=stage.loss, epsilon=stage.clip[0], epsilon_high=stage.clip[1], beta=stage.beta,
        temperature=stage.temperature, max_completion_length=stage.context, mask_truncated_completions=False,
        seed=seed, logging_steps=1, save_steps=stage.save, save_total_limit=2, report_to="tensorboard",
        disable_tqdm=True, remove_unused_columns=False, dataloader_num_workers=0, **machine(), **engine,
    )  # fmt: skip


def _curriculum(stage: Stage, tasks: Sequence[Task], folder: Path, seed: int, resume: int) -> Curriculum:
    """Return the curriculum of a stage, with the state of its checkpoint if the stage resumes."""
    if resume:
        saved = (folder / CURRICULUM.format(resume)).read_text(encoding="utf-8")
        return Curriculum.resumed(saved, tasks, plan=stage.plan)
    return Curriculum(tasks, seed=seed, plan=stage.plan)


def _seconds(timing: Timing) -> tuple[float, float, float]:
    return timing.speaking, timing.tools, timing.scoring
