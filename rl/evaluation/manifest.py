"""Manifest of an evaluation: all settings that affect its results. A folder is continued only by an equal one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

from webemu import agent_client, rl
from webemu.rl.evaluation.run import Setting


def manifest(chosen: Mapping[str, Any], who: Mapping[str, Any], snapshot: str, setting: Setting) -> dict[str, Any]:
    """Return the manifest from the task selection, the agent's fields, the snapshot and the settings.

    Concurrency is left out, because it does not change results.
    """
    return {
        **chosen,
        **who,
        "snapshot": snapshot,
        "samples": setting.samples,
        "seed": setting.seed,
        "probe": setting.probe,
        "limits": asdict(setting.limits),
        "session": dict(setting.session),
        "webemu": version("webemu"),
        "code": code(),
    }


def code() -> str:
    """Return a hash of the source of `rl` and `agent_client`, which decide what an attempt is."""
    told = blake2b(digest_size=8)
    for room in (Path(str(one.__file__)).parent for one in (rl, agent_client)):
        for path in sorted(room.rglob("*.py")):
            told.update(f"{path.relative_to(room).as_posix()}\0".encode() + path.read_bytes())
    return told.hexdigest()
