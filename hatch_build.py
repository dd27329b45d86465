"""Compiles `index/_reading.c` when the package is installed; where that cannot be done, Python does its work."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

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
        part = made.with_suffix(".part")
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
        build_data["infer_tag"] = True
