"""`webemu train` as a user runs it: from its first step to its last, again, stage by stage, and killed in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")
pytest.importorskip("tensorboard")

import pyarrow.parquet as pq

from webemu.rl.tasks import Task
from webemu.rl.train.recipe import RecipeError, parse_recipe
from webemu.rl.train.run import train
from webemu.rl.train.run_folder import RunError, copy_earlier_run, last_checkpoint
from webemu.rl.train.served_web import RunInputs, ServedWeb, split_web
from webemu.rl.train.step_log import HELD_OUT_FILE, grounded_by_task, read_steps

RECIPE = """\
summary = "for tests"
questions = 6
{control}
[web]
pages = 60
seed = 5
[held_out]
pages = 60
seed = 6
[model]
size = "tiny"
[limits]
turns = 4
calls = 3
results = 3
brief = true
[[stages]]
name = "skills"
kind = "sft"
steps = 40
batch = 8
rate = 6e-3
beta2 = 0.98
recipes = ["fact"]
mix = {{ good = 0.5, guess = 0.2, unread = 0.2, astray = 0.1 }}
turn = 24
context = 200
[[stages]]
name = "grpo"
kind = "grpo"
steps = 7
batch = 8
group = 4
rate = 1e-3
recipes = ["fact"]
resample = 1
save = 2
turn = 24
context = 200
"""
NOISY = RECIPE.format(control='control = "random-reward"')
"""A model of so few steps is never right: rewards at random make every step one that changes the weights."""
TIMES = (
    "seconds/",
    "tool_ms/",
    "tokens_per_second",
    "share/tools",
    "memory/",
    "trl/step_time",
    "trl/train_",
    "trl/num_tokens",
)


def command(recipe: Path, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "webemu.emulator.cli",
        "train",
        "--recipe",
        str(recipe),
        "--out",
        str(out),
        *more,
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run(recipe: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(recipe, out, *more), capture_output=True, text=True, env=environment())


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "noisy.toml"
    path.write_text(NOISY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed_run(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    done = run(recipe, out)
    assert done.returncode == 0, done.stderr
    assert "skills" in done.stdout
    assert "held out: grounded" in done.stdout
    return out


def manifest(out: Path, stage: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((out / stage / "manifest.json").read_text(encoding="utf-8"))
    return fields


def figures(out: Path) -> list[dict[str, Any]]:
    """Return the figures that must be the same in each run: all but how long it took."""
    return [
        {name: value for name, value in row.items() if not name.startswith(TIMES)}
        for row in read_steps(out / "2-grpo")
    ]  # fmt: skip


def copy_begun_run(undisturbed_run: Path, out: Path) -> Path:
    """A run whose webs and first stage are done."""
    out.mkdir()
    for name in ("webs", "1-skills"):
        shutil.copytree(undisturbed_run / name, out / name)
    shutil.copy(undisturbed_run / "recipe.toml", out)
    return out


@pytest.mark.slow
def test_manifests_chain_what_was_trained_from_what(undisturbed_run: Path) -> None:
    first, second = manifest(undisturbed_run, "1-skills"), manifest(undisturbed_run, "2-grpo")
    assert first["from"] == "scratch"
    assert second["from"] == first["model"] != second["model"]
    assert all(
        len(stage_manifest[name]) == 64 for stage_manifest in (first, second) for name in ("model", "recipe", "tasks")
    )
    assert first["tasks"] == second["tasks"] != first["held_out_tasks"]
    assert first["snapshot"] == second["snapshot"] != first["held_out_snapshot"]
    assert set(first["versions"]) >= {"trl", "torch", "transformers"}
    for stage_manifest in (first, second):
        assert stage_manifest["held_out"]["masked"] == 0
        assert 0 <= stage_manifest["held_out"]["grounded"]["low"] <= stage_manifest["held_out"]["grounded"]["high"] <= 1


@pytest.mark.slow
def test_every_step_is_told_once(undisturbed_run: Path) -> None:
    assert [row["step"] for row in read_steps(undisturbed_run / "1-skills")] == list(range(2, 41, 2))
    assert [row["step"] for row in read_steps(undisturbed_run / "2-grpo")] == list(range(1, 8))
    assert len({row["trl/reward"] for row in read_steps(undisturbed_run / "2-grpo")}) > 1
    names = [path.name for path in sorted((undisturbed_run / "2-grpo" / "trajectories").iterdir())]
    assert names == [f"{step:06d}.parquet" for step in range(1, 8)]


def state(out: Path) -> dict[str, tuple[int, int]]:
    file_stats = {path: path.stat() for path in out.rglob("*") if path.is_file() and "webs" not in path.parts}
    return {str(path): (one.st_size, one.st_mtime_ns) for path, one in file_stats.items() if path.name != "recipe.toml"}


@pytest.mark.slow
def test_a_finished_run_is_left_as_it_is(recipe: Path, undisturbed_run: Path) -> None:
    before = state(undisturbed_run)
    done = run(recipe, undisturbed_run)
    assert done.returncode == 0, done.stderr
    assert state(undisturbed_run) == before
    assert "held out: grounded" in done.stdout


@pytest.mark.slow
def test_another_recipe_or_seed_or_stage_is_refused(undisturbed_run: Path) -> None:
    parsed, other = parse_recipe(NOISY), NOISY.replace("steps = 7", "steps = 8")
    before = state(undisturbed_run)
    for text, seed, until, message in (
        (other, 0, "", "another recipe"),
        (NOISY, 1, "", "or seed"),
        (NOISY, 0, "x", "x"),
    ):
        with pytest.raises(RunError, match=message):
            train(parsed, text, undisturbed_run, seed, RunInputs(), lambda *_: None, until)
    assert state(undisturbed_run) == before


@pytest.mark.slow
def test_a_stage_is_where_a_run_stops(undisturbed_run: Path, tmp_path: Path) -> None:
    out = copy_begun_run(undisturbed_run, tmp_path / "run")
    stages: list[str] = []
    manifests = train(parse_recipe(NOISY), NOISY, out, 0, RunInputs(), lambda stage, *_: stages.append(stage), "skills")
    assert [one["stage"] for one in manifests] == ["skills"]
    assert stages == []
    assert not (out / "2-grpo").exists()


@pytest.mark.slow
def test_a_stage_of_no_steps_measures_the_model_as_it_is(undisturbed_run: Path, tmp_path: Path) -> None:
    trained = undisturbed_run / "1-skills"
    skills = RECIPE.format(control="").partition('[[stages]]\nname = "grpo"')[0]
    text = skills.replace('size = "tiny"', f'name = "{trained / "model"}"').replace("steps = 40", "steps = 0")
    (manifest,) = train(parse_recipe(text), text, tmp_path / "run", 0, RunInputs(), lambda *_: None)
    assert manifest["steps"] == 0
    assert manifest["held_out"] == json.loads((trained / "manifest.json").read_text())["held_out"]
    episodes = pq.read_table(tmp_path / "run" / "1-skills" / HELD_OUT_FILE).to_pylist()
    assert len(grounded_by_task(episodes)) == 6
    with pytest.raises(RecipeError, match="with at least one step"):
        parse_recipe(text.replace(f'name = "{trained / "model"}"', 'size = "tiny"'))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(
    recipe: Path, undisturbed_run: Path, tmp_path: Path
) -> None:
    out = copy_begun_run(undisturbed_run, tmp_path / "run")
    process = subprocess.Popen(
        command(recipe, out), stdout=subprocess.DEVNULL, env=environment(), start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(read_steps(out / "2-grpo")) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)  # its server too
    assert process.wait(30) == -signal.SIGKILL
    assert not (out / "2-grpo" / "manifest.json").exists()
    (out / "2-grpo" / "checkpoint-7").mkdir(exist_ok=True)  # as if killed while it was written
    first = (out / "2-grpo" / "trajectories" / "000001.parquet").stat()
    done = run(recipe, out)
    assert done.returncode == 0, done.stderr
    assert [row["step"] for row in read_steps(out / "2-grpo")] == list(range(1, 8))
    assert (out / "2-grpo" / "trajectories" / "000001.parquet").stat() == first  # a checkpoint was gone on from
    assert figures(out) == figures(undisturbed_run)
    resumed, undisturbed = manifest(out, "2-grpo"), manifest(undisturbed_run, "2-grpo")
    assert resumed["model"] == undisturbed["model"]
    assert resumed["held_out"] == undisturbed["held_out"]


@pytest.mark.slow
def test_a_run_killed_between_training_and_manifest_trains_no_further(undisturbed_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(undisturbed_run, out)
    (out / "2-grpo" / "manifest.json").unlink()
    shutil.rmtree(out / "2-grpo" / "model")
    steps: list[int] = []
    train(parse_recipe(NOISY), NOISY, out, 0, RunInputs(), lambda stage, step, _: steps.append(step))
    assert steps == []
    assert manifest(out, "2-grpo")["model"] == manifest(undisturbed_run, "2-grpo")["model"]
    assert [row["step"] for row in read_steps(out / "2-grpo")] == list(range(1, 8))


def test_only_a_whole_checkpoint_is_gone_on_from(tmp_path: Path) -> None:
    """The trainer's state is the last of its files, and the curriculum is written after it."""
    sft, grpo = parse_recipe(NOISY).stages
    assert (last_checkpoint(tmp_path, sft), last_checkpoint(tmp_path, grpo)) == (0, 0)
    for step in (2, 4, 6):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (2, 4):
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").touch()
    (tmp_path / "curriculum-2.json").touch()
    assert (last_checkpoint(tmp_path, sft), last_checkpoint(tmp_path, grpo)) == (4, 2)


def test_what_is_held_out_of_one_file_is_not_learned() -> None:
    tasks = [
        Task(str(n), f"q{n}", ("a",), split=split) for n, split in enumerate(("train", "dev", "test", "", "train"))
    ]
    webs = split_web(ServedWeb("http://x.example", "s", tuple(tasks), Path("tasks.jsonl")))
    assert [task.id for task in webs.training.tasks] == ["0", "4"]
    assert [task.id for task in webs.held_out.tasks] == ["1", "2"]
    for splits in ((), ("train",), ("test",), ("", "test")):
        some = tuple(Task("t", "q", ("a",), split=split) for split in splits)
        with pytest.raises(RunError, match="held-out tasks"):
            split_web(ServedWeb("http://x.example", "s", some, Path("tasks.jsonl")))


def test_a_control_takes_over_what_came_before(tmp_path: Path) -> None:
    before, out = tmp_path / "before", tmp_path / "out"
    for folder, text in ((before, "# seed 0\nx"), (out, "# seed 0\n# control no-tools\nx")):
        folder.mkdir()
        (folder / "recipe.toml").write_text(text)
    for name in ("webs", "1-skills", "2-grpo"):
        (before / name).mkdir()
        (before / name / "manifest.json").write_text(name)
    (out / "1-skills.unfinished").mkdir()
    copy_earlier_run(before, out, parse_recipe(RECIPE.format(control="")))
    assert sorted(path.name for path in out.iterdir()) == ["1-skills", "recipe.toml", "webs"]
    (out / "recipe.toml").write_text("# seed 1\nx")
    copy_earlier_run(before, out, parse_recipe(RECIPE.format(control="")))
    (out / "recipe.toml").write_text("# seed 0\ny")
    with pytest.raises(RunError, match="another recipe"):
        copy_earlier_run(before, out, parse_recipe(RECIPE.format(control="")))
