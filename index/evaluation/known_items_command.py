"""The command `webemu known-items`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.catalog import Catalog
from webemu.index.evaluation.known_items import KnownItem
from webemu.index.evaluation.known_items import make_known_items as make
from webemu.index.open import open_world


def known_items(
    out: Annotated[Path, typer.Option(help="Folder to write queries.jsonl and qrels.tsv into.")],
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    root: RootOption = None,
    count: Annotated[int, typer.Option(help="Queries, a quarter of each kind.", min=1)] = 800,
    seed: Annotated[int, typer.Option(help="Seed that chooses the target pages.")] = 0,
) -> None:
    """Make queries from the crawl itself whose right page is known: link texts, title words, quotes.

    The links whose texts are used are held out: a snapshot built with `--hold-out` has not seen them.

    webemu known-items --collection mine --out known
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    with Catalog(folder, read_only=True) as catalog:
        items = list(make(catalog, open_world(folder), count, seed))
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "queries.jsonl").write_text(_format_queries(items), encoding="utf-8")
        (out / "qrels.tsv").write_text(_format_qrels(items), encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{out} cannot be written: {error.strerror}", action="give another --out") from error
    for (kind, half), number in sorted(Counter((item.kind, item.half) for item in items).items()):
        print(f"{kind:<8} {half:<8} {number:,}")
    print(f"written  {out}")


def _format_queries(items: Sequence[KnownItem]) -> str:
    rows = (
        {"_id": one.id, "text": one.text, "kind": one.kind, "site": one.site, "half": one.half}
        | ({"source": one.source} if one.source else {})
        for one in items
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _format_qrels(items: Sequence[KnownItem]) -> str:
    rows = (f"{one.id}\t{url}\t1\n" for one in items for url in one.relevant)
    return "query-id\tcorpus-id\tscore\n" + "".join(rows)
