"""Manifest of a stage: the hashes of everything it was made from and of its model, and its held-out figures.

It is written last, so its existence means that the stage is complete. Where a run keeps its other files is known by
`webemu.rl.train.run_folder`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, TypeGuard

MANIFEST_FILE = "manifest.json"
VERSIONS = ("webemu", "trl", "transformers", "torch", "peft", "datasets")
"""Packages whose versions the manifest records."""
HeldOutFigures = Mapping[str, object]
"""Figures on held-out tasks by name (`FigureRow`), `masked` (the number of masked episodes), and `recipes` (the same
figures by recipe of the tasks)."""
Manifest = TypedDict(
    "Manifest",
    {
        "stage": str,
        "seed": int,
        "steps": int,
        "held_out": HeldOutFigures,
        "from": str,
        "model": str,
        "recipe": str,
        "tasks": str,
        "snapshot": str,
        "held_out_tasks": str,
        "held_out_snapshot": str,
        "versions": dict[str, str],
    },
)
"""Manifest as it is written. `from`, `model`, `recipe` and the tasks are SHA-256 hashes; `from` is the model of the
stage before, or for a first stage the name of its model."""


class FigureRow(TypedDict):
    """Mean over held-out tasks with its interval."""

    mean: float
    low: float
    high: float
    tasks: int


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a stage; None if the stage is not complete."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        return None
    manifest: Manifest = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Write the manifest of a complete stage and return it."""
    path = folder / MANIFEST_FILE
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    unfinished.replace(path)
    return manifest


def is_figure(value: object) -> TypeGuard[FigureRow]:
    """True if a value among the held-out figures is a mean with its interval."""
    return isinstance(value, dict) and "mean" in value


def package_versions() -> dict[str, str]:
    """Return the installed versions of the packages that decide the result of a training."""
    return {name: version(name) for name in VERSIONS}


def hash_weights(model_folder: Path) -> str:
    """Return the SHA-256 of the weights in a model folder."""
    digest = hashlib.sha256()
    for path in sorted(model_folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
