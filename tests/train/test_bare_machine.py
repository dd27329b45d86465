"""A run that is packed, carried in parts, trained in stretches and brought back, with this machine for the bare one."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")

import torch
from safetensors.torch import load_file, save_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
HOUSE = Path(__file__).parents[2]
SCRIPT = HOUSE / "scripts" / "bare_machine.py"
spec = importlib.util.spec_from_file_location("bare_machine", SCRIPT)
assert spec is not None
assert spec.loader is not None
bare_machine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bare_machine)
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
PINS = (HOUSE / "constraints.txt").read_text().splitlines()[1:]
PROVIDED = [name for pin in PINS if (name := pin.partition("==")[0]) != "typer"]
"""Packages that the machine has: all but one, which shows that wheels are downloaded."""
RECIPE = """
summary = "three stages of a few steps"
questions = 4
[web]
pages = 60
[held_out]
pages = 60
seed = 1
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
steps = 120
batch = 8
rate = 1e-3
mix = { good = 1.0 }
recipes = ["fact"]
[[stages]]
name = "grpo"
kind = "grpo"
steps = 2
batch = 4
group = 2
rate = 1e-4
recipes = ["fact"]
resample = 0
save = 1
[[stages]]
name = "again"
kind = "sft"
steps = 3
batch = 8
rate = 1e-3
mix = { good = 1.0 }
recipes = ["fact"]
"""


def call(script: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the file that travels with the pack, as the bare machine does: on its own."""
    return subprocess.run([sys.executable, "-P", str(script), *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of the pack, and the work folder of a machine that all parts were carried to, one by one."""
    folder = tmp_path_factory.mktemp("bare")
    recipe = folder / "few.toml"
    recipe.write_text(RECIPE)
    big = folder / "weights.bin"
    big.write_bytes(bytes(range(256)) * 2**13)  # 2 MiB, so that there are several parts
    out, work = folder / "pack", folder / "work"
    parts = bare_machine.pack(out, PYTHON, [recipe, big], PROVIDED, 1)
    assert len(parts) > 2
    for number, part in enumerate(parts):
        carried = folder / f"call-{number}"
        carried.mkdir()
        for path in (part, out / "manifest.json", out / "bare_machine.py"):
            (carried / path.name).write_bytes(path.read_bytes())
        answer = call(carried / "bare_machine.py", "join", carried, "--work", work)
        assert answer.returncode == 0, answer.stderr
        assert ("missing" in answer.stdout) == (part is not parts[-1])
    return out, work


def test_what_was_packed_arrives(machine: tuple[Path, Path]) -> None:
    _, work = machine
    assert (work / "files" / "few.toml").read_text() == RECIPE
    assert (work / "files" / "weights.bin").stat().st_size == 2 * 2**20
    assert {"webemu", "typer"} <= {path.name for path in (work / "site").iterdir()}


def test_a_run_goes_on_from_stretch_to_stretch_and_comes_back(machine: tuple[Path, Path], tmp_path: Path) -> None:
    out, work = machine
    stretch = ["stretch", "--work", work, "--out", tmp_path / "results", "--minutes"]
    recipe = ["--", "--recipe", "{work}/files/few.toml", "--quiet"]
    first = call(out / "bare_machine.py", *stretch, 0.2, *recipe)  # ends in the first stage, or before
    assert "stopped in time" in first.stdout, first.stdout + first.stderr
    assert first.returncode == 0
    last = call(out / "bare_machine.py", *stretch, 10, *recipe)
    assert "ended with 0" in last.stdout, last.stdout + last.stderr

    with tarfile.open(tmp_path / "results" / "journals.tar.gz.00") as archive:
        names = archive.getnames()
        manifest = json.load(archive.extractfile("2-grpo/manifest.json"))  # type: ignore[arg-type]
    assert {"recipe.toml", "1-skills/manifest.json", "1-skills/steps.jsonl", "2-grpo/steps.jsonl"} <= set(names)
    assert not [name for name in names if "model/" in name or "webs/" in name]
    assert manifest["steps"] == 2

    base, trained = work / "run" / "2-grpo" / "model", work / "run" / "3-again" / "model"
    deltas = call(
        out / "bare_machine.py", "deltas", base, trained, "--work", work, "--rank", 32, "--out", tmp_path / "results"
    )
    assert deltas.returncode == 0, deltas.stderr
    bare_machine.restore(base, tmp_path / "results", tmp_path / "restored")
    before, after, restored = (
        load_file(folder / "model.safetensors") for folder in (base, trained, tmp_path / "restored")
    )
    change = sum(float((after[name] - before[name]).square().sum()) for name in after)
    error = sum(float((after[name] - restored[name]).square().sum()) for name in after)
    assert change > 0
    assert error < change


def test_a_change_of_low_rank_comes_back_whole(tmp_path: Path) -> None:
    torch.manual_seed(0)
    weights = {"matrix": torch.randn(200, 120), "norm": torch.randn(120)}
    changed = {"matrix": weights["matrix"] + torch.randn(200, 8) @ torch.randn(8, 120), "norm": weights["norm"] + 1}
    for name, saved in {"base": weights, "trained": changed}.items():
        (tmp_path / name).mkdir()
        save_file(saved, tmp_path / name / "model.safetensors")
    pieces = bare_machine.write_deltas(tmp_path / "base", tmp_path / "trained", tmp_path / "out", 8, 1)
    assert [piece.name for piece in pieces] == ["deltas.safetensors.00"]
    bare_machine.restore(tmp_path / "base", tmp_path / "out", tmp_path / "again")
    restored = load_file(tmp_path / "again" / "model.safetensors")
    error = (restored["matrix"] - changed["matrix"]).norm() / (changed["matrix"] - weights["matrix"]).norm()
    assert error < 0.01  # what bfloat16 rounds
    assert torch.equal(restored["norm"], changed["norm"])


def test_a_part_that_was_damaged_is_named(machine: tuple[Path, Path], tmp_path: Path) -> None:
    out, _ = machine
    carried = tmp_path / "carried"
    carried.mkdir()
    (carried / "manifest.json").write_bytes((out / "manifest.json").read_bytes())
    (carried / "pack.tar.00").write_bytes(b"damaged")
    with pytest.raises(bare_machine.PackError, match=r"pack\.tar\.00 is damaged: carry it again"):
        bare_machine.join(carried, tmp_path / "work")
    answer = call(out / "bare_machine.py", "stretch", "--work", tmp_path / "nothing", "--", "--recipe", "tiny")
    assert answer.returncode == 1
    assert answer.stderr == f"bare_machine: {tmp_path / 'nothing'} has nothing unpacked: join all parts first\n"


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(bare_machine.PackError, match=r"no-such-package is not installed here: pip install"):
        bare_machine.list_requirements(["no-such-package"], PYTHON, [])


def test_requirements_follow_extras_and_markers() -> None:
    versions = bare_machine.list_requirements(["webemu[train]"], "3.12", ["datasets"])
    assert {"trl", "peft", "httpx"} <= set(versions)
    assert not {"torch", "datasets", "webemu", "duckdb", "ray"} & set(versions)
