"""Calls that partitions answer, each with the type of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from webemu.emulator.types import Archive, Capture, Hit, Payload
from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.merged_ranking import DocRow, PartitionRanking
from webemu.index.titles import Completion

Answer = TypeVar("Answer")

LISTING_BATCH = 500
"""SURT keys of a listing that are sent at once."""
SurtCaptures = tuple[str, list[tuple[int, Capture]]]
"""SURT key and its captures, each with the number of its partition."""


@dataclass(frozen=True, slots=True)
class Method(Generic[Answer]):
    """Name of a call."""

    name: str


class PartitionCall(NamedTuple):
    """A call of one method on some partitions."""

    partition_set: str
    """Id of the set of partitions (`webemu.index.partitions.split.PartitionSet`) that is meant."""
    method: str
    """Name of a `Method`."""
    arguments: tuple[object, ...]
    frequencies: Mapping[TermKey, int]
    """Number of pages of all partitions that have each term, as far as the caller knows that they are needed."""
    are_final: bool = True
    """True if all partitions were counted; else the frequencies hold for this call only."""


class GroupAnswer(NamedTuple):
    """Answer of a process for the partitions that it has."""

    value: Any
    """Answers by partition, of which only one that was asked alone may be empty or False; or one value for all
    (`GROUP_METHODS`).
    """
    missing_terms: tuple[TermKey, ...] = ()
    """Terms whose frequencies over all partitions are needed first; there is no value then."""
    lost: tuple[int, ...] = ()
    """Partitions that could not be asked."""


RANK: Method[PartitionRanking] = Method("rank")
FREQUENCIES: Method[list[int]] = Method("frequencies")
LISTING: Method[list[SurtCaptures]] = Method("listing")
COMPLETE: Method[list[Completion]] = Method("complete")
GROUP_METHODS = {RANK.name, FREQUENCIES.name, LISTING.name, COMPLETE.name}
"""Methods that a process answers for all of its partitions together."""

ROWS: Method[list[DocRow]] = Method("rows")
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
RECORDED_EXCHANGES: Method[list[Capture]] = Method("recorded_exchanges")
BYTES: Method[list[bytes]] = Method("bytes_of")
KNOWS_HOST: Method[bool] = Method("knows_host")
TEXT: Method[tuple[str, str]] = Method("text")
PAYLOAD: Method[Payload] = Method("payload")
HTML: Method[str | None] = Method("html")
