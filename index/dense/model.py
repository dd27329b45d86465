"""Loads models of sentence-transformers, from a folder or a hub: their files, their hash, and their functions.

The only module that imports torch, and only inside functions. Code that comes with a model is never run, and pickled
weights are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from webemu.emulator.errors import BadRequest, SnapshotError
from webemu.index.dense.static_model import StaticEncoder, is_static_model
from webemu.index.digests import hash_file

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Patterns of the files that make up a model."""
IGNORED_FILES = ("onnx/*", "openvino/*", ".*")
"""Patterns of the same model in other formats, which are ignored."""

Precision = Literal["f32", "bf16"]
"""Number format that passages are encoded in."""
Rows = NDArray[np.float32 | np.float64]
"""Vectors of one text each, before they are rounded to 8 bits."""
Encode = Callable[[Sequence[str]], Rows]
"""Function from texts to one row each, of length 1."""
PassageScorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Function from a query and passages to a score of each; more is better."""


def locate_model(model: str, may_download: bool = True) -> Path:
    """Return the folder of a model that is given as a folder, or as an id on the hub, which is contacted if files are
    missing.

    With `may_download=False` nothing is contacted: serving sends no requests. Raises BadRequest if there is no model.
    """
    if (folder := Path(model).expanduser()).is_dir():
        return folder.resolve()
    from huggingface_hub import snapshot_download  # comes with sentence-transformers

    try:
        downloaded = snapshot_download(
            model, allow_patterns=list(FILES), ignore_patterns=list(IGNORED_FILES), local_files_only=not may_download
        )
    except Exception as error:  # no such folder, no such id, no network: the library has an error class for each
        raise BadRequest(
            f"{model} is not a folder, and no model with that id could be downloaded: {str(error).splitlines()[0]}",
            action="give the folder of a sentence-transformers model, or download the model where there is a network",
        ) from error
    return Path(downloaded)


def hash_model(folder: Path) -> str:
    """Return a hash of the model's content."""
    names = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    parts = blake2b(digest_size=8)
    for name, path in names.items():
        if any(fnmatch(name, pattern) for pattern in FILES) and not any(
            fnmatch(name, pattern) for pattern in IGNORED_FILES
        ):
            parts.update(f"{name} {hash_file(path)}\n".encode())
    return parts.hexdigest()


def require_digest(model: str, expected_digest: str) -> Path:
    """Return the folder of a model that must have this digest. Raises BadRequest or SnapshotError."""
    folder = locate_model(model, may_download=False)
    if (actual_digest := hash_model(folder)) != expected_digest:
        raise SnapshotError(
            f"the model has the digest {actual_digest}, but the snapshot's vectors were made with {expected_digest}",
            action="webemu embed --model FOLDER records where the model is now, or embeds with another one",
            location=str(model),
        )
    return folder


def choose_precision(device: str | None) -> tuple[str, Precision]:
    """Return (device, precision) for embedding passages: a GPU if there is one and no other device is given."""
    import torch  # heavy, and of the extra `dense`

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return device, "bf16" if device.startswith("cuda") else "f32"


def load_passage_encoder(folder: Path, device: str, batch: int, kind: Precision) -> Encode:
    """Load a model that encodes passages, `batch` at a time."""
    if is_static_model(folder):
        return StaticEncoder(folder)
    import torch

    model = load_sentence_model(folder, device, torch.bfloat16 if kind == "bf16" else torch.float32)

    def encode(texts: Sequence[str]) -> Rows:
        rows = model.encode_document(
            list(texts), batch_size=batch, normalize_embeddings=True, convert_to_tensor=True, show_progress_bar=False
        )
        return rows.float().cpu().numpy()  # type: ignore[no-any-return]

    return encode


def load_query_encoder(folder: Path, device: str = "cpu") -> Encode:
    """Load a model that encodes queries, in double precision.

    The batch and the processor change a row then by far less than the step to which it is rounded.
    """
    if is_static_model(folder):
        return StaticEncoder(folder)
    import torch

    model = load_sentence_model(folder, device, torch.float64)

    def encode(texts: Sequence[str]) -> Rows:
        return model.encode_query(  # type: ignore[no-any-return]
            list(texts), batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        )

    return encode


def load_cross_encoder(folder: Path, device: str = "cpu") -> PassageScorer:
    """Load a cross-encoder, which reads a query and a passage together."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device=device, local_files_only=True, model_kwargs=_MODEL_OPTIONS)

    def score(query: str, passages: Sequence[str]) -> Sequence[float]:
        pairs = [(query, passage) for passage in passages]
        return model.predict(pairs, batch_size=len(pairs), show_progress_bar=False).tolist()  # type: ignore[no-any-return]

    return score


_MODEL_OPTIONS = {"use_safetensors": True}


def load_sentence_model(folder: Path, device: str, kind: torch.dtype) -> SentenceTransformer:
    """Load a sentence-transformer in a number format."""
    from sentence_transformers import SentenceTransformer

    model_options = {**_MODEL_OPTIONS, "torch_dtype": kind}
    return SentenceTransformer(str(folder), device=device, local_files_only=True, model_kwargs=model_options)
