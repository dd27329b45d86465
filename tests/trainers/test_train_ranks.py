"""A run in two processes, as `torchrun` and `accelerate launch` start them on two devices; here both are processors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")
pytest.importorskip("tensorboard")

from tests.trainers.test_train_command import NOISY
from webemu.rl.train.step_log import read_steps

LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]


@pytest.mark.slow
def test_two_processes_share_the_episodes_and_make_one_model(tmp_path: Path) -> None:
    recipe, out = tmp_path / "noisy.toml", tmp_path / "run"
    recipe.write_text(NOISY.replace("steps = 40", "steps = 4").replace("steps = 7", "steps = 2"), encoding="utf-8")
    command = [*LAUNCH, "-m", "webemu.emulator.cli", "train", "--recipe", str(recipe), "--out", str(out), "--quiet"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("held out: grounded") == 2
    assert [row["step"] for row in read_steps(out / "2-grpo")] == [1, 2]
    played = pq.read_table(out / "2-grpo" / "trajectories" / "000002.parquet")
    assert (len(played), len(set(zip(played["task"].to_pylist(), played["seed"].to_pylist(), strict=True)))) == (8, 8)
    fields = json.loads((out / "2-grpo" / "manifest.json").read_text(encoding="utf-8"))
    assert (fields["steps"], fields["held_out"]["grounded"]["tasks"]) == (2, 6)
