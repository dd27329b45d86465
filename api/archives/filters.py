"""Filters of CDX queries: Wayback's `[!]field:regex` and pywb's `[!][=|~]field:text`, over the fields of a row.

Patterns come from clients and may be hostile. They run in Rust's regex engine, which pydantic-core bundles and which
takes linear time on any pattern; Python's `re` does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic_core import SchemaError, SchemaValidator, core_schema

from webemu.api.archives.listing import Row
from webemu.emulator.errors import BadRequest

Value = Callable[[Row], str]
"""Returns one field of a row as text; empty if the row has no such field."""
Test = Callable[[Row], bool]
"""True if a row passes a filter."""
MAX_PATTERN = 1000
"""Longest regular expression accepted from a client, in characters."""


def pattern(expression: str, whole: bool) -> Callable[[str], bool]:
    """Compile a client's regular expression to a predicate on text, anchored at the start.

    With `full_match` the pattern must match to the end of the text as well. Raises BadRequest if the expression is too
    long or invalid.
    """
    try:
        if len(expression) > MAX_PATTERN:
            raise BadRequest(
                f"a pattern may have at most {MAX_PATTERN} characters, got {len(expression)}",
                action="shorten the pattern",
            )
        # \A and \z are the ends of the text in Rust's syntax (Python writes \Z).
        anchored = rf"\A(?:{expression})" + (r"\z" if whole else "")
        return SchemaValidator(core_schema.str_schema(pattern=anchored)).isinstance_python
    except SchemaError as error:
        raise BadRequest(
            f"{expression[:100]!r} is not a valid regular expression: {str(error).splitlines()[-1]}"
        ) from error


def wayback(text: str, values: Mapping[str, Value], line: Value) -> Test:
    """Parse a Wayback filter, `[!]field:regex`, into a test on rows.

    The pattern must match the whole field. A field may be given by its number; without a field the whole line is
    matched. Raises BadRequest on an unknown field or a bad pattern.
    """
    is_not, text = text.startswith("!"), text.removeprefix("!")
    name, colon, expression = text.partition(":")
    fields = list(values)
    # Only the first digits are converted: a longer number names no field anyway.
    if colon and name.isascii() and name.isdigit() and int(name[:3]) < len(fields):
        name = fields[int(name[:3])]
    value = _field(name, values) if colon else line
    return _test(value, pattern(expression if colon else text, whole=True), is_not)


def pywb(text: str, values: Mapping[str, Value], line: Value, aliases: Mapping[str, str]) -> Test:
    """Parse a pywb filter, `[!][=|~]field:text`, into a test on rows.

    Without an operator the field must contain the text; `=` demands equality, `~` a regular expression that matches at
    the beginning. Raises BadRequest on an unknown field or a bad pattern.
    """
    is_not, text = text.startswith("!"), text.removeprefix("!")
    how = text[:1] if text[:1] in ("=", "~") else ""
    name, colon, wanted = text[len(how) :].partition(":")
    value = _field(aliases.get(name, name), values) if colon else line
    wanted = wanted if colon else name
    if how == "~":
        return _test(value, pattern(wanted, whole=False), is_not)
    return _test(value, wanted.__eq__ if how else lambda found: wanted in found, is_not)


def _test(value: Value, matches: Callable[[str], bool], is_not: bool) -> Test:
    """Return a test that applies `matches` to one field, negated if `is_not`."""
    return (lambda row: not matches(value(row))) if is_not else (lambda row: matches(value(row)))


def _field(name: str, values: Mapping[str, Value]) -> Value:
    """Return the getter of a field. Raises BadRequest if there is no such field."""
    if name not in values:
        raise BadRequest(f"there is no field {name[:40]!r}", action=f"use {', '.join(values)}")
    return values[name]


def fields(text: str, values: Mapping[str, Value], otherwise: list[str], aliases: Mapping[str, str]) -> list[str]:
    """Return the field names listed in the `fl` parameter, aliases resolved, or `default` if it is empty.

    Raises BadRequest on an unknown field.
    """
    names = [aliases.get(name.strip(), name.strip()) for name in text.split(",") if name.strip()]
    for name in names:
        _field(name, values)
    return names or otherwise
