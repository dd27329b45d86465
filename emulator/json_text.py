"""JSON as strangers send it, read so strictly that nothing in it can fail later: in UTF-8, numbers finite, bounded in
depth, no half of a character (a lone surrogate, which no UTF-8 can hold).

Every body and every policy is read here. What the members mean is decided by whoever asked for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from math import isfinite
from typing import Any

import orjson

from webemu.emulator.surrogates import mended

MAX_DEPTH = 100
"""Lists and objects inside each other; what is written out again must not be deeper than its writer allows."""


def read(text: bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, which says what is wrong and where."""
    value = orjson.loads(text)
    _check_depth(value, text.count(b"[") + text.count(b"{"))
    return value


def read_once(text: bytes | str) -> Any:
    """Return the value of a JSON text in which no object has a name twice. Raises ValueError.

    Texts may hold halves of characters, so that the member that holds one can be refused alone
    (`webemu.emulator.surrogates`).
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError(f"more than {MAX_DEPTH} lists and objects are inside each other") from error
    _check_depth(value, text.count("[") + text.count("{"))
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        raise ValueError(f"the name {mended(twice[:60])!r} is given twice in one object")
    return value


def _finite(text: str) -> float:
    if isfinite(number := float(text)):
        return number
    raise ValueError(f"{text[:60]} is no finite number")


def _check_depth(value: Any, opened: int) -> None:
    """Raise ValueError on a value that is too deep. Most texts do not even open so many lists and objects."""
    level: list[Any] = [value] if opened > MAX_DEPTH else []
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _members(outer) if isinstance(inner, (dict, list))]
        if not level:
            return
    raise ValueError(f"more than {MAX_DEPTH} lists and objects are inside each other")


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
