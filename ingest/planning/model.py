"""Model of costs: each figure is a sum of what a collection contains times a price, fitted on measured collections.

`python -m benchmarks.plan` measures collections, fits the prices, and compares held-out collections with the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

MEASUREMENTS = Path(__file__).with_name("measurements.json")
"""Measured collections, fitted and held-out ones."""
PRICES = Path(__file__).with_name("prices.json")
"""Prices that `python -m benchmarks.plan` fits on them."""
PER_PAGE = "_per_page"
"""End of the name of a quantity that is divided by the number of pages."""


class Content(TypedDict):
    """Content of a collection."""

    pages: float
    """Pages with text."""
    html_pages: float
    """Pages that were read from HTML."""
    text_pages: float
    """The other pages: rows of dumps, and plain texts."""
    captures: float
    links: float
    html_bytes: float
    """Bytes of all payloads, decoded."""
    text_bytes: float
    """Bytes of the pages' text."""
    postings: float
    """Postings that a search reads: for each word of the query, the number of pages that have it."""
    archive_bytes: float
    """Bytes of the source files."""
    copy_bytes: float
    """Bytes of the copies that are made of sources whose records cannot be read at their offsets, such as dumps."""


CONTENT_FIELDS = tuple(Content.__annotations__)


class Measurement(Content):
    """A collection that was ingested, built and asked."""

    name: str
    held_out: bool
    """True if the model must not be fitted on it."""
    figures: dict[str, float]
    """Figures by the names of `FIGURES`."""


FIGURES: Mapping[str, tuple[str, ...]] = {
    "ingest_core_seconds": ("once", "html_pages", "text_pages", "links", "html_bytes", "text_bytes"),
    "build_core_seconds": ("once", "html_pages", "text_pages", "links", "text_bytes"),
    "disk_catalog": ("html_pages", "text_pages", "links", "text_bytes"),
    "disk_text_index": ("pages", "text_bytes"),
    "disk_result_records": ("pages", "text_bytes"),
    "disk_page_views": ("pages", "text_bytes"),
    "disk_lookup": ("html_pages", "text_pages", "captures"),
    "disk_columns": ("pages", "links"),
    "disk_others": ("pages", "text_bytes"),
    "search_core_seconds": ("once", "postings", "text_bytes_per_page"),
    "text_core_seconds": ("once", "text_bytes_per_page"),
    "raw_core_seconds": ("once", "html_bytes_per_page"),
}
"""Figures that are predicted, and the quantities on which each depends."""


@dataclass(frozen=True, slots=True)
class Model:
    """Prices of each figure."""

    prices: Mapping[str, Mapping[str, float]]
    """Price of one unit of each quantity, by figure."""

    def predict(self, content: Content) -> dict[str, float]:
        """Return the figures of a collection, by the names of `FIGURES`: core-seconds in all or of one request, and
        bytes of disk.
        """
        return {
            figure: sum(price * read_quantity(content, name) for name, price in prices.items())
            for figure, prices in self.prices.items()
        }


def read_measurements(path: Path = MEASUREMENTS) -> list[Measurement]:
    """Return the stored measurements; none if the file is missing."""
    return list(json.loads(path.read_text("utf-8"))) if path.exists() else []


def load_model() -> Model:
    """Return the model with the stored prices."""
    return Model(json.loads(PRICES.read_text("utf-8")))


def read_quantity(content: Content, name: str) -> float:
    """Return a quantity of a collection; `once` is 1 for each."""
    if name == "once":
        return 1.0
    total = float(content[name.removesuffix(PER_PAGE)])  # type: ignore[literal-required]
    return total / max(content["pages"], 1) if name.endswith(PER_PAGE) else total
