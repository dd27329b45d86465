"""Compiles `index/_reading.c` when the package is installed; where that cannot be done, Python does its work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

OLDEST_GLIBC = 17
"""Minor version: that of manylinux2014, which every pip of our versions of Python knows."""

# -ffp-contract=off: a fused multiplication would round otherwise than Python does.
FLAGS = ["-O3", "-fPIC", "-shared", "-std=c11", "-ffp-contract=off"]


class Compile(BuildHookInterface):  # type: ignore[misc]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or sys.platform == "win32":
            return
        source = Path(self.root) / "index" / "_reading.c"
        made = source.with_name("_reading" + str(sysconfig.get_config_var("EXT_SUFFIX")))
        compiler = shlex.split(os.environ.get("CC") or "cc")
        part = made.with_suffix(f".{os.getpid()}.part")  # several environments may be made of one checkout at once
        command = [*compiler, *FLAGS, f"-I{sysconfig.get_paths()['include']}", str(source), "-o", str(part), "-lm"]
        if sys.platform == "darwin":
            command += ["-undefined", "dynamic_lookup"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            part.replace(made)  # others may be running with the one that is there
        except (OSError, subprocess.CalledProcessError) as error:
            made.unlink(missing_ok=True)
            self.app.display_warning(f"index/_reading.c was not compiled, Python does its work: {error}")
            return
        build_data["artifacts"].append(f"/index/{made.name}")
        build_data["pure_python"] = False
        if tag := manylinux_tag(made.read_bytes()):
            build_data["tag"] = tag
        else:
            build_data["infer_tag"] = True


def manylinux_tag(module: bytes) -> str:
    """Return the tag of a wheel with this compiled module, empty if it does not use glibc.

    Package indexes take no wheel that is tagged for one machine's Linux. By PEP 600 this one runs wherever glibc is as
    new as the newest version of a symbol that the module names.
    """
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", module)]
    if sys.platform != "linux" or not minors:
        return ""
    first, machine = next(sys_tags()), sysconfig.get_platform().partition("-")[2]
    return f"{first.interpreter}-{first.abi}-manylinux_2_{max(*minors, OLDEST_GLIBC)}_{machine}"
