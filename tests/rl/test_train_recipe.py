"""The parts of training without a trainer: recipes, the choice of tasks, controls, the journal, the best episodes."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from webemu.rl.chat import answer_rules
from webemu.rl.curriculum import Curriculum, Plan
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.rubric import Score
from webemu.rl.tasks import AnswerType, Evidence, Task
from webemu.rl.train.best import select_best_episodes
from webemu.rl.train.choose import (
    has_reward_spread,
    level_small_spreads,
    play_groups,
    score_outcome,
    shuffle_answers,
)
from webemu.rl.train.manifest import is_figure, read_manifest, write_manifest
from webemu.rl.train.messages import system_messages
from webemu.rl.train.model_sources import locate
from webemu.rl.train.recipe import (
    COMPARED_ANSWERS,
    EpisodeSettings,
    RecipeError,
    list_shipped,
    parse_recipe,
    read_recipe,
)
from webemu.rl.train.rollout import Rollout, Timing
from webemu.rl.train.step_log import StepLog, compute_figures, is_grounded, read_steps

STAGE = '[[stages]]\nname = "one"\nkind = "grpo"\nsteps = 2\nrate = 1e-3\n'
WHOLE_RECIPE = f'summary = "x"\n{STAGE}'


def task(name: str, hops: int = 1, recipe: str = "fact") -> Task:
    evidence = (Evidence(f"https://a.example/{name}", f"key {name}", name),)
    return Task(name, f"Key of {name}", (f"answer {name}",), evidence, hops, recipe)


TASKS = tuple(task(f"t{n}") for n in range(20))


def scored(task: Task, seed: int, reward: float | None) -> Rollout:
    right = None if reward is None else float(reward > 0)
    score = Score(reward, {"correct": right, "grounding": right}, "" if reward is not None else "outage: gone")
    return Rollout(task, seed, [1], [2, 3], [1, 0], score=score, end_reason="done")


def test_the_torch_free_part_is_free_of_torch() -> None:
    modules = (
        "recipe",
        "choose",
        "step_log",
        "best",
        "patterns",
        "command",
        "messages",
        "manifest",
        "run_folder",
        "report",
    )
    rooms = ", ".join(f"webemu.rl.train.{module}" for module in modules)
    code = f"import sys, {rooms}; print({{'torch', 'trl', 'transformers', 'datasets'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_shipped_recipes_can_be_read() -> None:
    assert "tiny" in list_shipped()
    for name in list_shipped():
        text, recipe = read_recipe(name)
        assert recipe.summary
        assert parse_recipe(text) == recipe
        assert len({stage.name for stage in recipe.stages}) == len(recipe.stages)


def test_episodes_are_played_as_the_recipe_says() -> None:
    recipe = parse_recipe(
        f'policy = {{ day = "2024-05-01" }}\n{WHOLE_RECIPE}[limits]\ncalls = 5\n[model]\nsystem = "rules"\n'
    )
    assert recipe.episodes == EpisodeSettings(recipe.limits, {"day": "2024-05-01"}, "rules", "")
    assert recipe.episodes.limits_under_control.calls == 5
    without_tools = replace(recipe, control="no-tools", model=replace(recipe.model, system="Be brief.")).episodes
    assert (without_tools.system, without_tools.limits.calls) == ("Be brief.", 5)
    assert without_tools.limits_under_control.calls == 0


def test_a_stage_is_complete_once_its_manifest_is_written(tmp_path: Path) -> None:
    held_out: dict[str, Any] = {
        "grounded": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 8},
        "masked": 0,
        "recipes": {},
    }
    assert read_manifest(tmp_path) is None
    (tmp_path / "manifest.unfinished").write_text('{"stage":')
    assert read_manifest(tmp_path) is None
    manifest = write_manifest(tmp_path, {"stage": "grpo", "held_out": held_out})  # type: ignore[typeddict-item]
    assert read_manifest(tmp_path) == manifest
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    assert [name for name, value in manifest["held_out"].items() if is_figure(value)] == ["grounded"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("summary = 1 =", "Expected"),
        ("[web]\ntasks = 9", "a toy web has tasks of its own"),
        ('[web]\nkind = "real"', "the kind of a web must be toy or world"),
        ('[[stages]]\nname = "a"\nkind = "sft"\nsteps = 1\nrate = 1\nrows = "rows"', "rows must be played, best"),
        ('summary = "x"', r"has no \[\[stages\]\]"),
        (STAGE, "summary"),
        (f'summary = "x"\ncolour = 1\n{STAGE}', "the recipe: unknown key 'colour'; known keys: summary"),
        (f'summary = "x"\n[model]\nsise = "tiny"\n{STAGE}', r"\[model\]: unknown key 'sise'"),
        (f'summary = "x"\n[limits]\nturn = 1\n{STAGE}', r"\[limits\]: unknown key 'turn'"),
        (f"{WHOLE_RECIPE}epochs = 3\n", "stage one: unknown key 'epochs'"),
        (f"{WHOLE_RECIPE}plan = {{ explor = 0.1 }}\n", "plan of stage one: unknown key 'explor'"),
        (f"{WHOLE_RECIPE}batch = 9\n", r"batch \(9\) must be a multiple of group"),
        (WHOLE_RECIPE.replace("grpo", "ppo"), "kind must be sft or grpo"),
        (f'control = "luck"\n{WHOLE_RECIPE}', "unknown control 'luck'"),
        (WHOLE_RECIPE.replace("steps = 2\n", ""), "steps"),
    ],
)
def test_a_recipe_that_is_wrong_says_where(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as error:
        parse_recipe(text, "mine.toml")
    assert str(error.value).startswith("mine.toml: ")


def test_a_recipe_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(RecipeError, match="tiny"):
        read_recipe("nothing-of-the-kind")


def test_a_model_is_a_folder_a_file_or_an_id_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "config.json").write_text("{}")
    assert locate("whole") == ("whole", {})
    assert locate(str(tmp_path / "whole")) == (str(tmp_path / "whole"), {})
    assert [locate(name) for name in ("gpt2", "Qwen/Qwen3-1.7B")] == [("gpt2", {}), ("Qwen/Qwen3-1.7B", {})]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("models/smollm", "models/smollm is not here: webemu train --get smollm"),
        ("/nowhere", "there is no folder /nowhere"),
        ("./model", "there is no folder ./model"),
        ("../model", "there is no folder ../model"),
        ("runs/tiny/3-grpo/model", "there is no folder runs/tiny/3-grpo/model"),
        ("empty", "empty holds no model: name a folder that has a config.json"),
        ("no.gguf", "there is no file no.gguf"),
    ],
)
def test_a_model_that_is_not_there_is_named(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecipeError, match=re.escape(message)):
        locate(name)


def test_all_of_a_stage_can_be_said() -> None:
    more = "plan = { explore = 0.5 }\nhorizon = [[0, 6], [100, 12]]\nnoise = { dead_links = [0.0, 0.3] }\n"
    stage = parse_recipe(WHOLE_RECIPE + more + 'recipes = ["fact"]\nclip = [0.2, 0.3]\n').stages[0]
    assert stage.plan == Plan(explore=0.5)
    assert stage.horizon == ((0, 6), (100, 12))
    assert stage.noise == {"dead_links": [0.0, 0.3]}
    assert (stage.recipes, stage.clip) == (("fact",), (0.2, 0.3))


@pytest.mark.parametrize("answer_type", ["", "name", "none", "report"])
def test_the_prompt_is_that_of_the_answer_type(answer_type: AnswerType) -> None:
    """A report must not be learned under the rules of short answers; evaluation has the same prompt."""
    assert system_messages("rules", answer_type) == [{"role": "system", "content": answer_rules(answer_type)}]
    assert system_messages("Be brief.", answer_type) == [{"role": "system", "content": "Be brief."}]
    assert system_messages("", answer_type) == []


def test_a_judge_belongs_to_the_recipe() -> None:
    table = '[judge]\nbase_url = "http://127.0.0.1:8000/v1"\nmodel = "m"\nkey_env = "KEY"\n'
    recipe = parse_recipe(WHOLE_RECIPE + table)
    expected = JudgeSpec("http://127.0.0.1:8000/v1", "m", "KEY", compare=COMPARED_ANSWERS)
    assert recipe.judge == recipe.episodes.judge == expected
    assert parse_recipe(WHOLE_RECIPE).judge is None
    with pytest.raises(RecipeError, match="judge: unknown key 'url'; known keys: base_url, model"):
        parse_recipe(WHOLE_RECIPE + '[judge]\nurl = "x"\n')
    with pytest.raises(RecipeError, match="a judge needs base_url and model"):
        parse_recipe(WHOLE_RECIPE + '[judge]\nbase_url = "x"\nmodel = ""\n')


def test_scaling_and_the_least_spread_belong_to_the_recipe() -> None:
    stage = parse_recipe(f'{WHOLE_RECIPE}scale_rewards = "none"\nmin_spread = 0.2\n').stages[0]
    assert (stage.scale_rewards, stage.min_spread) == ("none", 0.2)
    with pytest.raises(RecipeError, match="scale_rewards must be group, batch, none, got 'std'"):
        parse_recipe(f'{WHOLE_RECIPE}scale_rewards = "std"\n')


def test_costs_alone_teach_nothing() -> None:
    """Divided by its deviation, a cost of 0.02 would be as large as right against wrong."""
    right, mixed = [1.0, 0.98, 1.0, None], [1.0, 0.98, 0.0, 0.0]
    rollouts = [scored(TASKS[0], n, reward) for n, reward in enumerate(right)]
    assert has_reward_spread(rollouts)
    assert not has_reward_spread(rollouts, 0.1)
    levelled = level_small_spreads([*right, *mixed], 4, 0.1)
    assert levelled == [pytest.approx(2.98 / 3)] * 3 + [None, *mixed]
    assert level_small_spreads([None, None], 2, 0.1) == [None, None]
    assert level_small_spreads([*right, *mixed], 4, 0.0) == [*right, *mixed]


class Played:
    """Stands in for episodes: gives each (task, seed) the reward that a function says, and remembers what was asked."""

    def __init__(self, reward: Callable[[Task, int], float | None]) -> None:
        self._reward = reward
        self.requests: list[list[tuple[Task, int]]] = []

    def __call__(self, pairs: Sequence[tuple[Task, int]]) -> list[Rollout]:
        self.requests.append([*pairs])
        return [scored(one, seed, self._reward(one, seed)) for one, seed in pairs]


def test_groups_are_of_one_task_with_other_seeds() -> None:
    play = Played(lambda task, seed: seed % 2)
    rollouts, played = play_groups(Curriculum(TASKS), play, 3, 4, 2, 5)
    assert (len(rollouts), played, len(play.requests)) == (12, 3, 1)
    for at in range(0, 12, 4):
        part = rollouts[at : at + 4]
        assert len({one.task.id for one in part}) == 1
        assert len({one.seed for one in part}) == 4


def test_groups_of_one_reward_are_drawn_again_and_telling_ones_come_first() -> None:
    play = Played(lambda task, seed: seed % 2 if int(task.id[1:]) % 2 else 1.0)
    curriculum = Curriculum(TASKS, seed=3)
    rollouts, played = play_groups(curriculum, play, 4, 4, 3, 0)
    assert len(rollouts) == 16
    assert played == sum(len(pairs) for pairs in play.requests) // 4 > 4
    telling = [has_reward_spread(rollouts[at : at + 4]) for at in range(0, 16, 4)]
    assert telling == sorted(telling, reverse=True)
    spread_count = sum(has_reward_spread([scored(*one, play._reward(*one)) for one in pairs[at : at + 4]])
               for pairs in play.requests for at in range(0, len(pairs), 4))  # fmt: skip
    assert sum(telling) == min(4, spread_count)
    assert sum(rate.outcomes for rate in curriculum.rates.values()) == 4 * played
    seeds = [{seed for _, seed in pairs} for pairs in play.requests]
    assert all(not one & other for n, one in enumerate(seeds) for other in seeds[:n])


@pytest.mark.parametrize(("resample", "played"), [(0, 3), (1, 6), (4, 15)])
def test_drawing_again_ends(resample: int, played: int) -> None:
    play = Played(lambda *_: 0.0)
    rollouts, tried = play_groups(Curriculum(TASKS), play, 3, 2, resample, 0)
    assert (len(rollouts), tried, len(play.requests)) == (6, played, resample + 1)


def test_masked_rollouts_tell_nothing() -> None:
    assert not has_reward_spread([scored(TASKS[0], 0, None), scored(TASKS[0], 1, 1.0)])
    assert has_reward_spread([scored(TASKS[0], 0, None), scored(TASKS[0], 1, 1.0), scored(TASKS[0], 2, 0.0)])
    curriculum = Curriculum(TASKS)
    play_groups(curriculum, Played(lambda *_: None), 2, 2, 1, 0)
    assert (curriculum.masked, curriculum.rates) == (8, {})


def test_the_same_state_gives_the_same_groups() -> None:
    def steps(curriculum: Curriculum, begin: int) -> list[list[tuple[str, int]]]:
        play = Played(lambda task, seed: float((seed + len(task.id)) % 3 == 0))
        for step in range(begin, 6):
            play_groups(curriculum, play, 2, 4, 1, step)
        return [[(one.id, seed) for one, seed in pairs] for pairs in play.requests]

    uninterrupted, halved = Curriculum(TASKS, seed=9), Curriculum(TASKS, seed=9)
    play = Played(lambda task, seed: float((seed + len(task.id)) % 3 == 0))
    for step in range(3):
        play_groups(halved, play, 2, 4, 1, step)
    remainder = steps(Curriculum.from_json(halved.to_json(), TASKS), 3)
    assert [[(one.id, seed) for one, seed in pairs] for pairs in play.requests] + remainder == steps(uninterrupted, 0)


def test_shuffled_gold_is_the_gold_of_others() -> None:
    shuffled = shuffle_answers(TASKS, 4)
    assert [one.question for one in shuffled] == [one.question for one in TASKS]
    assert {one.answers for one in shuffled} <= {one.answers for one in TASKS}
    assert not any({*one.answers} & {*two.answers} for one, two in zip(shuffled, TASKS, strict=True))
    assert {row.url for one in shuffled for row in one.evidence} == {"https://control.invalid/"}, "nothing bears it"
    assert shuffled == shuffle_answers(TASKS, 4) != shuffle_answers(TASKS, 5)


def test_outcomes() -> None:
    assert score_outcome(Score(None, {"correct": None})) is None
    assert score_outcome(Score(0.05, {"correct": 0.0})) == 0.0
    assert score_outcome(Score(0.9, {"correct": 1.0})) == 1.0
    assert score_outcome(Score(0.7, {"coverage": 0.7})) == 1.0
    assert score_outcome(Score(0.5, {"coverage": 0.5})) == 0.0


def test_figures_of_a_step() -> None:
    rollouts = [scored(TASKS[0], 0, 1.0), scored(TASKS[0], 1, 0.0), scored(TASKS[0], 2, None), scored(TASKS[0], 3, 0.0)]
    rollouts[1].end_reason, rollouts[1].latencies = "silent", [0.01, 0.03]
    figures = compute_figures(rollouts, Timing(1.0, 2.0, 3.0), 7)
    assert figures["reward"] == pytest.approx(1 / 3)
    assert (figures["masked"], figures["over/silent"], figures["over/done"], figures["groups"]) == (0.25, 0.25, 0.75, 7)
    assert (figures["calls"], figures["tokens"], figures["grounded"]) == (0.5, 1.0, pytest.approx(1 / 3))
    assert (figures["tool_ms/p50"], figures["tool_ms/p99"]) == (30.0, 30.0)
    assert math.isnan(compute_figures(rollouts[2:3], Timing(0, 0, 0), 1)["reward"])


def test_a_report_is_grounded_by_half_of_its_claims_with_all_sources_right() -> None:
    def report(coverage: float, precision: float) -> Rollout:
        rollout = scored(TASKS[0], 0, 0.0)
        rollout.score = Score(coverage * precision, {"coverage": coverage, "precision": precision})
        return rollout

    assert [is_grounded(report(*one)) for one in ((1.0, 1.0), (0.5, 1.0), (0.6, 1.0), (1.0, 0.9))] == [
        True, False, True, False,
    ]  # fmt: skip


def test_the_journal_goes_on_after_a_checkpoint(tmp_path: Path) -> None:
    journal = StepLog(tmp_path)
    for step in (1, 2, 3):
        journal.write_step(step, {"reward": step / 4, "none": math.nan})
    with (tmp_path / "steps.jsonl").open("a") as file:
        file.write('{"step": 4, "rew')
    assert [row["step"] for row in read_steps(tmp_path)] == [1, 2, 3]
    again = StepLog(tmp_path, 2)
    again.write_step(3, {"reward": 1.0})
    assert read_steps(tmp_path) == [
        {"step": 1, "reward": 0.25}, {"step": 2, "reward": 0.5}, {"step": 3, "reward": 1.0},
    ]  # fmt: skip


def turn(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    tool_call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [tool_call]}


def test_the_best_episodes_are_right_different_and_end_with_the_models_turn(tmp_path: Path) -> None:
    def ended(name: str, seed: int, reward: float | None, query: str) -> Rollout:
        rollout = scored(task(name), seed, reward)
        last = turn("finish", {"answer": "x", "citations": ["r1"]})
        last["tool_calls"] *= 2
        finish_messages = [{"role": "tool", "name": "finish", "content": "The answer is taken."}] * 2
        rollout.messages = [
            turn("search", {"query": query}),
            {"role": "tool", "name": "search", "content": "s"},
            last,
            *finish_messages,
        ]
        return rollout

    StepLog(tmp_path).write_trajectories(1, [
        ended("a", 0, 1.0, "one"), ended("a", 1, 1.0, "one"), ended("a", 2, 0.92, "two"), ended("a", 3, 0.95, "three"),
        ended("b", 0, 0.5, "one"), ended("b", 1, None, "one"), ended("c<|im_end|>", 0, 1.0, "one"),
    ])  # fmt: skip
    conversations = select_best_episodes([tmp_path], "Be brief.")
    assert [messages[0] for messages in conversations] == [{"role": "system", "content": "Be brief."}] * 3
    assert [messages[1]["content"] for messages in conversations] == ["Key of a", "Key of a", "Key of c‹|im_end|>"]
    queries = [messages[2]["tool_calls"][0]["function"]["arguments"]["query"] for messages in conversations]
    assert queries == ["one", "three", "one"]
    assert all(messages[-1]["role"] == "assistant" for messages in conversations)
    assert json.dumps(conversations) == json.dumps(select_best_episodes([tmp_path], "Be brief."))
