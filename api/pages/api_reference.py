"""`/docs`: the reference of the API as one page of HTML, made from the OpenAPI document.

It needs no script, follows the colours of the reader's system and loads nothing. `/docs/try` is Swagger UI, which sends
requests (`webemu.api.services.openapi`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from webemu.api.pages.template import fill_template

Schema = Mapping[str, Any]
"""A JSON schema, or another object of an OpenAPI document."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a member of a body, as the page lists it."""

    name: str
    place: str
    """`query`, `path`, `header` or `body`."""
    kind: str
    """Type, with the values or bounds that it may have."""
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path."""

    method: str
    path: str
    summary: str
    description: str
    fields: tuple[Field, ...]
    statuses: tuple[tuple[str, str], ...]
    """Statuses of responses, each with its meaning."""


def render_reference(document: Schema) -> bytes:
    """Return the page of an OpenAPI document."""
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = next(iter(operation.get("tags", ())), "Other")
            groups.setdefault(tag, []).append(_read_operation(document, path, method, operation))
    return fill_template("reference.html", info=document["info"], groups=groups, mark_code=mark_code)


def mark_code(text: str) -> Markup:
    """Return a text as HTML, with the parts between backticks as code.

    mark_code("`a<b`")    # Markup("<code>a&lt;b</code>")
    """
    parts = (
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(text.split("`"))
    )
    return Markup("").join(parts)


def _read_operation(document: Schema, path: str, method: str, operation: Schema) -> Operation:
    statuses = tuple((status, answer.get("description", "")) for status, answer in operation["responses"].items())
    fields = (*map(_read_parameter, operation.get("parameters", ())), *_read_body(document, operation))
    summary, description = operation.get("summary", ""), operation.get("description", "")
    return Operation(method.upper(), path, summary, description, fields, statuses)


def _read_parameter(parameter: Schema) -> Field:
    schema = parameter.get("schema", {})
    is_required = parameter.get("required", False)
    return Field(parameter["name"], parameter["in"], _name_kind(schema), is_required, parameter.get("description", ""))


def _read_body(document: Schema, operation: Schema) -> Iterator[Field]:
    """Yield the members of a request's body; none if it has no body or an open one."""
    for content in list(operation.get("requestBody", {}).get("content", {}).values())[:1]:
        schema = _follow(document, content.get("schema", {}))
        required = schema.get("required", ())
        for name, member in schema.get("properties", {}).items():
            yield Field(name, "body", _name_kind(member), name in required, member.get("description", ""))


def _follow(document: Schema, schema: Schema) -> Schema:
    """Return a schema, or the one that it refers to."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return document["components"]["schemas"].get(name, {}) if name else schema


def _name_kind(schema: Schema) -> str:
    """Return the type of a schema in words: its values, or its type with default and bounds."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        kind = ", ".join(map(str, schema["enum"]))
    elif "anyOf" in schema:
        kind = " or ".join(map(_name_kind, schema["anyOf"]))
    else:
        kind = str(schema.get("format") or schema.get("type") or "any")
    bounds = [f"{word} {schema[key]}" for word, key in (("from", "minimum"), ("to", "maximum")) if key in schema]
    default = f"; default {schema['default']}" if schema.get("default") not in (None, "") else ""
    return " ".join((kind, *bounds)) + default
