"""Reads JSON from clients strictly, so that nothing in it can fail later.

It must be UTF-8, with finite numbers, limited depth and no lone surrogates (halves of characters that UTF-8 cannot
encode). Every request body and every policy is read here; the callers decide what the members mean.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from math import isfinite

import orjson

from webemu.emulator.surrogates import replace_surrogates

MAX_DEPTH = 100
"""Maximum nesting of lists and objects, so that every writer can write the value out again."""


def parse_json(text: bytes) -> object:
    """Return the value of a JSON text. Raises ValueError, which says what is wrong and where."""
    value = orjson.loads(text)
    _check_depth(value, text.count(b"[") + text.count(b"{"))
    return value


def parse_json_unique_names(text: bytes | str) -> object:
    """Return the value of a JSON text in which no object has a name twice. Raises ValueError.

    Strings may hold lone surrogates, so that the caller can reject the member that holds one
    (`webemu.emulator.surrogates`).
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = json.loads(
            text, object_pairs_hook=_build_object, parse_float=_parse_finite, parse_constant=_parse_finite
        )
    except RecursionError as error:
        raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep") from error
    _check_depth(value, text.count("[") + text.count("{"))
    return value


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object. Raises ValueError if it has a name twice."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        raise ValueError(f"an object has the name {replace_surrogates(twice[:60])!r} twice")
    return value


def _parse_finite(text: str) -> float:
    """Return a number. Raises ValueError if it is NaN or infinite."""
    if isfinite(number := float(text)):
        return number
    raise ValueError(f"{text[:60]} is not a finite number")


def _check_depth(value: object, opened: int) -> None:
    """Raise ValueError on a value that is nested too deeply.

    `opened` counts the brackets of the text: most texts have too few of them to be too deep and are not walked.
    """
    level: list[object] = [value] if opened > MAX_DEPTH else []
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _member_values(outer) if isinstance(inner, (dict, list))]
        if not level:
            return
    raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep")


def _member_values(value: object) -> Iterable[object]:
    """Return the values inside an object or a list; empty for anything else."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
