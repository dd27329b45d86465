"""OpenAPI operations of the emulated services, the archives, MCP and the pages for people.

They are made from the routes themselves, so that none is forgotten. Parameters are those of each service's own
documentation, which is not repeated here: query strings and bodies are described as open objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.api.mcp.endpoint import TOOLSETS_BY_PATH
from webemu.api.services.path_templates import list_path_templates

ARCHIVES, MCP, PAGES, TRAINER = "Web archives", "MCP", "Pages for people", "The trainer's side"
"""Groups of operations beside those of the services."""
_FORM_TYPE = "application/x-www-form-urlencoded"
_OPEN_OBJECT: Mapping[str, object] = {"type": "object", "additionalProperties": True}
_MESSAGE_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["integer", "string"]},
        "method": {"type": "string", "examples": ["tools/list", "tools/call"]},
        "params": {"type": "object"},
    },
}
"""Schema of a JSON-RPC request."""


@dataclass(frozen=True, slots=True)
class ServiceOperation:
    """One method of a path in the form of another service."""

    path: str
    """OpenAPI path template."""
    method: str
    tag: str
    """Group under which the documentation shows it."""
    summary: str
    body: Mapping[str, object] | None = None
    """Schema of a JSON body; None for a request without one."""
    takes_form: bool = False
    """True if the body may be a URL-encoded form, too."""


_FIXED = (
    ServiceOperation("/wayback/available", "get", ARCHIVES, "Find the nearest capture that succeeded"),
    ServiceOperation("/cdx/search/cdx", "get", ARCHIVES, "List captures (CDX server)"),
    ServiceOperation("/web/timemap/json/{url}", "get", ARCHIVES, "List the captures of a URL as JSON"),
    ServiceOperation("/web/timemap/link/{url}", "get", ARCHIVES, "List the captures of a URL (RFC 7089)"),
    ServiceOperation("/web/{time}/{url}", "get", ARCHIVES, "Replay a capture"),
    ServiceOperation("/collinfo.json", "get", ARCHIVES, "List the crawls"),
    ServiceOperation("/CC-MAIN-{crawl}-index", "get", ARCHIVES, "Ask the index of a crawl"),
    ServiceOperation("/crawl-data/{file}", "get", ARCHIVES, "Read a WARC file, or a range of it"),
    ServiceOperation("/", "get", PAGES, "Show the form of the search"),
    ServiceOperation("/search", "get", PAGES, "Show results"),
    ServiceOperation("/view", "get", PAGES, "Show a page"),
    ServiceOperation("/suggest", "get", PAGES, "Complete a query (OpenSearch)"),
    ServiceOperation("/opensearch.xml", "get", PAGES, "Describe the search to browsers"),
    ServiceOperation("/metrics", "get", TRAINER, "Report figures for Prometheus"),
    ServiceOperation("/dashboard", "get", TRAINER, "Show the dashboard"),
    ServiceOperation("/dashboard/figures", "get", TRAINER, "Report the figures of the dashboard"),
)
"""Operations whose routes are not those of a dialect."""


def list_operations() -> Iterator[ServiceOperation]:
    """Yield the operations of all services; one that two routes of a service answer comes once."""
    listed_keys = set()
    for operation in (*_FIXED, *_list_mcp_operations(), *_list_dialect_operations()):
        if (key := (re.sub(r"\{\w+\}", "{}", operation.path), operation.method)) not in listed_keys:
            listed_keys.add(key)
            yield operation


def list_tags() -> list[dict[str, str]]:
    """Return the groups of operations with what they are."""
    return [{"name": dialect.service, "description": _describe_service(dialect)} for dialect in DIALECTS] + [
        {"name": ARCHIVES, "description": "The Wayback Machine and Common Crawl's index: docs/archives.md."},
        {"name": MCP, "description": "The Model Context Protocol over Streamable HTTP: docs/mcp.md."},
        {"name": PAGES, "description": "The search engine for people: docs/pages.md."},
        {"name": TRAINER, "description": "Closed to requests that carry a session: docs/sessions.md."},
    ]


def build_operation(operation: ServiceOperation) -> dict[str, object]:
    """Return the OpenAPI operation."""
    names = re.findall(r"\{(\w+)\}", operation.path)
    path_params = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    described: dict[str, object] = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [*path_params, _QUERY_PARAM],
        "responses": {"default": {"description": "The answer, or an error, as the service itself gives it"}},
    }
    if operation.body is not None:
        types = ["application/json", _FORM_TYPE] if operation.takes_form else ["application/json"]
        described["requestBody"] = {"content": {name: {"schema": operation.body} for name in types}}
    return described


_QUERY_PARAM = {
    "name": "parameters",
    "in": "query",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
    "description": "Parameters that the service has.",
}


def _list_dialect_operations() -> Iterator[ServiceOperation]:
    for dialect in DIALECTS:
        for route in dialect.routes:
            summary = (route.endpoint.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")
            for template in list_path_templates(route.path):
                path = f"/{dialect.name}{template.removesuffix('/')}"
                yield from (
                    ServiceOperation(
                        path, method.lower(), dialect.service, summary, _OPEN_OBJECT if method == "POST" else None, True
                    )
                    for method in route.methods
                )


def _list_mcp_operations() -> Sequence[ServiceOperation]:
    return [
        ServiceOperation(f"/mcp{path}", "post", MCP, "Send a message, such as the call of a tool", _MESSAGE_SCHEMA)
        for path in TOOLSETS_BY_PATH
    ]


def _describe_service(dialect: Dialect) -> str:
    hosts = " and ".join((f"below `/{dialect.name}`", *map("as `{}`".format, dialect.hosts[:3])))
    return f"Served {hosts}. {dialect.setup_hint}"
