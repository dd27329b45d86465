"""The command `webemu embed`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import EmulatorError
from webemu.emulator.extras import install_command
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.command import resolve_snapshot_id
from webemu.index.manifest import current_id, read_manifest, set_current


class EmbedOptions(NamedTuple):
    """Command line options that decide what is embedded and how."""

    model: str
    reranker: str
    passages: int
    batch: int
    device: str | None
    quiet: bool


def embed(
    model: Annotated[str, typer.Option(help="Model of sentence-transformers: its folder, or its id on the hub.")],
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    snapshot: Annotated[str | None, typer.Option(help="Beginning of its id. [default: the one that is served]")] = None,
    passages: Annotated[int, typer.Option(help="Passages of a page that are embedded, at most.", min=1, max=16)] = 3,
    rerank_model: Annotated[
        str, typer.Option(help="Cross-encoder for mode=rerank: its folder, or its id on the hub.")
    ] = "",
    batch: Annotated[int, typer.Option(help="Passages that are encoded at a time.", min=1)] = 32,
    device: Annotated[str | None, typer.Option(help="Device of torch. [default: cuda if there is one]")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    root: RootOption = None,
) -> None:
    """Add vectors to a snapshot, so that it can be searched by meaning; the new snapshot is then served.

    An interrupted run continues where it stopped.

    webemu embed --model sentence-transformers/all-MiniLM-L6-v2 --collection mine
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    snapshot_id = resolve_snapshot_id(folder, snapshot or current_id(folder) or "")
    try:
        embedded_id = _embed(folder, snapshot_id, EmbedOptions(model, rerank_model, passages, batch, device, quiet))
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"`webemu embed` needs the package {error.name!r}, which is not installed",
            action=install_command(["dense"]),
        ) from error
    set_current(folder, embedded_id)
    dense = read_manifest(folder / "snapshots" / embedded_id).dense
    assert dense is not None  # the snapshot has just been embedded
    recall = "" if dense.recall is None else f", recall@10 of the graph {dense.recall:.3f}"
    print(f"{embedded_id}  {dense.vectors:,} vectors of {dense.dimensions:,} numbers{recall}")


def _embed(folder: Path, snapshot: str, options: EmbedOptions) -> str:
    """Load the models and embed a snapshot; return the id of the new one."""
    from webemu.index.dense import build  # its libraries are heavy, and only there with the extra `dense`
    from webemu.index.dense import model as models

    base = build.read_base_manifest(folder, snapshot)
    model_folder = models.locate_model(options.model)
    device, precision = models.choose_precision(options.device)
    reranker = models.hash_model(models.locate_model(options.reranker)) if options.reranker else ""
    spec = build.EmbeddingSpec(
        _model_reference(options.model),
        models.hash_model(model_folder),
        options.passages,
        precision,
        _model_reference(options.reranker),
        reranker,
    )

    def encoders() -> tuple[models.Encode, models.Encode]:
        passages = models.load_passage_encoder(model_folder, device, options.batch, precision)
        return passages, models.load_query_encoder(model_folder, device)

    with tqdm(total=base.documents, unit="page", desc="embedding", disable=options.quiet, file=sys.stderr) as bar:
        return build.embed_snapshot(folder, base, spec, encoders, bar.update)


def _model_reference(model: str) -> str:
    """Return the absolute path of a model folder, since a server may run elsewhere; else the model's id unchanged."""
    folder = Path(model).expanduser()
    return str(folder.resolve()) if model and folder.is_dir() else model
