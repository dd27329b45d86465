"""Filters of CDX queries: Wayback's `[!]field:regex` and pywb's `[!][=|~]field:text`, over the fields of a row.

Patterns come from clients and may be hostile. They run in Rust's regex engine, which pydantic-core bundles and which
takes linear time on any pattern; Python's `re` does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic_core import SchemaError, SchemaValidator, core_schema

from webemu.api.archives.listing import CdxRow
from webemu.emulator.errors import BadRequest

FieldGetter = Callable[[CdxRow], str]
"""Returns one field of a row as text; empty if the row has no such field."""
RowTest = Callable[[CdxRow], bool]
"""True if a row passes a filter."""
MAX_PATTERN = 1000
"""Longest regular expression accepted from a client, in characters."""


def compile_pattern(expression: str, full_match: bool) -> Callable[[str], bool]:
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
        anchored = rf"\A(?:{expression})" + (r"\z" if full_match else "")
        return SchemaValidator(core_schema.str_schema(pattern=anchored)).isinstance_python
    except SchemaError as error:
        raise BadRequest(
            f"{expression[:100]!r} is not a valid regular expression: {str(error).splitlines()[-1]}"
        ) from error


def wayback_filter(text: str, getters: Mapping[str, FieldGetter], line_getter: FieldGetter) -> RowTest:
    """Parse a Wayback filter, `[!]field:regex`, into a test on rows.

    The pattern must match the whole field. A field may be given by its number; without a field the whole line is
    matched. Raises BadRequest on an unknown field or a bad pattern.
    """
    is_negated, text = text.startswith("!"), text.removeprefix("!")
    name, colon, expression = text.partition(":")
    field_names = list(getters)
    # Only the first digits are converted: a longer number names no field anyway.
    if colon and name.isascii() and name.isdigit() and int(name[:3]) < len(field_names):
        name = field_names[int(name[:3])]
    getter = _field_getter(name, getters) if colon else line_getter
    return _make_test(getter, compile_pattern(expression if colon else text, full_match=True), is_negated)


def pywb_filter(
    text: str, getters: Mapping[str, FieldGetter], line_getter: FieldGetter, aliases: Mapping[str, str]
) -> RowTest:
    """Parse a pywb filter, `[!][=|~]field:text`, into a test on rows.

    Without an operator the field must contain the text; `=` demands equality, `~` a regular expression that matches at
    the beginning. Raises BadRequest on an unknown field or a bad pattern.
    """
    is_negated, text = text.startswith("!"), text.removeprefix("!")
    operator = text[:1] if text[:1] in ("=", "~") else ""
    name, colon, operand = text[len(operator) :].partition(":")
    getter = _field_getter(aliases.get(name, name), getters) if colon else line_getter
    operand = operand if colon else name
    if operator == "~":
        return _make_test(getter, compile_pattern(operand, full_match=False), is_negated)
    return _make_test(getter, operand.__eq__ if operator else lambda field_text: operand in field_text, is_negated)


def _make_test(getter: FieldGetter, matches: Callable[[str], bool], is_negated: bool) -> RowTest:
    """Return a test that applies `matches` to one field, negated if `is_negated`."""
    return (lambda row: not matches(getter(row))) if is_negated else (lambda row: matches(getter(row)))


def _field_getter(name: str, getters: Mapping[str, FieldGetter]) -> FieldGetter:
    """Return the getter of a field. Raises BadRequest if there is no such field."""
    if name not in getters:
        raise BadRequest(f"there is no field {name[:40]!r}", action=f"use {', '.join(getters)}")
    return getters[name]


def select_fields(
    text: str, getters: Mapping[str, FieldGetter], default: list[str], aliases: Mapping[str, str]
) -> list[str]:
    """Return the field names listed in the `fl` parameter, aliases resolved, or `default` if it is empty.

    Raises BadRequest on an unknown field.
    """
    names = [aliases.get(name.strip(), name.strip()) for name in text.split(",") if name.strip()]
    for name in names:
        _field_getter(name, getters)
    return names or default
