"""Reads static models, whose vector of a text is the mean of the vectors of its tokens: without torch.

The format is that of sentence-transformers' module `StaticEmbedding`, whoever made the model
(`webemu.index.dense.distillation` makes some).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TYPE = ".StaticEmbedding"
"""End of the type of a static model's first module."""
_TEXTS_AT_ONCE = 256


def is_static_model(folder: Path) -> bool:
    """Return True if a model folder holds a static model."""
    return _find_static_module(folder) is not None


def _find_static_module(folder: Path) -> Path | None:
    """Return the folder of the static module; None if the model is of another kind."""
    try:
        first = json.loads((folder / "modules.json").read_text(encoding="utf-8"))[0]
    except FileNotFoundError:
        return None
    return folder / first["path"] if first["type"].endswith(TYPE) else None


class StaticEncoder:
    """Function from texts to one row of length 1 each. Thread-safe.

    A row depends on its own text alone and is the same on every processor, as its terms are added one by one.
    """

    def __init__(self, folder: Path) -> None:
        """Read a model folder for which `is_static_model` is True."""
        from safetensors.numpy import load_file  # both come with sentence-transformers
        from tokenizers import Tokenizer

        module = _find_static_module(folder)
        assert module is not None
        (self._table,) = load_file(module / "model.safetensors").values()
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(module / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the rows of texts."""
        parts = [self._encode(texts[start : start + _TEXTS_AT_ONCE]) for start in range(0, len(texts), _TEXTS_AT_ONCE)]
        return np.concatenate(parts)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) == 1:  # a query: the threads of a batch would cost more than its tokens
            encodings = [self._tokenizer.encode(texts[0], add_special_tokens=False)]
        else:
            encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        # A text without tokens has the row of the first one, since a row of length 0 is near to nothing.
        ids = [encoding.ids or [0] for encoding in encodings]
        starts = np.cumsum([0, *map(len, ids[:-1])])
        sums = np.add.reduceat(self._table[np.concatenate(ids)], starts)
        rows: NDArray[np.float32] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return rows
