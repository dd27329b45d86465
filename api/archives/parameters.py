"""Query parameters as the archives read them: the first of repeated values counts, unknown names are ignored."""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator.errors import BadRequest

Pairs = Sequence[tuple[str, str]]
"""Query parameters in request order, as (name, value)."""
MAX_REPEATS = 20
"""Largest number of times that a repeatable parameter (`filter`, `collapse`) may be given."""
_BOOLEANS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


def first_value(pairs: Pairs, *names: str) -> str:
    """Return the first non-empty value of any of the names; empty if there is none."""
    return next((value for name, value in pairs if name in names and value), "")


def all_values(pairs: Pairs, name: str) -> list[str]:
    """Return all non-empty values of a repeatable parameter. Raises BadRequest above `MAX_REPEATS`."""
    values = [value for key, value in pairs if key == name and value]
    if len(values) > MAX_REPEATS:
        raise BadRequest(f"{name} may be given at most {MAX_REPEATS} times, got {len(values)}", action="leave some out")
    return values


def int_value(pairs: Pairs, name: str, default: int, minimum: int) -> int:
    """Return an integer parameter, or `default` if it is missing. Raises BadRequest if it is no integer or below
    `minimum`.
    """
    text = first_value(pairs, name)
    if not text:
        return default
    try:
        value = int(text[:12])  # no parameter needs more digits, and Python refuses thousands of them
    except ValueError:
        raise BadRequest(f"{name} must be a whole number, got {text[:40]!r}") from None
    if value < minimum:
        raise BadRequest(f"{name} must be at least {minimum}, got {value}")
    return value


def is_on(pairs: Pairs, name: str) -> bool:
    """True if a switch is on; a missing one is off. Raises BadRequest if its value is neither true nor false."""
    text = first_value(pairs, name)
    if text and text.lower() not in _BOOLEANS:
        raise BadRequest(f"{name} must be true or false, got {text[:40]!r}")
    return bool(text) and _BOOLEANS[text.lower()]


def choice_value(pairs: Pairs, name: str, values: Sequence[str]) -> str:
    """Return a parameter that must be one of `values`; a missing one is the first of them. Raises BadRequest on any
    other.
    """
    text = first_value(pairs, name) or values[0]
    if text not in values:
        raise BadRequest(f"{name} must be one of {', '.join(value for value in values if value)}, got {text[:40]!r}")
    return text


def timestamp_value(pairs: Pairs, name: str) -> str:
    """Return the leading digits of a timestamp; empty if the parameter is missing. Raises BadRequest on other text."""
    text = first_value(pairs, name)
    if text and not (text.isascii() and text.isdigit() and len(text) <= 14):
        raise BadRequest(
            f"{name} must be 1 to 14 digits of a time, got {text[:40]!r}",
            action="write it as YYYYMMDDhhmmss or its beginning",
        )
    return text
