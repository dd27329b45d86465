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
from webemu.rl.curriculum import Curriculum, interpolate_weather, limit_turns
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train import distributed
from webemu.rl.train.choose import play_groups, score_outcome
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.recipe import ControlName, Stage
from webemu.rl.train.rollout import Rollout, Timing, play
from webemu.rl.train.sampling import TrainerSampler
from webemu.rl.train.sft import device_options, split_batch, train_to_end
from webemu.rl.train.step_log import StepLog, compute_figures

CURRICULUM_FILE = "curriculum-{}.json"
"""File name of the curriculum's state next to the checkpoint of a step."""
MAX_LOW_ENTROPY_STEPS = 10
"""Number of consecutive steps of low entropy after which the stage stops."""
RETRY_DELAYS_SECONDS = (1, 2, 4, 8, 16, 32, 64)
"""Seconds between attempts at a step whose episodes are all masked: nothing can be learned from an outage."""


class RolloutFunction:
    """TRL's `rollout_func`: returns tokens, masks and rewards of one step. Of the prompts that TRL passes, only the
    number matters.
    """

    def __init__(
        self,
        loop_thread: EventLoopThread,
        stage: Stage,
        curriculum: Curriculum,
        limits: Limits,
        policy: dict[str, Any],
        system: str,
        control: ControlName,
        step_log: StepLog,
    ) -> None:
        self._loop_thread, self.stage, self._limits, self._policy = loop_thread, stage, limits, policy
        self._system, self._control, self._step_log = system, control, step_log
        self.curriculum = curriculum
        self.last_figures: dict[str, float] = {}

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """Play the episodes of a step and return this process's share in TRL's format.

        Raises: InfrastructureError if all episodes stay masked after the last retry.
        """
        stage, step = self.stage, int(trainer.state.global_step)
        sampler, timings = TrainerSampler(trainer, self._system), []
        limits = limit_turns(self._limits, step, stage.horizon)
        policy = self._policy_at(step / max(1, stage.steps - 1))

        def play_batch(samples: Sequence[tuple[Task, int]]) -> list[Rollout]:
            # All processes take the same branch, since the gathered rollouts are the same on all of them.
            for delay in RETRY_DELAYS_SECONDS:
                local_rollouts, timing = play(
                    self._loop_thread, sampler, distributed.this_rank_share(samples), limits, stage.context, policy
                )
                rollouts = distributed.gather_all(local_rollouts)
                timings.append(timing)
                if any(one.score.reward is not None for one in rollouts):
                    return rollouts
                time.sleep(delay)
            raise InfrastructureError(
                rollouts[0].score.mask, action="start the server, then run the same command again to continue"
            )

        count = len(prompts) * distributed.process_count() // stage.group
        all_rollouts, groups_played = play_groups(self.curriculum, play_batch, count, stage.group, stage.resample, step)
        self.last_figures = compute_figures(
            all_rollouts, Timing(*map(sum, zip(*map(_timing_seconds, timings), strict=True))), groups_played
        )
        self._step_log.write_trajectories(step + 1, all_rollouts)
        rollouts = distributed.this_rank_share(all_rollouts)
        return {
            "prompt_ids": [one.prompt_ids for one in rollouts],
            # TRL needs at least one token of each rollout, and divides by the number of the model's own tokens.
            "completion_ids": [one.ids or [sampler.end_id] for one in rollouts],
            "logprobs": [one.logprobs or [0.0] for one in rollouts] if any(one.logprobs for one in rollouts) else None,
            "env_mask": [one.mask or [1] for one in rollouts],
            "earned": [self._reward_of(one, step) for one in rollouts],
        }

    def _policy_at(self, progress: float) -> dict[str, Any]:
        """Return the session policy with the weather rates of this point of the stage, from 0 to 1."""
        start, end = ({name: pair[index] for name, pair in self.stage.noise.items()} for index in (0, 1))
        rates = interpolate_weather(start, end, min(1.0, progress))
        return self._policy | ({"weather": self._policy.get("weather", {}) | rates} if rates else {})

    def _reward_of(self, rollout: Rollout, step: int) -> float | None:
        """Return the reward of a rollout under the stage's control and length penalty; None if it is masked."""
        if rollout.score.reward is None:
            return None
        if self._control == "random-reward":
            return Random(f"{step}:{rollout.task.id}:{rollout.seed}").random()
        if self._control == "shuffled-gold" and not score_outcome(rollout.score):
            return 0.0  # without this, a cited wrong answer would still earn `webemu.rl.rewards.WRONG_ANSWER_CAP`
        return rollout.score.reward * (1 - self.stage.length * min(1.0, sum(rollout.mask) / self.stage.context))


class GrpoCallback(TrainerCallback):
    """Trainer callback that logs each step, saves the curriculum with each checkpoint, and stops the stage at low
    entropy.
    """

    def __init__(self, rollout_function: RolloutFunction, step_log: StepLog, folder: Path, show: Any) -> None:
        self._rollout_function, self._step_log, self._folder, self._on_step = rollout_function, step_log, folder, show
        self._low_entropy_steps = 0
        """Consecutive steps whose entropy was below the stage's limit."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """Write the figures of a step, and stop the stage after too many consecutive steps of low entropy."""
        if logs and "loss" in logs:
            metrics = {f"trl/{name}": value for name, value in logs.items()}
            self._step_log.write_step(state.global_step, metrics | self._rollout_function.last_figures)
            self._on_step(state.global_step, logs | self._rollout_function.last_figures)
            entropy = logs.get("entropy")
            self._low_entropy_steps = (
                self._low_entropy_steps + 1
                if entropy is not None and entropy < self._rollout_function.stage.entropy
                else 0
            )
            control.should_training_stop = (
                control.should_training_stop or self._low_entropy_steps >= MAX_LOW_ENTROPY_STEPS
            )

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save the curriculum's state, on the first process only."""
        if distributed.is_first():
            path = self._folder / CURRICULUM_FILE.format(state.global_step)
            path.write_text(self._rollout_function.curriculum.to_json(), encoding="utf-8")


def earned(completions: Sequence[Any], earned: Sequence[float | None], **_: Any) -> list[float | None]:
    """Return the rewards of the rubric as TRL's reward function; None for masked episodes. TRL passes the field
    `earned` of the rollouts by its name.
    """
    return list(earned)


def train_grpo(
    stage: Stage,
    model: Any,
    tokenizer: Any,
    loop_thread: EventLoopThread,
    tasks: Sequence[Task],
    limits: Limits,
    folder: Path,
    *,
    seed: int,
    policy: dict[str, Any],
    system: str = "",
    control: ControlName = "",
    peft: Any = None,
    resume: int = 0,
    vllm: str = "",
    show: Any = lambda step, figures: None,
) -> Any:
    """Train `model` for the stage's steps and return the trainer. A `resume` other than 0 is the step of the
    checkpoint to continue from.
    """
    step_log = StepLog(folder, resume, distributed.is_first())
    curriculum = _open_curriculum(stage, tasks, folder, seed, resume)
    limits = replace(limits, calls=0) if control == "no-tools" else limits
    rollout_function = RolloutFunction(loop_thread, stage, curriculum, limits, policy, system, control, step_log)
    # Text prompts instead of messages: otherwise TRL parses each rollout as one turn, and fails on deeply nested JSON.
    prompts = Dataset.from_list([{"prompt": str(n)} for n in range(stage.batch)])
    trainer = GRPOTrainer(
        model=model, reward_funcs=earned, args=grpo_config(stage, folder, seed, vllm), train_dataset=prompts,
        processing_class=tokenizer, rollout_func=rollout_function, peft_config=peft,
        callbacks=[GrpoCallback(rollout_function, step_log, folder, show)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    train_to_end(trainer, folder, resume, stage.steps)
    return trainer


def grpo_config(stage: Stage, folder: Path, seed: int, vllm: str = "") -> GRPOConfig:
    """Return the stage as TRL's configuration."""
    engine: dict[str, Any] = {"generation_kwargs": {"max_new_tokens": stage.turn}}
    if vllm:
        engine = {"generation_kwargs": {"max_tokens": stage.turn}, "use_vllm": True}
        engine |= {"vllm_mode": vllm} if vllm == "colocate" else {"vllm_mode": "server", "vllm_server_base_url": vllm}
    micro_batch, accumulation_steps = split_batch(stage)
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=stage.steps,
        learning_rate=stage.rate,
        adam_beta2=stage.beta2,
        lr_scheduler_type="constant",
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=accumulation_steps,
        steps_per_generation=accumulation_steps,
        num_generations=stage.group,
        loss_type=stage.loss,
        epsilon=stage.clip[0],
        epsilon_high=stage.clip[1],
        beta=stage.beta,
        temperature=stage.temperature,
        max_completion_length=stage.context,
        mask_truncated_completions=False,
        seed=seed,
        logging_steps=1,
        save_steps=stage.save,
        save_total_limit=2,
        report_to="tensorboard",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_num_workers=0,
        **device_options(),
        **engine,
    )


def _open_curriculum(stage: Stage, tasks: Sequence[Task], folder: Path, seed: int, resume: int) -> Curriculum:
    """Return the curriculum of a stage, with the state of its checkpoint if the stage resumes."""
    if resume:
        saved = (folder / CURRICULUM_FILE.format(resume)).read_text(encoding="utf-8")
        return Curriculum.from_json(saved, tasks, plan=stage.plan)
    return Curriculum(tasks, seed=seed, plan=stage.plan)


def _timing_seconds(timing: Timing) -> tuple[float, float, float]:
    return timing.sampling_seconds, timing.tool_seconds, timing.scoring_seconds
