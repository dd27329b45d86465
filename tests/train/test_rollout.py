"""Rollouts token by token: what a scripted model says in real episodes, over a real server that may die."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from tests.rl.openai_server import openai_server
from tests.train.toy import BRIEF, FULL, WORDS, ToolCall, good, of, turn
from webemu.agent_client import Client
from webemu.agent_client.errors import ClientError
from webemu.rl.arguments import TOOLS
from webemu.rl.environment import Episode
from webemu.rl.rewards import rubric_of
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.rollout import Ids, Rollout, Timing, play
from webemu.rl.train.sampling import ChatCodec
from webemu.rl.train.served_web import ServedWeb
from webemu.rl.train.step_log import compute_figures

pytestmark = pytest.mark.slow

Script = Sequence[Sequence[ToolCall] | Ids]
Scripts = Sequence[tuple[Task, Script]]


class Scripted(ChatCodec):
    """Says the turns of a script, one script for each rollout; told apart by their contexts."""

    def __init__(self, words: Any, scripts: dict[str, Script], logprobs: bool = False) -> None:
        super().__init__(words)
        self._scripts, self._logprobs, self._turn_counts = scripts, logprobs, dict.fromkeys(scripts, 0)
        self.before: Callable[[int], None] = lambda _: None
        self.rounds = 0

    def sample_turns(self, contexts: list[Ids], on_turn: Any = None) -> tuple[list[Ids], list[list[float]] | None]:
        self.before(self.rounds)
        self.rounds += 1
        turns = [self._turn(self.tokenizer.decode(ids)) for ids in contexts]
        return turns, [[-0.5] * len(ids) for ids in turns] if self._logprobs else None

    def _turn(self, text: str) -> Ids:
        question = next(one for one in self._scripts if f"{one}<|" in text)
        at = self._turn_counts[question]
        self._turn_counts[question] += 1
        script_turn = self._scripts[question][at]
        is_ids = script_turn and isinstance(script_turn[0], int)
        return list(script_turn) if is_ids else turn(self.tokenizer, script_turn)  # type: ignore[arg-type]


def played(
    place: ServedWeb, words: Any, scripts: Scripts, limits: Limits = FULL, room: int = 20_000, **more: Any
) -> list[Rollout]:
    speaker = Scripted(words, {task.question: script for task, script in scripts}, **more)
    with EventLoopThread(place.server) as where:
        return play(where, speaker, [(task, 3) for task, _ in scripts], limits, room)[0]


@pytest.fixture(params=sorted(WORDS))
def words(request: pytest.FixtureRequest) -> Any:
    return WORDS[request.param]()


@pytest.mark.parametrize("limits", [BRIEF, FULL], ids=["brief", "full"])
def test_the_mask_says_token_by_token_who_spoke(toy: ServedWeb, words: Any, limits: Limits) -> None:
    first, second = of(toy, "fact", 2)
    script = good(second)
    scripts = [(first, good(first)), (second, [[*script[0], ("find", {"pattern": "x"})], *script[1:]])]
    for rollout, (_, plan) in zip(played(toy, words, scripts, limits), scripts, strict=True):
        turns = [turn(words, calls) for calls in plan]
        assert [id_ for id_, is_own in zip(rollout.ids, rollout.mask, strict=True) if is_own] == [*chain(*turns)]
        with Client(toy.server, retries=0) as client:
            episode = Episode(client, limits)
            episode.reset(rollout.task, 3)
            observations = [[episode.call(*call).text for call in calls] for calls in plan]
            assert rollout.score == rubric_of(rollout.task).score(episode.record())
        tool_texts = [message["content"] for message in rollout.messages if message["role"] == "tool"]
        assert tool_texts == [*chain(*observations)]
        runs = between(rollout)
        assert len(runs) == len(observations) - 1
        for text, round_texts in zip(map(words.decode, runs), observations[:-1], strict=True):
            remaining_text = text
            for part in round_texts:
                assert part in remaining_text
                remaining_text = remaining_text.replace(part, "", 1)
            assert all(word not in remaining_text for word in ("search", "open", "finish"))
        assert rollout.end_reason == "done"
        assert rollout.score.reward == 1.0


def test_who_follows_a_rollout_sees_it_turn_by_turn(toy: ServedWeb) -> None:
    words, (task, other) = WORDS["scratch"](), of(toy, "fact", 2)
    early = [("finish", {"answer": "x", "citations": []})]
    scripts: Scripts = [(task, good(task)), (other, [good(other)[0], early])]
    speaker, seen_lengths = Scripted(words, {one.question: script for one, script in scripts}), list[list[int]]()
    with EventLoopThread(toy.server) as loop_thread:
        play(
            loop_thread, speaker, [(one, 3) for one, _ in scripts], FULL, 20_000,
            on_progress=lambda rollouts: seen_lengths.append([len(one.messages) for one in rollouts]),
        )  # fmt: skip
    assert seen_lengths == [[2, 2], [4, 4], [6, 4]]


def between(rollout: Rollout) -> list[Ids]:
    """Ids of the mask's runs of 0."""
    runs: list[Ids] = []
    for number, (id_, is_own) in enumerate(zip(rollout.ids, rollout.mask, strict=True)):
        if not is_own and (number == 0 or rollout.mask[number - 1]):
            runs.append([])
        if not is_own:
            runs[-1].append(id_)
    return runs


@pytest.mark.parametrize("limits", [BRIEF, FULL], ids=["brief", "full"])
def test_the_ids_are_what_the_template_makes_of_the_messages(toy: ServedWeb, words: Any, limits: Limits) -> None:
    task = of(toy, "fact")[0]
    rollout = played(toy, words, [(task, good(task))], limits)[0]
    messages = [*ChatCodec(words).opening_messages(task), *rollout.messages[:-1]]
    conversation = words.apply_chat_template(messages, tokenize=False, tools=list(TOOLS))
    assert words.decode(rollout.prompt_ids + rollout.ids) == conversation.rstrip("\n")
    assert words(conversation, add_special_tokens=False)["input_ids"][: len(rollout.prompt_ids)] == rollout.prompt_ids


def test_what_is_no_call_is_silent_and_what_is_cut_off_is_long(toy: ServedWeb, words: Any) -> None:
    first, two, three, four = of(toy, "fact", 4)
    cut = turn(words, good(two)[2])[:-1]
    scripts: Scripts = [
        (first, [turn(words, [], "Xa Qui")]),
        (two, [cut]),
        (three, [[("nonsense", {"a": "b"})], [("search", {"page": 1})], *good(three)[2:]]),
        (four, [*good(four)[:2], turn(words, [], "So it is.")]),
    ]
    rollouts = played(toy, words, scripts)
    assert [rollout.end_reason for rollout in rollouts] == ["silent", "long", "done", "silent"]
    assert [rollout.score.reward for rollout in rollouts] == [0.0] * 4
    assert rollouts[1].ids == cut
    assert rollouts[2].score.terms["misuses"] == 2
    assert [len(rollout.latencies) for rollout in rollouts] == [0, 0, 3, 2]
    figures = compute_figures(rollouts, Timing(0, 0, 0), 1)
    assert (figures["over/silent"], figures["over/long"], figures["over/done"]) == (0.5, 0.25, 0.25)


def test_no_rollout_outgrows_its_room(toy: ServedWeb, words: Any) -> None:
    task = of(toy, "fact")[0]
    unbounded = played(toy, words, [(task, good(task))])[0]
    first = unbounded.mask.index(0)
    for room in range(first - 1, len(unbounded.ids), 9):
        rollout = played(toy, words, [(task, good(task))], room=room)[0]
        assert len(rollout.ids) == len(rollout.mask) <= room
        assert unbounded.ids[: len(rollout.ids)] == rollout.ids
        assert rollout.end_reason == "long"
        assert rollout.score.reward == 0.0


def test_log_probabilities_stand_beside_the_models_own_tokens(toy: ServedWeb, words: Any) -> None:
    first, second = of(toy, "fact", 2)
    for rollout in played(toy, words, [(first, good(first)), (second, good(second))], logprobs=True):
        assert rollout.logprobs == [-0.5 if is_own else 0.0 for is_own in rollout.mask]


def test_all_tools_of_a_round_are_called_at_once(toy: ServedWeb) -> None:
    tasks = of(toy, "fact", 40)
    words = WORDS["scratch"]()
    speaker = Scripted(words, {task.question: good(task) for task in tasks})
    slow = {"weather": {"latency": {"kind": "constant", "ms": 300}}}
    with EventLoopThread(toy.server) as room:
        rollouts, timing = play(room, speaker, [(task, 3) for task in tasks], BRIEF, 2000, slow)
    assert {one.score.reward for one in rollouts} == {1.0}
    assert speaker.rounds == 3
    waited = sum(seconds for one in rollouts for seconds in one.latencies)
    assert waited > 40 * 0.3
    assert timing.tool_seconds < waited / 5


@contextmanager
def served(place: ServedWeb, port: int) -> Iterator[subprocess.Popen[str]]:
    """The toy web on a port, until it is killed."""
    root = place.file.parent.parent
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--collection", "train"]
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "http://" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_server_killed_in_the_middle_masks_what_it_struck(toy: ServedWeb, words: Any) -> None:
    tasks, port = of(toy, "fact", 3), free_port()
    speaker = Scripted(words, {task.question: good(task) for task in tasks})
    with EventLoopThread(f"http://127.0.0.1:{port}") as room:
        with served(toy, port) as process:

            def kill(number: int) -> None:
                if number == 2:
                    process.kill()
                    process.wait()

            speaker.before = kill
            rollouts, _ = play(room, speaker, [(task, 3) for task in tasks], BRIEF, 20_000)
        assert [one.score.reward for one in rollouts] == [None] * 3
        assert all(one.score.mask for one in rollouts)
        assert compute_figures(rollouts, Timing(0, 0, 0), 1)["masked"] == 1.0
        failed, _ = play(room, Scripted(words, {}), [(tasks[0], 3)], BRIEF, 20_000)
        assert (failed[0].ids, failed[0].score.reward) == ([], None)
        with served(toy, port):
            speaker = Scripted(words, {task.question: good(task) for task in tasks})
            rollouts, _ = play(room, speaker, [(task, 3) for task in tasks], BRIEF, 20_000)
        assert [one.score.reward for one in rollouts] == [1.0] * 3


def test_a_step_of_grpo_waits_for_its_web(toy: ServedWeb, tmp_path: Path) -> None:
    from webemu.rl.train import tiny_models
    from webemu.rl.train.chat_model import ChatModel
    from webemu.rl.train.grpo import train_grpo
    from webemu.rl.train.recipe import EpisodeSettings, Stage
    from webemu.rl.train.step_log import read_steps
    from webemu.rl.train.trainer import TrainingJob

    words, port = WORDS["scratch"](), free_port()
    model = tiny_models.create_model(tiny_models.SIZES["tiny"], 0, len(words), words.pad_token_id, words.eos_token_id)
    stage = Stage("wait", "grpo", 2, 1e-3, batch=4, group=2, resample=0, turn=8, context=64)
    rewards: list[float] = []

    def serve() -> None:
        time.sleep(2)
        with served(toy, port) as process:
            while len(rewards) < 2 and process.poll() is None:
                time.sleep(0.05)

    with served(toy, port):
        room = EventLoopThread(f"http://127.0.0.1:{port}")
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        job = TrainingJob(stage, tmp_path, 0, on_step=lambda step, figures: rewards.append(step))
        train_grpo(
            job, ChatModel(model, words), of(toy, "fact", 8), EpisodeSettings(BRIEF, control="random-reward"), room
        )
    finally:
        rewards.extend([0, 0])
        thread.join()
    room.close()
    steps = read_steps(tmp_path)
    assert [row["step"] for row in steps] == [1, 2]
    assert [row["masked"] for row in steps] == [0.0, 0.0]


def test_rows_without_an_advantage_cost_no_gradient_and_change_nothing(
    toy: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from trl import GRPOTrainer

    from webemu.rl.train import grpo, tiny_models
    from webemu.rl.train.chat_model import ChatModel
    from webemu.rl.train.recipe import EpisodeSettings, Stage
    from webemu.rl.train.step_log import read_steps
    from webemu.rl.train.trainer import TrainingJob

    words, port, size = WORDS["scratch"](), free_port(), tiny_models.SIZES["tiny"]
    # Random rewards of a group that differ by less than 0.7 are levelled: most rows have the advantage 0.
    stage = Stage("spare", "grpo", 3, 1e-3, batch=8, micro=1, group=2, resample=0, turn=8, context=64, min_spread=0.7)
    weights, figures = [], []
    with served(toy, port), EventLoopThread(f"http://127.0.0.1:{port}") as room:
        for number, trainer in enumerate((grpo.SparingGrpoTrainer, GRPOTrainer)):
            monkeypatch.setattr(grpo, "SparingGrpoTrainer", trainer)
            model = tiny_models.create_model(size, 0, len(words), words.pad_token_id, words.eos_token_id)
            settings = EpisodeSettings(BRIEF, control="random-reward")
            folder = tmp_path / str(number)
            grpo.train_grpo(TrainingJob(stage, folder, 0), ChatModel(model, words), of(toy, "fact", 8), settings, room)
            weights.append(torch.cat([weight.detach().flatten() for weight in model.parameters()]))
            figures.append([(row["trl/entropy"], row["trl/grad_norm"]) for row in read_steps(folder)])
    assert torch.equal(*weights)
    assert figures[0] == figures[1]


def test_a_step_of_grpo_writes_what_its_judge_did(toy: ServedWeb, tmp_path: Path) -> None:
    from webemu.rl.judge.spec import JudgeSpec
    from webemu.rl.train import tiny_models
    from webemu.rl.train.chat_model import ChatModel
    from webemu.rl.train.grpo import train_grpo
    from webemu.rl.train.recipe import EpisodeSettings, Stage
    from webemu.rl.train.step_log import read_steps
    from webemu.rl.train.trainer import TrainingJob

    words, port = WORDS["scratch"](), free_port()
    model = tiny_models.create_model(tiny_models.SIZES["tiny"], 0, len(words), words.pad_token_id, words.eos_token_id)
    stage = Stage("judged", "grpo", 1, 1e-3, batch=4, group=2, resample=0, turn=8, context=64)
    with openai_server(lambda body: "{}") as judge, served(toy, port):
        episodes = EpisodeSettings(BRIEF, control="random-reward", judge=JudgeSpec(judge.url, "m", compare=1))
        with EventLoopThread(f"http://127.0.0.1:{port}") as room:
            train_grpo(TrainingJob(stage, tmp_path, 0), ChatModel(model, words), of(toy, "fact", 8), episodes, room)
    (step,) = read_steps(tmp_path)
    assert (step["judge/requests"], step["judge/failures"], step["terms/judge_open"]) == (0, 0, 0)


def test_a_web_that_never_comes_back_ends_the_stage(
    toy: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from webemu.rl.train import grpo as module
    from webemu.rl.train import tiny_models
    from webemu.rl.train.chat_model import ChatModel
    from webemu.rl.train.recipe import EpisodeSettings, Stage
    from webemu.rl.train.trainer import TrainingJob

    monkeypatch.setattr(module, "RETRY_DELAYS_SECONDS", (0, 0))
    words, port = WORDS["scratch"](), free_port()
    model = tiny_models.create_model(tiny_models.SIZES["tiny"], 0, len(words), words.pad_token_id, words.eos_token_id)
    stage = Stage("never", "grpo", 2, 1e-3, batch=4, group=2, turn=8, context=64)
    with served(toy, port):
        room = EventLoopThread(f"http://127.0.0.1:{port}")
    job = TrainingJob(stage, tmp_path, 0)
    with pytest.raises(ClientError, match="to continue"):
        module.train_grpo(job, ChatModel(model, words), of(toy, "fact", 8), EpisodeSettings(BRIEF), room)
    room.close()
