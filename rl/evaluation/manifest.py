"""Manifest of an evaluation: all settings that affect its results. A folder is continued only by an equal one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from webemu import agent_client, rl
from webemu.rl.evaluation.run import RunSettings


def build_manifest(
    task_selection: Mapping[str, object],
    agent_fields: Mapping[str, object],
    snapshot: str,
    settings: RunSettings,
    judge_model: str = "",
) -> dict[str, object]:
    """Return the manifest from the task selection, the agent's fields, the snapshot, the settings and the judge.

    Concurrency is left out, because it does not change results; so is a judge, if there is none.
    """
    return {
        **task_selection,
        **agent_fields,
        "snapshot": snapshot,
        "samples": settings.samples,
        "seed": settings.seed,
        "probe": settings.probe,
        "limits": asdict(settings.limits),
        "session": dict(settings.session),
        "webemu": version("webemu"),
        "code": code_hash(),
        **({"judge": judge_model} if judge_model else {}),
    }


def code_hash() -> str:
    """Return a hash of the source of `rl` and `agent_client`, which decide what an attempt is."""
    digest = blake2b(digest_size=8)
    for package in (Path(str(one.__file__)).parent for one in (rl, agent_client)):
        for path in sorted(package.rglob("*.py")):
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()
