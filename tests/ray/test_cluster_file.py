"""`deploy/ray/cluster.yaml`, read as Ray's own cluster launcher reads it."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from webemu.emulator.cli import COMMANDS, app

ray = pytest.importorskip("ray")

HOUSE = Path(__file__).parents[2]
FILE = HOUSE / "deploy" / "ray" / "cluster.yaml"
SCHEMA = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())


@pytest.fixture
def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return loaded


def mistakes(config: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft7Validator(SCHEMA).iter_errors(config)]


def test_the_file_is_valid(config: dict[str, Any]) -> None:
    assert mistakes(config) == []


def test_the_schema_sees_a_mistake(config: dict[str, Any]) -> None:
    config["setup_comands"] = []
    config["auth"]["ssh_users"] = "ubuntu"
    assert len(mistakes(config)) == 2


def test_the_launcher_takes_it_with_all_machines(config: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(config)
    validate_config(prepared)
    (kind,) = prepared["available_node_types"].values()
    assert kind["min_workers"] == prepared["max_workers"] == len(config["provider"]["worker_ips"])


def test_every_machine_installs_what_is_pinned(config: dict[str, Any]) -> None:
    install = next(line for line in config["setup_commands"] if "pip install" in line)
    (extras,) = re.findall(r"\[(.*)\]", install)
    extras_declared = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"server", "ray"} == set(extras.split(",")) <= extras_declared.keys()
    (copied,) = config["file_mounts"]
    assert f"{copied}/constraints.txt" in install
    assert (HOUSE / "constraints.txt").exists()


def test_the_commands_it_is_for_are_there() -> None:
    called = re.findall(r"'~/venv/bin/webemu (.+)'", FILE.read_text())
    assert {line.split()[0] for line in called} == {"ingest", "serve"}
    for line in called:
        name, *words = shlex.split(line)
        assert name in COMMANDS
        help_text = CliRunner().invoke(app, [name, "--help"]).output + "--ray"
        assert [word for word in words if word.startswith("--") and word not in help_text] == []


def test_nobody_is_told_of_the_cluster(config: dict[str, Any]) -> None:
    starts = [line for name in ("head", "worker") for line in config[f"{name}_start_ray_commands"] if " start " in line]
    assert len(starts) == 2
    assert all("RAY_USAGE_STATS_ENABLED=0" in line for line in starts)
