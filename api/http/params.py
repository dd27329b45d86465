"""Parse request parameters, from a query string or a JSON object, into one form: text values by name.

Nothing is guessed: an unknown name, a repeated name or an unreadable value is a BadRequest that names what is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import unquote_to_bytes

from webemu.emulator.errors import BadRequest
from webemu.emulator.json_text import parse_json_unique_names
from webemu.emulator.surrogates import is_utf8_encodable, replace_surrogates

Params = Mapping[str, str]
"""Parameters of one request: text values by name."""


def read_query(query: bytes, allowed: Collection[str]) -> dict[str, str]:
    """Parse a query string (application/x-www-form-urlencoded, UTF-8) into parameters.

        read_query(b"q=river+port&page=2", ("q", "page"))   # {"q": "river port", "page": "2"}

    Raises:
        BadRequest: a name is not in `allowed` or occurs twice, or the bytes are not UTF-8.
    """
    params: dict[str, str] = {}
    for part in query.split(b"&") if query else ():
        encoded, _, value = part.partition(b"=")
        name = _decode_component(encoded)
        if name in params:
            raise BadRequest(f"parameter {name!r} is given twice", action="give it once")
        if name in allowed:
            params[name] = _decode_component(value)
        elif part:
            raise _unknown_parameter_error(name, allowed)
    return params


def _decode_component(encoded: bytes) -> str:
    """Decode one name or value. Raises BadRequest if it is not UTF-8."""
    unplussed = encoded.replace(b"+", b" ")
    try:
        return (unquote_to_bytes(unplussed) if b"%" in unplussed else unplussed).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"the query string is not UTF-8: {encoded[:60]!r}", action="percent-encode the text as UTF-8"
        ) from error


def read_object(members: Mapping[str, object], allowed: Collection[str], flags: Collection[str] = ()) -> dict[str, str]:
    """Convert a JSON object into parameters. A member that is null counts as not given.

    Raises:
        BadRequest: a name is not in `allowed`, or a value is neither a text nor a whole number, nor true or false of a
            name in `flags`.
    """
    params: dict[str, str] = {}
    for name, value in members.items():
        if name not in allowed:
            raise _unknown_parameter_error(name, allowed)
        if isinstance(value, bool) and name in flags:
            value = str(value).lower()
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise BadRequest(f"{name} must be a text or a whole number, got {type(value).__name__}", action="see /docs")
        if value is not None:
            params[name] = reject_surrogates(str(value))
    return params


def reject_surrogates(text: str) -> str:
    """Return the text unchanged. Raises BadRequest if it contains a lone surrogate, which JSON can carry but UTF-8
    cannot.
    """
    if not is_utf8_encodable(text):
        raise BadRequest(f"{replace_surrogates(text[:60])!r} contains a lone surrogate", action="send whole characters")
    return text


def read_json_body(body: bytes) -> dict[str, object]:
    """Parse a request body as a JSON object. Raises BadRequest if it is not JSON or not an object."""
    try:
        value = parse_json_unique_names(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}", action="send a JSON object; see /docs") from error
    if not isinstance(value, dict):
        raise BadRequest("the body is not a JSON object", action="see /docs for its members")
    return value


def read_list(body: Mapping[str, object], name: str, limit: int) -> list[object]:
    """Return the list member `name` of a batch request. Raises BadRequest if it is missing or longer than `limit`."""
    items = body.get(name)
    if not isinstance(items, list):
        raise BadRequest(f"the list {name!r} is missing", action=f'send {{"{name}": [...]}}; see /docs')
    if len(items) > limit:
        raise BadRequest(f"the request has {len(items):,} {name}", action=f"send at most {limit:,} in one request")
    return items


def require(params: Params, name: str) -> str:
    """Return a parameter that must be present and not empty. Raises BadRequest if it is not."""
    if not params.get(name):
        raise BadRequest(f"parameter {name!r} is missing", action=f"add {name}=...; see /docs")
    return params[name]


def read_integer(params: Params, name: str, default: int, minimum: int, maximum: int = 10**9) -> int:
    """Return a parameter as an integer; the default if it is absent or empty.

    Raises:
        BadRequest: the value is not a decimal number from `minimum` to `maximum`.
    """
    text = params.get(name)
    if not text:
        return default
    if text.isdecimal() and text.isascii() and len(text) <= 10 and minimum <= int(text) <= maximum:
        return int(text)
    message = f"{name} must be a whole number from {minimum:,} to {maximum:,}, got {text[:40]!r}"
    raise BadRequest(message, action=f"leave it out for the default, {default}")


def _unknown_parameter_error(name: str, allowed: Collection[str]) -> BadRequest:
    """Return the error for a parameter name that is not allowed."""
    return BadRequest(f"unknown parameter {name[:60]!r}", action=f"use one of: {', '.join(allowed)}")
