"""The command `webemu embed`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from tqdm import tqdm

from webemu.emulator.config import load
from webemu.emulator.errors import EmulatorError
from webemu.emulator.extras import install
from webemu.emulator.folders import existing
from webemu.index.command import known
from webemu.index.manifest import current_id, read_manifest, switch


class Asked(NamedTuple):
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
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
) -> None:
    """Add vectors to a snapshot, so that it can be searched by meaning; the new snapshot is then served.

    An interrupted run continues where it stopped.

    webemu embed --model sentence-transformers/all-MiniLM-L6-v2 --collection mine
    """
    folder = existing(load({"root": root, "collection": collection}))
    full = known(folder, snapshot or current_id(folder) or "")
    try:
        made = _embed(folder, full, Asked(model, rerank_model, passages, batch, device, quiet))
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"`webemu embed` needs the package {error.name!r}, which is not installed",
            action=install(["dense"]),
        ) from error
    switch(folder, made)
    dense = read_manifest(folder / "snapshots" / made).dense or {}
    recall = "" if dense["recall"] is None else f", recall@10 of the graph {dense['recall']:.3f}"
    print(f"{made}  {dense['vectors']:,} vectors of {dense['dimensions']:,} numbers{recall}")


def _embed(folder: Path, snapshot: str, asked: Asked) -> str:
    """Load the models and embed a snapshot; return the id of the new one."""
    from webemu.index.dense import build  # its libraries are heavy, and only there with the extra `dense`
    from webemu.index.dense import model as models

    base = build.base_of(folder, snapshot)
    home = models.locate(asked.model)
    device, precision = models.precision(asked.device)
    reranker = models.digest(models.locate(asked.reranker)) if asked.reranker else ""
    wish = build.Wish(
        _named(asked.model), models.digest(home), asked.passages, precision, _named(asked.reranker), reranker
    )

    def encoders() -> tuple[models.Encode, models.Encode]:
        passages = models.passage_encoder(home, device, asked.batch, precision)
        return passages, models.query_encoder(home, device)

    with tqdm(total=base.documents, unit="page", desc="embedding", disable=asked.quiet, file=sys.stderr) as bar:
        return build.embed(folder, base, wish, encoders, bar.update)


def _named(model: str) -> str:
    """Return the absolute path of a model folder, since a server may run elsewhere; else the model's id unchanged."""
    folder = Path(model).expanduser()
    return str(folder.resolve()) if model and folder.is_dir() else model
