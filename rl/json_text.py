"""Extraction of JSON objects from the text of a model, which may put them among prose, into code fences or after its
thoughts. The text is parsed as JSON and never evaluated.
"""

from __future__ import annotations

import json

MAX_BRACES = 50
"""Opening braces that are tried before the search ends, so that a hostile text costs little."""
_DECODER = json.JSONDecoder(strict=False)


def find_objects(text: str) -> list[dict[str, object]]:
    """Return the outermost JSON objects in order; broken ones are skipped.

    find_objects('First {"a": 1}, then {"b": 2}.')  # [{"a": 1}, {"b": 2}]
    """
    parsed_objects: list[dict[str, object]] = []
    offset = 0
    for _ in range(MAX_BRACES):
        if (offset := text.find("{", offset)) < 0:
            break
        try:
            # Resuming after the object skips the objects inside it.
            value, offset = _DECODER.raw_decode(text, offset)
            parsed_objects.append(value)
        except (ValueError, RecursionError):
            offset += 1
    return parsed_objects


def find_last_with(text: str, name: str) -> dict[str, object] | None:
    """Return the last object that has a field of this name, or None. The last one, since a model thinks first."""
    return next((one for one in reversed(find_objects(text)) if name in one), None)


def to_single_line(value: object) -> str:
    """Return a text as a single line; empty if the value is not a string."""
    return " ".join(value.split()) if isinstance(value, str) else ""
