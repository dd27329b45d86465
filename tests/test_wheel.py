"""Wheels are tagged so that a package index takes them, and run on every Linux that is as new as they need."""

import importlib.util
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
pytest.importorskip("hatchling", reason="builds are made in an environment of their own")


def tag(module: bytes) -> str:
    spec = importlib.util.spec_from_file_location("hatch_build", HOUSE / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return str(hook.manylinux_tag(module))


@pytest.mark.skipif(sys.platform != "linux", reason="manylinux is of Linux")
def test_the_tag_is_that_of_the_newest_glibc_that_is_needed() -> None:
    python, machine = f"cp{sys.version_info[0]}{sys.version_info[1]}", sysconfig.get_platform().partition("-")[2]
    assert tag(b"\\0GLIBC_2.2.5\\0GLIBC_2.14\\0") == f"{python}-{python}-manylinux_2_17_{machine}"
    assert tag(b"\\0GLIBC_2.2.5\\0GLIBC_2.38\\0GLIBC_2.4\\0") == f"{python}-{python}-manylinux_2_38_{machine}"
    assert tag(b"no glibc") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="manylinux is of Linux")
def test_the_module_itself_runs_on_old_systems() -> None:
    module = pytest.importorskip("webemu.index._reading")
    assert "manylinux_2_17_" in tag(Path(module.__file__).read_bytes())


def test_the_metadata_is_what_an_index_shows() -> None:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    assert {"authors", "classifiers", "description", "keywords", "license", "readme"} <= set(project)
    assert [name for name in project["dependencies"] if "@" in name] == []
