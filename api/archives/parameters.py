"""Parameters of a query as the archives read them: of a repeated one the first counts, what is unknown is ignored."""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator.errors import BadRequest

Pairs = Sequence[tuple[str, str]]
MOST = 20
"""So often a parameter may be repeated that may be."""
_SWITCH = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


def one(pairs: Pairs, *names: str) -> str:
    """The first value that is not empty."""
    return next((value for name, value in pairs if name in names and value), "")


def many(pairs: Pairs, name: str) -> list[str]:
    values = [value for one_of, value in pairs if one_of == name and value]
    if len(values) > MOST:
        raise BadRequest(f"{name} is given {len(values)} times", action=f"give it at most {MOST} times")
    return values


def number(pairs: Pairs, name: str, otherwise: int, least: int) -> int:
    text = one(pairs, name)
    if not text:
        return otherwise
    try:
        value = int(text[:12])
    except ValueError:
        raise BadRequest(f"{name}={text[:40]!r} is not a number") from None
    if value < least:
        raise BadRequest(f"{name}={value} is less than {least}")
    return value


def is_on(pairs: Pairs, name: str) -> bool:
    text = one(pairs, name)
    if text and text.lower() not in _SWITCH:
        raise BadRequest(f"{name}={text[:40]!r} is neither true nor false")
    return bool(text) and _SWITCH[text.lower()]


def choice(pairs: Pairs, name: str, values: Sequence[str]) -> str:
    """One of the values, the first of them if none is given."""
    text = one(pairs, name) or values[0]
    if text not in values:
        raise BadRequest(f"{name}={text[:40]!r} is not one of {', '.join(value for value in values if value)}")
    return text


def digits(pairs: Pairs, name: str) -> str:
    """Some of the fourteen digits of a time."""
    text = one(pairs, name)
    if text and not (text.isascii() and text.isdigit() and len(text) <= 14):
        raise BadRequest(f"{name}={text[:40]!r} is not a time", action="write it as YYYYMMDDhhmmss or its beginning")
    return text
