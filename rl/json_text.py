"""Extraction of JSON objects from the text of a model, which may put them among prose, into code fences or after its
thoughts. The text is parsed as JSON and never evaluated.
"""

from __future__ import annotations

import json
from typing import Any

MOST = 50
"""Opening braces that are tried before the search ends, so that a hostile text costs little."""
_DECODER = json.JSONDecoder(strict=False)


def objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects in order; broken ones are skipped.

    find_objects('First {"a": 1}, then {"b": 2}.')  # [{"a": 1}, {"b": 2}]
    """
    found: list[dict[str, Any]] = []
    place = 0
    for _ in range(MOST):
        if (place := text.find("{", place)) < 0:
            break
        try:
            # Resuming after the object skips the objects inside it.
            value, place = _DECODER.raw_decode(text, place)
            found.append(value)
        except (ValueError, RecursionError):
            place += 1
    return found


def last_with(text: str, name: str) -> dict[str, Any] | None:
    """Return the last object that has a field of this name, or None. The last one, since a model thinks first."""
    return next((one for one in reversed(objects(text)) if name in one), None)


def line(value: object) -> str:
    """Return a text as a single line; empty if the value is not a string."""
    return " ".join(value.split()) if isinstance(value, str) else ""
