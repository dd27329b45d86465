"""Calls that a partition answers, each with the type of its answer. Names are those of `PartitionServer.answer`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from webemu.emulator.types import Archive, Capture, Hit, Payload
from webemu.index.partitions.server import DocRow, PartitionRanking

Answer = TypeVar("Answer")

SurtCaptures = tuple[str, list[Capture]]
"""SURT key and its captures."""


@dataclass(frozen=True, slots=True)
class Method(Generic[Answer]):
    """Name of a call."""

    name: str


ROWS: Method[list[DocRow]] = Method("rows")
RANK: Method[PartitionRanking] = Method("rank_partition")
RENDER_HIT: Method[Hit] = Method("render_hit")
EXPLAIN: Method[dict[str, float]] = Method("explain_factors")
TERMS: Method[Sequence[str]] = Method("terms")
FREQUENCY: Method[int] = Method("frequency")
COPIES: Method[list[tuple[int, DocRow]]] = Method("copies_in")
ARCHIVES: Method[Sequence[Archive]] = Method("archives")
EXACT: Method[list[Capture]] = Method("exact")
CANONICAL: Method[list[Capture]] = Method("canonical")
SURT: Method[list[Capture]] = Method("surt")
BY_LOOSE_KEY: Method[list[Capture]] = Method("by_loose_key")
ERROR_PAGE: Method[list[Capture]] = Method("error_page_of")
HAS_EXCHANGES: Method[bool] = Method("has_exchanges")
RECORDED_EXCHANGES: Method[list[Capture]] = Method("recorded_exchanges")
LISTING: Method[list[SurtCaptures]] = Method("listing")
BYTES: Method[list[bytes]] = Method("bytes_of")
KNOWS_HOST: Method[bool] = Method("knows_host")
TEXT: Method[tuple[str, str]] = Method("text")
PAYLOAD: Method[Payload] = Method("payload")
HTML: Method[str | None] = Method("html")
SUGGEST: Method[list[str]] = Method("suggest")
NEAREST: Method[list[str]] = Method("nearest")
