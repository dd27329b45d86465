"""JSON objects in what a model said: among prose, in code fences, after its thoughts. Never evaluated."""

from __future__ import annotations

import json
from typing import Any

MOST = 50
"""Braces that are tried."""
_DECODER = json.JSONDecoder(strict=False)


def objects(text: str) -> list[dict[str, Any]]:
    """The outermost objects, in order; broken ones are passed over."""
    found: list[dict[str, Any]] = []
    place = 0
    for _ in range(MOST):
        if (place := text.find("{", place)) < 0:
            break
        try:
            value, place = _DECODER.raw_decode(text, place)
            found.append(value)
        except (ValueError, RecursionError):
            place += 1
    return found


def last_with(text: str, name: str) -> dict[str, Any] | None:
    """The last object that has a field of this name: a model thinks first."""
    return next((one for one in reversed(objects(text)) if name in one), None)


def line(value: object) -> str:
    """A text of an object in one line; empty where it is none."""
    return " ".join(value.split()) if isinstance(value, str) else ""
