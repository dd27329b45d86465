"""Rows of an SFT stage: what patterns or policies play, the best episodes of earlier stages, or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from webemu.rl.arguments import TOOLS
from webemu.rl.evaluation.agents import POLICIES
from webemu.rl.evaluation.run import RunSettings, run_and_record
from webemu.rl.sft import Conversation, SelectionCriteria, read_conversations, select
from webemu.rl.tasks import Task
from webemu.rl.train.best import select_best_episodes
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.messages import Message, SftRow, system_messages
from webemu.rl.train.patterns import is_toy_question, play_traces
from webemu.rl.train.recipe import EpisodeSettings, RecipeError, Stage
from webemu.rl.train.run_folder import RunError
from webemu.rl.train.trainer import TrainingJob


def collect_rows(
    job: TrainingJob,
    tasks: Sequence[Task],
    earlier_grpo_folders: Sequence[Path],
    episodes: EpisodeSettings,
    loop_thread: EventLoopThread,
) -> list[SftRow]:
    """Return the rows of a stage, from the sources that its keys `rows` and `mix` name.

    Raises: InfrastructureError if an outage masks an episode, RecipeError if patterns meet tasks that they cannot
    read, RunError if there are no rows.
    """
    stage, best = job.stage, list[list[Message]]()
    if isinstance(stage.rows, tuple):
        rows = read_rows(stage, episodes.system)
    else:
        if stage.rows == "best":
            best = select_best_episodes(earlier_grpo_folders, episodes.system)
            added_count = round(len(best) * sum(stage.mix.values()))
            tasks = Random(f"{job.seed}:{stage.name}").sample(tasks, min(added_count, len(tasks)))
        rows = [_to_row(messages) for messages in best] + _play(job, tasks, episodes, loop_thread)
    if not rows:
        raise RunError(f"stage {stage.name!r} has no rows to learn from: see its keys `rows` and `mix`")
    return rows


def _play(
    job: TrainingJob, tasks: Sequence[Task], episodes: EpisodeSettings, loop_thread: EventLoopThread
) -> list[SftRow]:
    """Return the rows of episodes that policies or patterns play, as the names in the stage's `mix` say."""
    if not tasks:
        return []
    if set(job.stage.mix) <= set(POLICIES):
        return play_policies(loop_thread, tasks, job.stage.mix, episodes, job.seed)
    strange = next((task for task in tasks if not is_toy_question(task.question)), None)
    if strange:
        raise RecipeError(
            f"stage {job.stage.name}: patterns speak the language of the toy web alone, and cannot read"
            f" {strange.question!r}: name policies in `mix`, as in mix = {{ oracle = 1.0 }}, or files in `rows`"
        )
    traces = play_traces(loop_thread, tasks, dict(job.stage.mix), episodes.limits, job.seed, episodes.system)
    return [_to_row(messages) for messages in traces]


def play_policies(
    loop_thread: EventLoopThread,
    tasks: Sequence[Task],
    mix: Mapping[str, float],
    episodes: EpisodeSettings,
    seed: int,
) -> list[SftRow]:
    """Return the grounded episodes of baselines that earn at least 0.9; the policy of a task is drawn by the shares of
    `mix`.
    """
    names, shares = list(mix), list(mix.values())
    drawn = [Random(f"{seed}:{task.id}").choices(names, shares)[0] for task in tasks]
    settings = RunSettings(seed=seed, limits=episodes.limits, session=dict(episodes.policy))
    attempts = loop_thread.gather(
        run_and_record(task, 0, POLICIES[name], loop_thread.client, settings, None)
        for name, task in zip(drawn, tasks, strict=True)
    )
    selection = select(attempts, SelectionCriteria(require_grounded=True))
    answer_types = {task.id: task.answer_type for task in tasks}
    rows = list[SftRow]()
    for conversation in selection.conversations:
        system = system_messages(episodes.system, answer_types[conversation["task"]])
        rows.append(
            {"messages": system + _messages_of(conversation, with_system=False), "tools": list(conversation["tools"])}
        )
    return rows


def read_rows(stage: Stage, system: str) -> list[SftRow]:
    """Return the conversations of the stage's files (`webemu data sft`), each once. A file whose weight in `mix` is 2
    is taken twice, one with 0.5 by half; files that `mix` does not name have a weight of 1.

    A recipe without a system prompt drops that of the files; another one keeps it, since it depends on the task.
    """
    rows = list[SftRow]()
    for name in stage.rows:
        weight, conversations = stage.mix.get(Path(name).stem, 1.0), _read_file(name)
        whole_count, remainder = divmod(round(weight * len(conversations)), max(1, len(conversations)))
        drawn_conversations = conversations * whole_count + Random(name).sample(conversations, remainder)
        rows += [
            {"messages": _messages_of(one, bool(system)), "tools": list(one["tools"])} for one in drawn_conversations
        ]
    return rows


def _read_file(name: str) -> list[Conversation]:
    """Return the different conversations of a file. Raises: RecipeError if it cannot be read."""
    try:
        return list({repr(one["messages"]): one for one in read_conversations(Path(name))}.values())
    except (OSError, ValueError, KeyError) as error:
        raise RecipeError(f"{name}: not a file of `webemu data sft` ({type(error).__name__}: {error})") from error


def _messages_of(conversation: Conversation, with_system: bool) -> list[Message]:
    messages: list[Message] = [*conversation["messages"]]  # type: ignore[list-item]
    return [one for one in messages if with_system or one["role"] != "system"]


def _to_row(messages: list[Message]) -> SftRow:
    return {"messages": messages, "tools": list(TOOLS)}
