"""GRPO stage: TRL computes the steps, `webemu.rl.train.rollout` plays the episodes, and a curriculum chooses the tasks.

GRPO as published (Shao et al. 2024, DeepSeekMath, section 4.1), and what this stage makes of it. Names in backquotes
are settings of a recipe's stage (`webemu.rl.train.recipe.Stage`), with their defaults.

- Group advantage: as published. The rewards of the `group` (8) episodes of a task, minus their mean, divided by their
  standard deviation (plus 1e-4). `scale_rewards` (`group`) may also divide by that of the `batch`, or not at all
  (`none`, as the authors of `dr_grpo` do); `loss` does not change it.
- Small differences: left out. The division makes a cost of 0.02 in a group that is right throughout as large as right
  against wrong. Rewards of a group that differ by less than `min_spread` (0.1) are levelled to their mean.
- Outcome reward: as published. One number for an episode, for all tokens that the model wrote; prompts and results of
  tools are masked out of the loss. The reward is a rubric, so there is no reward model, and no reward of single steps.
- One update for each batch of episodes: as in the paper's experiments. The ratio of new to former policy is therefore
  always 1, and clipping never acts: `clip` (0.2 below, 0.28 above, DAPO's clip-higher) stands ready for several
  updates. The exception is `cispo`, where the upper value bounds the ratio itself: write one above 1. With vLLM, TRL
  corrects for the difference between the probabilities of the engine and of the trainer.
- Length normalisation: changed. `loss` (`dapo`) is a mean over all tokens of the batch. The paper's (`grpo`) is a mean
  over each answer first and then over answers, so that tokens of long answers count less.
- KL penalty: left out. `beta` is 0, and no reference model is loaded. With another value, the reference is the model at
  the start of the stage.
- Dynamic sampling: added, in part (DAPO, Yu et al. 2025). Groups with equal rewards are replaced, at most `resample`
  (2) times. If too few differ even then, groups with equal rewards fill the batch; their advantage is 0, unless
  `length` makes their rewards differ by `min_spread`.
- Overlong episodes: not filtered. An episode that is cut off has not answered, and its reward is 0. `length` (0) lowers
  rewards by the share of `context` that the model's tokens fill; that is ours.
- Masked episodes: added. An episode that an outage ended has no reward: it does not count in the mean of its group, and
  its advantage is 0. A step whose episodes are all masked is played again.
- Entropy: no bonus. The stage stops after `MAX_LOW_ENTROPY_STEPS` consecutive steps below `entropy` (0: never).
- Tasks are drawn by a curriculum, not uniformly. AdamW runs at a constant learning rate without warm-up, and gradients
  are clipped at TRL's default norm of 1. The paper's outer loop, which trains the reward model anew, is left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.curriculum import Curriculum, interpolate_weather, limit_turns
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.rewards import COST_PER_REQUEST
from webemu.rl.scoring import count_judge
from webemu.rl.tasks import Task
from webemu.rl.train import distributed
from webemu.rl.train.chat_model import ChatModel, lora_config
from webemu.rl.train.choose import level_small_spreads, play_groups, score_outcome, shuffle_answers
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.grpo_trainer import SparingGrpoTrainer
from webemu.rl.train.recipe import EpisodeSettings, Stage
from webemu.rl.train.rollout import Rollout, Timing, add_timings, play
from webemu.rl.train.run_folder import CURRICULUM_FILE
from webemu.rl.train.sampling import TrainerSampler
from webemu.rl.train.step_log import StepLog, compute_figures
from webemu.rl.train.trainer import (
    NO_OPTIONS,
    TrainingJob,
    device_options,
    split_batch,
    take_peak_memory_mb,
    train_to_end,
)

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

MAX_LOW_ENTROPY_STEPS = 10
"""Number of consecutive steps of low entropy after which the stage stops."""
RETRY_DELAYS_SECONDS = (1, 2, 4, 8, 16, 32, 64)
"""Seconds between attempts at a step whose episodes are all masked: nothing can be learned from an outage."""


def train_grpo(
    job: TrainingJob,
    chat_model: ChatModel,
    tasks: Sequence[Task],
    episodes: EpisodeSettings,
    loop_thread: EventLoopThread,
) -> GRPOTrainer:
    """Train the model on episodes of the tasks and return the trainer.

    Raises: InfrastructureError if all episodes of a step stay masked after the last retry.
    """
    tasks = shuffle_answers(tasks, job.seed) if episodes.control == "shuffled-gold" else tasks
    step_log = StepLog(job.folder, job.resume, distributed.is_first())
    curriculum = _open_curriculum(job, tasks)
    rollout_function = RolloutFunction(job.stage, curriculum, episodes, loop_thread, step_log, job.seed)
    # Text prompts instead of messages: otherwise TRL parses each rollout as one turn, and fails on deeply nested JSON.
    prompts = Dataset.from_list([{"prompt": str(n)} for n in range(job.stage.batch)])
    trainer = SparingGrpoTrainer(
        model=chat_model.model,
        reward_funcs=earned,
        args=grpo_config(job.stage, job.folder, job.seed, job.vllm, job.options),
        train_dataset=prompts,
        processing_class=chat_model.tokenizer,
        rollout_func=rollout_function,
        peft_config=lora_config(job.lora),
        callbacks=[GrpoCallback(rollout_function, step_log, job)],
    )
    trainer.remove_callback(PrinterCallback)
    train_to_end(trainer, job)
    return trainer


class RolloutFunction:
    """TRL's `rollout_func`: returns tokens, masks and rewards of one step. Of the prompts that TRL passes, only the
    number matters.
    """

    def __init__(
        self,
        stage: Stage,
        curriculum: Curriculum,
        episodes: EpisodeSettings,
        loop_thread: EventLoopThread,
        step_log: StepLog,
        seed: int = 0,
    ) -> None:
        self.stage, self.curriculum, self._episodes, self._seed = stage, curriculum, episodes, seed
        self._loop_thread, self._step_log = loop_thread, step_log
        self.last_figures: dict[str, float] = {}

    def __call__(self, prompts: Sequence[str], trainer: GRPOTrainer) -> dict[str, Sequence[object] | None]:
        """Play the episodes of a step and return this process's share in TRL's format.

        Raises: InfrastructureError if all episodes stay masked after the last retry.
        """
        stage, step = self.stage, int(trainer.state.global_step)
        sampler, timings = TrainerSampler(trainer, self._episodes.system), list[Timing]()
        count = len(prompts) * distributed.process_count() // stage.group
        play_batch = partial(self._play_unmasked, sampler, step, timings)
        all_rollouts, groups_played = play_groups(
            self.curriculum,
            play_batch,
            count,
            stage.group,
            stage.resample,
            step,
            self._min_spread,
            **self._choice(step),
        )
        self.last_figures = compute_figures(all_rollouts, add_timings(timings), groups_played)
        self.last_figures |= _judge_figures(self._episodes.judge)
        self._step_log.write_trajectories(step + 1, all_rollouts)
        rollouts = distributed.this_rank_share(all_rollouts)
        rewards = level_small_spreads(
            [self._reward_of(rollout, step) for rollout in all_rollouts], stage.group, self._min_spread
        )
        return {
            "prompt_ids": [one.prompt_ids for one in rollouts],
            # TRL needs at least one token of each rollout, and divides by the number of the model's own tokens.
            "completion_ids": [one.ids or [sampler.end_id] for one in rollouts],
            "logprobs": [one.logprobs or [0.0] for one in rollouts] if any(one.logprobs for one in rollouts) else None,
            "env_mask": [one.mask or [1] for one in rollouts],
            "earned": distributed.this_rank_share(rewards),
        }

    def _play_unmasked(
        self, sampler: TrainerSampler, step: int, timings: list[Timing], samples: Sequence[tuple[Task, int]]
    ) -> list[Rollout]:
        """Play episodes, again after a while as long as an outage masks all of them, and append the timing of each
        attempt to `timings`.
        """
        limits = limit_turns(self._episodes.limits_under_control, step, self.stage.horizon)
        policy = self._policy_at(step / max(1, self.stage.steps - 1))
        # All processes take the same branch, since the gathered rollouts are the same on all of them.
        for delay in RETRY_DELAYS_SECONDS:
            local_rollouts, timing = play(
                self._loop_thread,
                sampler,
                distributed.this_rank_share(samples),
                limits,
                self.stage.context,
                policy,
                self._episodes.judge,
                partial(self._step_log.write_playing, step + 1),
            )
            rollouts = distributed.gather_all(local_rollouts)
            timings.append(timing)
            if any(one.score.reward is not None for one in rollouts):
                return rollouts
            time.sleep(delay)
        raise InfrastructureError(
            rollouts[0].score.mask, action="start the server, then run the same command again to continue"
        )

    def _policy_at(self, progress: float) -> dict[str, object]:
        """Return the session policy with the weather rates of this point of the stage, from 0 to 1."""
        start, end = ({name: pair[index] for name, pair in self.stage.noise.items()} for index in (0, 1))
        policy, rates = dict(self._episodes.policy), interpolate_weather(start, end, min(1.0, progress))
        weather = policy.get("weather", {})
        return policy | ({"weather": {**weather, **rates}} if rates and isinstance(weather, Mapping) else {})

    def _choice(self, step: int) -> dict[str, Callable[[Rollout], float | None]]:
        """Return the arguments of `play_groups` by which groups are chosen: under a control, its own rewards. Of random
        ones all groups differ, and the curriculum learns of coins; chosen by the true rewards, their random updates
        would all stand between right and wrong.
        """
        if self._episodes.control not in ("random-reward", "ungated-cost"):
            return {}

        def reward_of(rollout: Rollout) -> float | None:
            return self._reward_of(rollout, step)

        def outcome_of(rollout: Rollout) -> float | None:
            reward = reward_of(rollout)
            return None if reward is None else round(reward)

        if self._episodes.control == "ungated-cost":
            return {"reward_of": reward_of}
        return {"reward_of": reward_of, "outcome_of": outcome_of}

    def _reward_of(self, rollout: Rollout, step: int) -> float | None:
        """Return the reward of a rollout under the stage's control and length penalty; None if it is masked."""
        if rollout.score.reward is None:
            return None
        if self._episodes.control == "random-reward":
            return Random(f"{self._seed}:{step}:{rollout.task.id}:{rollout.seed}").random()
        if self._episodes.control == "shuffled-gold" and not score_outcome(rollout.score):
            return 0.0  # without this, a report would still earn the share of its sentences that are supported
        reward = rollout.score.reward * (1 - self.stage.length * min(1.0, sum(rollout.mask) / self.stage.context))
        if self._episodes.control == "ungated-cost":  # what an episode costs counts although its answer is wrong
            reward -= COST_PER_REQUEST * (rollout.score.terms.get("requests") or 0.0)
        return reward

    @property
    def _min_spread(self) -> float:
        """Spread of rewards from which a group teaches; of `ungated-cost` any: a call costs less."""
        return 0.0 if self._episodes.control == "ungated-cost" else self.stage.min_spread


class GrpoCallback(TrainerCallback):
    """Trainer callback that logs each step, saves the curriculum with each checkpoint, and stops the stage at low
    entropy.
    """

    def __init__(self, rollout_function: RolloutFunction, step_log: StepLog, job: TrainingJob) -> None:
        self._rollout_function, self._step_log, self._job = rollout_function, step_log, job
        self._low_entropy_steps = 0
        """Consecutive steps whose entropy was below the stage's limit."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: object,
    ) -> None:
        """Write the figures of a step, and stop the stage after too many consecutive steps of low entropy."""
        if logs and "loss" in logs:
            figures = self._rollout_function.last_figures | {"memory/peak_mb": take_peak_memory_mb()}
            self._step_log.write_step(
                state.global_step, {f"trl/{name}": value for name, value in logs.items()} | figures
            )
            self._job.on_step(state.global_step, logs | figures)
            is_low = logs.get("entropy", math.inf) < self._job.stage.entropy
            self._low_entropy_steps = self._low_entropy_steps + 1 if is_low else 0
            if self._low_entropy_steps >= MAX_LOW_ENTROPY_STEPS:
                control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Save the curriculum's state, on the first process only."""
        if distributed.is_first():
            path = self._job.folder / CURRICULUM_FILE.format(state.global_step)
            path.write_text(self._rollout_function.curriculum.to_json(), encoding="utf-8")


def earned(completions: Sequence[object], earned: Sequence[float | None], **_: object) -> list[float | None]:
    """Return the rewards of the rubric as TRL's reward function; None for masked episodes. TRL passes the field
    `earned` of the rollouts by its name.
    """
    return list(earned)


def grpo_config(
    stage: Stage, folder: Path, seed: int, vllm: str = "", options: Mapping[str, object] = NO_OPTIONS
) -> GRPOConfig:
    """Return the stage as TRL's configuration; `options` are further arguments of it."""
    engine: dict[str, object] = {"generation_kwargs": {"max_new_tokens": stage.turn}}
    if vllm:
        engine = {"generation_kwargs": {"max_tokens": stage.turn}, "use_vllm": True}
        engine |= {"vllm_mode": vllm} if vllm == "colocate" else {"vllm_mode": "server", "vllm_server_base_url": vllm}
    batch = split_batch(stage)
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=stage.steps,
        learning_rate=stage.rate,
        adam_beta2=stage.beta2,
        lr_scheduler_type="constant",
        per_device_train_batch_size=batch.micro_batch,
        gradient_accumulation_steps=batch.accumulation_steps,
        steps_per_generation=batch.accumulation_steps,
        num_generations=stage.group,
        loss_type=stage.loss,
        epsilon=stage.clip[0],
        epsilon_high=stage.clip[1],
        beta=stage.beta,
        temperature=stage.temperature,
        max_completion_length=stage.context,
        mask_truncated_completions=False,
        scale_rewards=stage.scale_rewards,
        seed=seed,
        logging_steps=1,
        save_steps=stage.save,
        save_total_limit=2,
        report_to="tensorboard",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_num_workers=0,
        **device_options() | engine | dict(options),
    )


def _judge_figures(judge: JudgeSpec | None) -> dict[str, float]:
    """Return the judge's questions and failures since the first step of this process; empty without a judge."""
    if judge is None:
        return {}
    counts = count_judge(judge)
    return {"judge/requests": counts.requests, "judge/failures": sum(counts.failures.values())}


def _open_curriculum(job: TrainingJob, tasks: Sequence[Task]) -> Curriculum:
    """Return the curriculum of a stage, with the state of its checkpoint if the stage resumes."""
    if job.resume:
        state_json = (job.folder / CURRICULUM_FILE.format(job.resume)).read_text(encoding="utf-8")
        return Curriculum.from_json(state_json, tasks, plan=job.stage.plan)
    return Curriculum(tasks, seed=job.seed, plan=job.stage.plan)
