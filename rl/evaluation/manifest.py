"""What an evaluation asks, so that a folder is gone on with only by the same one."""

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
    """`chosen` says which tasks, `who` answers them; the concurrency makes no difference and is left out."""
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
    """A hash of the rooms that decide what an attempt is."""
    told = blake2b(digest_size=8)
    for room in (Path(str(one.__file__)).parent for one in (rl, agent_client)):
        for path in sorted(room.rglob("*.py")):
            told.update(f"{path.relative_to(room).as_posix()}\0".encode() + path.read_bytes())
    return told.hexdigest()
