"""Distils a sentence-transformer into static token vectors: the vector of a text is the mean of those of its tokens.

Encoding takes no network then, so that a processor embeds a crawl in minutes. The steps are those of model2vec, and a
fourth that makes them fit the collection:

1. each token of the vocabulary goes through the model alone;
2. frequent tokens of the collection count less (SIF: Arora, Liang and Ma 2017);
3. ridge regression moves the vectors of tokens until the means of some passages are near the model's vectors of them;
4. the principal components of the result, weighted by the frequency of tokens, are kept.

The result is a model of sentence-transformers, of its module `StaticEmbedding`; `webemu.index.dense.static_model`
reads it. A distillation depends on torch's arithmetic in the last digits: its files are hashed, not its inputs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from webemu.index.dense.model import load_sentence_model

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

MAX_PASSAGES = 3000
"""Passages that the model reads."""
MAX_CHARACTERS = 240
"""Characters that it reads of each."""
SMOOTHING = 1e-3
"""Share of all tokens at which a token counts half."""
RIDGE = 0.1
"""Weight of the distance to the vectors of single tokens, beside that to the model's vectors of passages."""
DIMENSIONS = 256
"""Principal components that are kept, at most."""
_TOKENS_AT_ONCE, _PASSAGES_AT_ONCE = 2048, 64

Table = NDArray[np.float64]
"""One row for each token of the vocabulary."""


def distil_model(
    model_folder: Path,
    passages: Sequence[str],
    target: Path,
    device: str,
    on_progress: Callable[[int], object] = lambda count: None,
    files: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the static model of a folder's model for texts like these passages; the target appears when complete.

    `on_progress` is called with the numbers of tokens and passages that the model has just read. `files` are further
    texts to write into the target, by file name.
    """
    import torch  # heavy, and of the extra `dense`

    model = load_sentence_model(model_folder, device, torch.float32)
    tokenizer = copy_tokenizer(model)
    tokens = [np.array(encoding.ids) for encoding in tokenizer.encode_batch(list(passages), add_special_tokens=False)]
    counts = np.bincount(np.concatenate([np.unique(ids) for ids in tokens]), minlength=tokenizer.get_vocab_size())
    shares = counts / counts.sum()
    table = _encode_tokens(model, tokenizer, on_progress)
    table = (table - table.mean(0)) * (SMOOTHING / (SMOOTHING + shares))[:, None]
    table /= np.linalg.norm(table, axis=1).mean()
    texts = [passage[:MAX_CHARACTERS] for passage in passages[:: -(-len(passages) // MAX_PASSAGES)]]
    table = _fit_passages(table, tokenizer, texts, _encode_passages(model, texts, on_progress))
    _save_model(_keep_principal_components(table, shares), tokenizer, target, files)


def copy_tokenizer(model: SentenceTransformer) -> Tokenizer:
    """Return a copy of a model's tokenizer that neither cuts nor pads."""
    from tokenizers import Tokenizer  # comes with sentence-transformers

    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _encode_tokens(model: SentenceTransformer, tokenizer: Tokenizer, on_progress: Callable[[int], object]) -> Table:
    """Return the model's vector of each token, read alone between the tokens that open and close a text."""
    import torch

    opening, closing = _special_tokens(tokenizer)
    size, rows = tokenizer.get_vocab_size(), []
    for start in range(0, size, _TOKENS_AT_ONCE):
        ids = torch.arange(start, min(start + _TOKENS_AT_ONCE, size), device=model.device)
        parts = [*(torch.full_like(ids, one) for one in opening), ids, *(torch.full_like(ids, one) for one in closing)]
        rows.append(_forward(model, torch.stack(parts, dim=1)))
        on_progress(len(ids))
    return np.concatenate(rows)


def _special_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the tokens that a tokenizer puts before and behind a text."""
    ids, bare_ids = (tokenizer.encode("a", add_special_tokens=is_whole).ids for is_whole in (True, False))
    place = ids.index(bare_ids[0])
    return ids[:place], ids[place + len(bare_ids) :]


def _forward(model: SentenceTransformer, ids: torch.Tensor) -> Table:
    """Return the model's vectors of texts of one length, which are given as tokens."""
    import torch

    with torch.inference_mode():
        features = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return np.asarray(model(features)["sentence_embedding"].double().cpu())


def _encode_passages(model: SentenceTransformer, texts: Sequence[str], on_progress: Callable[[int], object]) -> Table:
    """Return the model's vector of each text."""
    rows = []
    for start in range(0, len(texts), _PASSAGES_AT_ONCE):
        batch = list(texts[start : start + _PASSAGES_AT_ONCE])
        rows.append(model.encode_document(batch, normalize_embeddings=True, show_progress_bar=False))
        on_progress(len(batch))
    return np.concatenate(rows).astype(np.float64)


def _fit_passages(table: Table, tokenizer: Tokenizer, texts: Sequence[str], expected: Table) -> Table:
    """Return the table T that minimises |A T - expected|^2 + RIDGE |T - table|^2, where A takes the means of texts."""
    from scipy.sparse import csr_array  # type: ignore[import-untyped]  # comes with sentence-transformers

    encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ids = [encoding.ids for encoding in encodings]
    starts = np.cumsum([0, *map(len, ids)])
    ones, columns = np.ones(starts[-1]), np.concatenate(ids)
    means = csr_array((ones, columns, starts), shape=(len(texts), len(table)))
    # The table's own means have length 1 at first: then both terms are of one order, whatever the model.
    lengths = np.linalg.norm(means @ table, axis=1)
    means = means.multiply(1 / np.maximum(lengths, 1e-9)[:, None]).tocsr()
    gram = (means @ means.T).toarray()
    gram[np.diag_indices_from(gram)] += RIDGE
    fitted: Table = table + means.T @ np.linalg.solve(gram, expected - means @ table)
    return fitted


def _keep_principal_components(table: Table, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the table in its first principal components, in which frequent tokens count more than rare ones."""
    weights = shares + 1 / len(shares)
    values, vectors = np.linalg.eigh((table * weights[:, None]).T @ table)
    first = np.argsort(-values)[:DIMENSIONS]
    reduced: NDArray[np.float32] = (table @ vectors[:, first]).astype(np.float32)
    return reduced


def _save_model(table: NDArray[np.float32], tokenizer: Tokenizer, target: Path, files: Mapping[str, str]) -> None:
    """Write the model's folder under another name, then rename it."""
    from safetensors.numpy import save_file  # comes with sentence-transformers

    temporary = target.with_name(f".{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    modules = []
    for number, name in enumerate(("StaticEmbedding", "Normalize")):
        (temporary / f"{number}_{name}").mkdir(parents=True)
        type_name = f"sentence_transformers.models.{name}"
        modules.append({"idx": number, "name": str(number), "path": f"{number}_{name}", "type": type_name})
    save_file({"embedding.weight": table}, temporary / "0_StaticEmbedding" / "model.safetensors")
    tokenizer.save(str(temporary / "0_StaticEmbedding" / "tokenizer.json"))
    for name, text in {**files, "modules.json": json.dumps(modules, indent=1)}.items():
        (temporary / name).write_text(text)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
