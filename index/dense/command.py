"""The command `webemu embed`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.extras import install_command
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.command import resolve_snapshot_id
from webemu.index.manifest import Manifest, current_id, read_manifest, set_current


class EmbedOptions(NamedTuple):
    """Command line options that decide what is embedded and how."""

    model: str
    """Folder or id of the model; empty for the default of a static one."""
    is_static: bool
    """True to embed with static token vectors that are distilled from the model."""
    reranker: str
    passages: int
    batch: int
    device: str | None
    quiet: bool


def embed(
    model: Annotated[
        str,
        typer.Option(
            help="Model of sentence-transformers: its folder, or its id on the hub. [default with --static:"
            " all-MiniLM-L6-v2]"
        ),
    ] = "",
    static: Annotated[
        bool, typer.Option("--static", help="Distil the model into vectors of tokens first: minutes on a processor.")
    ] = False,
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

    An interrupted run continues where it stopped. After an ingest only the pages of new files are embedded.

    webemu embed --static --collection mine

    webemu embed --model sentence-transformers/all-MiniLM-L6-v2 --collection mine
    """
    if not model and not static:
        raise BadRequest("no model is named", action="give --static, or --model FOLDER")
    folder = find_collection(load_config({"root": root, "collection": collection}))
    snapshot_id = resolve_snapshot_id(folder, snapshot or current_id(folder) or "")
    try:
        options = EmbedOptions(model, static, rerank_model, passages, batch, device, quiet)
        embedded_id = _embed(folder, snapshot_id, options)
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
    from webemu.index.dense.earlier_vectors import EmbeddingSpec

    base = build.read_base_manifest(folder, snapshot)
    device, precision = models.choose_precision(options.device)
    reference = _distil(folder, base, options, device) if options.is_static else _model_reference(options.model)
    model_folder = folder / reference if options.is_static else models.locate_model(options.model)
    reranker = models.hash_model(models.locate_model(options.reranker)) if options.reranker else ""
    spec = EmbeddingSpec(
        reference,
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


def _distil(folder: Path, base: Manifest, options: EmbedOptions, device: str) -> str:
    """Return the folder of the static model, relative to the collection's, after distilling it if there is none."""
    from webemu.index.dense import model as models
    from webemu.index.dense import static_embedding

    teacher = models.locate_model(options.model or static_embedding.find_default_model())
    with tqdm(unit="text", desc="distilling", disable=options.quiet, file=sys.stderr) as bar:
        return static_embedding.distil_for_snapshot(folder, base, teacher, device, bar.update)


def _model_reference(model: str) -> str:
    """Return the absolute path of a model folder, since a server may run elsewhere; else the model's id unchanged."""
    folder = Path(model).expanduser()
    return str(folder.resolve()) if model and folder.is_dir() else model
