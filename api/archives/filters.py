"""Filters of CDX queries: Wayback's `[!]field:regex` and pywb's `[!][=|~]field:text`, over the fields of a row.

Patterns are the client's, so the engine is one that takes no longer for a bad one: Rust's, which pydantic carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic_core import SchemaError, SchemaValidator, core_schema

from webemu.api.archives.listing import Row
from webemu.emulator.errors import BadRequest

Value = Callable[[Row], str]
"""One field of a row as text, empty where there is none."""
Test = Callable[[Row], bool]
MAX_PATTERN = 1000


def pattern(expression: str, whole: bool) -> Callable[[str], bool]:
    """Whether a text matches, the whole of it or its beginning. Raises BadRequest."""
    try:
        if len(expression) > MAX_PATTERN:
            raise BadRequest(f"a pattern of {len(expression)} characters", action=f"use at most {MAX_PATTERN}")
        anchored = rf"\A(?:{expression})" + (r"\z" if whole else "")
        return SchemaValidator(core_schema.str_schema(pattern=anchored)).isinstance_python
    except SchemaError as error:
        raise BadRequest(f"{expression[:100]!r} is not a pattern: {str(error).splitlines()[-1]}") from error


def wayback(text: str, values: Mapping[str, Value], line: Value) -> Test:
    """`[!]field:regex`, of the whole field; without a field of the whole line. A field may be given by its number."""
    is_not, text = text.startswith("!"), text.removeprefix("!")
    name, colon, expression = text.partition(":")
    fields = list(values)
    if colon and name.isascii() and name.isdigit() and int(name[:3]) < len(fields):
        name = fields[int(name[:3])]
    value = _field(name, values) if colon else line
    return _test(value, pattern(expression if colon else text, whole=True), is_not)


def pywb(text: str, values: Mapping[str, Value], line: Value, aliases: Mapping[str, str]) -> Test:
    """`[!][=|~]field:text`: contains it, is it (`=`), begins with what the pattern says (`~`)."""
    is_not, text = text.startswith("!"), text.removeprefix("!")
    how = text[:1] if text[:1] in ("=", "~") else ""
    name, colon, wanted = text[len(how) :].partition(":")
    value = _field(aliases.get(name, name), values) if colon else line
    wanted = wanted if colon else name
    if how == "~":
        return _test(value, pattern(wanted, whole=False), is_not)
    return _test(value, wanted.__eq__ if how else lambda found: wanted in found, is_not)


def _test(value: Value, matches: Callable[[str], bool], is_not: bool) -> Test:
    return (lambda row: not matches(value(row))) if is_not else (lambda row: matches(value(row)))


def _field(name: str, values: Mapping[str, Value]) -> Value:
    if name not in values:
        raise BadRequest(f"{name[:40]!r} is not a field", action=f"use {', '.join(values)}")
    return values[name]


def fields(text: str, values: Mapping[str, Value], otherwise: list[str], aliases: Mapping[str, str]) -> list[str]:
    """The fields of `fl`, which must exist."""
    names = [aliases.get(name.strip(), name.strip()) for name in text.split(",") if name.strip()]
    for name in names:
        _field(name, values)
    return names or otherwise
