"""Parameters as asked, by query string or JSON object, read into one form: texts by name.

Nothing is guessed: an unknown name, a repeated one or an unreadable value is a BadRequest that says what is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from webemu.emulator.errors import BadRequest
from webemu.emulator.json_text import read_once
from webemu.emulator.surrogates import is_whole, mended

Params = Mapping[str, str]


def read_query(query: bytes, known: Collection[str]) -> dict[str, str]:
    """The parameters of a query string (application/x-www-form-urlencoded, UTF-8)."""
    params: dict[str, str] = {}
    for part in query.split(b"&") if query else ():
        encoded, _, value = part.partition(b"=")
        name = _plain(encoded)
        if name in params:
            raise BadRequest(f"parameter {name!r} is given twice", action="give it once")
        if name in known:
            params[name] = _plain(value)
        elif part:
            raise _unknown(name, known)
    return params


def _plain(encoded: bytes) -> str:
    spaced = encoded.replace(b"+", b" ")
    try:
        return (unquote_to_bytes(spaced) if b"%" in spaced else spaced).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"the query string is not UTF-8: {encoded[:60]!r}", action="escape the bytes of UTF-8"
        ) from error


def read_object(item: Mapping[str, Any], known: Collection[str]) -> dict[str, str]:
    """The parameters of a JSON object; null is the same as not given."""
    params: dict[str, str] = {}
    for name, value in item.items():
        if name not in known:
            raise _unknown(name, known)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise BadRequest(f"{name} must be a text or a whole number", action="see /docs")
        if value is not None:
            params[name] = whole(str(value))
    return params


def whole(text: str) -> str:
    """Return the text. Raises BadRequest on half of a character, which JSON can carry and nothing else can."""
    if not is_whole(text):
        raise BadRequest(f"{mended(text[:60])!r} has half of a character (a lone surrogate)", action="send UTF-8")
    return text


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body."""
    try:
        value = read_once(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}", action="send a JSON object; see /docs") from error
    if not isinstance(value, dict):
        raise BadRequest("the body is not a JSON object", action="see /docs for its members")
    return value


def read_list(body: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """The list member that a batch is made of."""
    items = body.get(name)
    if not isinstance(items, list):
        raise BadRequest(f"the list {name!r} is missing", action=f'send {{"{name}": [...]}}; see /docs')
    if len(items) > most:
        raise BadRequest(f"{len(items):,} {name} in one request", action=f"send at most {most:,}")
    return items


def required(params: Params, name: str) -> str:
    """A parameter that must be there and say something."""
    if not params.get(name):
        raise BadRequest(f"parameter {name!r} is missing", action=f"add {name}=...; see /docs")
    return params[name]


def whole_number(params: Params, name: str, default: int, least: int, most: int = 10**9) -> int:
    """A number of a range; the default where it is not given or empty."""
    text = params.get(name)
    if not text:
        return default
    if text.isdecimal() and text.isascii() and len(text) <= 10 and least <= int(text) <= most:
        return int(text)
    raise BadRequest(f"{name}={text[:40]!r} is not a number from {least:,} to {most:,}", action=f"default: {default}")


def _unknown(name: str, known: Collection[str]) -> BadRequest:
    return BadRequest(f"unknown parameter {name[:60]!r}", action=f"known ones: {', '.join(known)}")
