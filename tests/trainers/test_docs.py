"""The code of docs/trainers.md and examples/trl_search.py, run as it stands but for addresses, files and the model."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.rl.worlds import World
from webemu.rl.tasks import save

HERE = Path(__file__).parent.parent.parent
FENCED = re.compile(r"```(\w+) ([\w-]+)\n(.*?)```", re.DOTALL)
BLOCKS = {(kind, name): code for kind, name, code in FENCED.findall((HERE / "docs" / "trainers.md").read_text())}
BLOCKS["python", "example"] = (HERE / "examples" / "trl_search.py").read_text()
NEEDS = {
    "trl": "trl",
    "skyrl": "skyrl_gym",
    "skyrl-masking": None,
    "gym": None,
    "curriculum": None,
    "verl": "verl",
    "tinker": "tinker_cookbook",
    "areal": None,
    "trl-async": None,
    "verifiers": "verifiers",
}


def code(world: World, folder: Path, kind: str, name: str) -> str:
    save(folder / "tasks.jsonl", world.tasks[:150])
    return BLOCKS[kind, name].replace("http://127.0.0.1:8800", world.url)


def ran(folder: Path, text: str) -> str:
    (folder / "snippet.py").write_text(text)
    command = [sys.executable, "snippet.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [name for name in NEEDS if name != "trl"])
def test_python_runs(world: World, tmp_path: Path, name: str) -> None:
    if NEEDS[name] and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    ran(tmp_path, code(world, tmp_path, "python", name))


@pytest.mark.parametrize("name", ["trl", pytest.param("example", marks=pytest.mark.slow)])
def test_trl_trains(world: World, tmp_path: Path, name: str) -> None:
    pytest.importorskip("trl")
    from transformers import Qwen3ForCausalLM

    from tests.trainers import tiny

    words = tiny.tokenizer()
    model = tiny.model(words, lambda *_: "")
    model.__class__ = Qwen3ForCausalLM
    model.save_pretrained(tmp_path / "model")
    words.save_pretrained(tmp_path / "model")
    text = code(world, tmp_path, "python", name).replace('"Qwen/Qwen3-4B"', f'"{tmp_path / "model"}"')
    text = text.replace("num_generations=8,", "num_generations=8, use_cpu=True, bf16=False, max_steps=1, report_to=[],")
    assert "'terms/turns'" in ran(tmp_path, text.replace("16_000", "64"))


def test_the_settings_of_verifiers_are_known(world: World, tmp_path: Path) -> None:
    pytest.importorskip("verifiers")
    (tmp_path / "webemu_search.py").write_text(BLOCKS["python", "verifiers"])
    config = code(world, tmp_path, "toml", "verifiers")
    assert tomllib.loads(config)["push"] is False
    (tmp_path / "eval.toml").write_text(config)
    run = "from verifiers.v1.cli.eval.main import main; main()"
    command = [sys.executable, "-c", run, "@", "eval.toml", "--dry-run", "--no-rich"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tools_of_verl_load(world: World, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    from verl.tools.tool_registry import load_all_tools

    (tmp_path / "tools.yaml").write_text(code(world, tmp_path, "yaml", "verl"))
    tools = load_all_tools(str(tmp_path / "tools.yaml"), None)
    assert [tool.name for tool in tools] == ["search", "open", "find", "finish", "ask_user"]


def test_openenv_serves(world: World, tmp_path: Path) -> None:
    pytest.importorskip("openenv")
    from tests.trainers.test_openenv import serving
    from webemu.rl.adapters.environment_config import EnvironmentConfig

    assert "uvicorn.run(build_app(load(" in code(world, tmp_path, "python", "openenv")
    with serving(world.tasks, EnvironmentConfig(world.url)) as address:
        output = ran(tmp_path, BLOCKS["python", "openenv-client"].replace("http://127.0.0.1:8901", address))
    assert output.startswith(world.tasks[0].question)
    assert output.endswith("0.0\n")


def test_http_is_asked(world: World, tmp_path: Path) -> None:
    """The lines of curl against the command, with the name that `/reset` gave."""
    import json

    code(world, tmp_path, "sh", "http")
    command = [sys.executable, "-m", "webemu.emulator.cli", "episodes", "--tasks", "tasks.jsonl", "--port", "0"]
    process = subprocess.Popen([*command, "--server", world.url], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address, name, answers = process.stdout.readline().split(" at ")[1].split(" ")[0], "…", []
        for line in BLOCKS["sh", "http"].splitlines()[1:]:
            ready_command = line.replace("http://127.0.0.1:8900", address).replace("…", name)
            done = subprocess.run(["bash", "-c", ready_command], capture_output=True, text=True, check=True)
            answers.append(json.loads(done.stdout))
            name = answers[0]["episode"]
    finally:
        process.terminate()
        process.wait(30)
    assert answers[0]["observation"] == world.tasks[0].question
    assert answers[1]["kind"] == "results"
    assert answers[2] == {"closed": True}
