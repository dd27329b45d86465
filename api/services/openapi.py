"""Documentation of the API: an OpenAPI 3.1 document, and the page `/docs`, which loads nothing from other hosts.

The models here only describe responses. No response is rendered by them: `webemu.api.services.native` does that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from webemu.api.http.text_range import DEFAULT_LENGTH, DEFAULT_LINES
from webemu.api.pages.api_reference import render_reference
from webemu.api.pages.template import security_headers
from webemu.api.services import native, openapi_services
from webemu.api.services.models import (
    API_MODELS,
    ErrorAnswer,
    FetchAnswer,
    FetchAnswers,
    FetchBatch,
    FindAnswer,
    Health,
    SearchAnswer,
    SearchAnswers,
    SearchBatch,
    Stats,
)
from webemu.api.sessions.models import OpenedSession, SessionPolicy, SessionReport
from webemu.emulator.snippet_style import SNIPPET_STYLES
from webemu.emulator.types import VIEWS

DESCRIPTION = """The web, emulated from a crawl. Every answer names the snapshot it was made from; the same snapshot and
the same request give the same bytes. Times are UTC: RFC 3339, `YYYY[-MM[-DD]]`, or a prefix of `YYYYMMDDhhmmss`.

Every address may follow `/s/SESSION`, which answers it under the policy of a session. Some clients of services ask at
the root, without the service's prefix; they are recognised by what they send."""
"""Introduction shown at the top of `/docs`."""


_DARK_STYLE = """<meta name="color-scheme" content="light dark"><style>
@media (prefers-color-scheme: dark) {
  html { background: #131516; } .swagger-ui { filter: invert(.92) hue-rotate(180deg); }
}
</style>"""
"""Style that Swagger UI lacks: its colours are turned round where the reader's system is dark."""
NATIVE_TAG = "Native API"
"""Group of the operations of the native API."""
_SESSION_MODELS = (SessionPolicy, OpenedSession, SessionReport)
_TIME_SCHEMA = {"type": "string", "examples": ["2024-11-30"]}
_TEXT_SCHEMA = {"type": "string"}
_FLAG_SCHEMA = {"type": "boolean", "default": False}
_URL_SCHEMA = {"type": "string", "format": "uri", "examples": ["https://example.org/"]}


def _integer_schema(default: int, minimum: int, maximum: int | None = None) -> dict[str, object]:
    """Return the JSON schema of an integer parameter."""
    schema: dict[str, object] = {"type": "integer", "default": default, "minimum": minimum}
    return schema if maximum is None else {**schema, "maximum": maximum}


@dataclass(frozen=True, slots=True)
class QueryParam:
    """A documented query parameter."""

    name: str
    schema: Mapping[str, object]
    """JSON schema of the value."""
    description: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class DocumentedRoute:
    """A documented method of a path."""

    path: str
    method: str
    summary: str
    answer: type[BaseModel]
    """Model of the response."""
    body: type[BaseModel] | None = None
    """Model of the request body."""
    params: Sequence[QueryParam] = ()


_SEARCH_PARAMS = (
    QueryParam("q", {"type": "string", "examples": ["river port"]}, "The query. Operators: docs/api.md.", True),
    QueryParam("page", _integer_schema(1, 1), "Page of results."),
    QueryParam("size", _integer_schema(native.DEFAULT_SIZE, 1, native.MAX_SIZE), "Results per page."),
    QueryParam("as_of", _TIME_SCHEMA, "Time of the query: pages captured later do not exist."),
    QueryParam("engine", _TEXT_SCHEMA, "Ranker: full, plain or weak; with embeddings also dense, hybrid or rerank."),
    QueryParam("explain", _FLAG_SCHEMA, "True to list the ranking signals of each result."),
    QueryParam("strict", _FLAG_SCHEMA, "True to let phrases and `+words` bind though few pages have them."),
    QueryParam(
        "snippet",
        {"type": "string", "enum": list(SNIPPET_STYLES), "default": native.DEFAULT_SNIPPET},
        "Snippets: at most 260 characters, at most 400 in whole sentences, or about a hundred words.",
    ),
)
_URL_PARAM = QueryParam("url", _URL_SCHEMA, "URL of the page.", True)
_AT_PARAM = QueryParam(
    "at", _TIME_SCHEMA, "Time of the capture, the nearest one is shown; by default the latest successful one."
)
_FETCH_PARAMS = (
    _URL_PARAM,
    QueryParam("format", {"type": "string", "enum": list(VIEWS), "default": "text"}, "`raw`: the payload as recorded."),
    _AT_PARAM,
    QueryParam("start", _integer_schema(0, 0), "First character."),
    QueryParam("length", _integer_schema(DEFAULT_LENGTH, 0), "Number of characters; 0 for all that follow."),
    QueryParam("line", _integer_schema(0, 0), "First line; replaces start and length."),
    QueryParam("lines", _integer_schema(DEFAULT_LINES, 0), "Number of lines; 0 for all that follow."),
    QueryParam(
        "follow", _integer_schema(1, 0, 1), "1 follows captured redirects, 0 shows them; `raw` has 0 by default."
    ),
)
_FIND_PARAMS = (
    _URL_PARAM,
    QueryParam("pattern", _TEXT_SCHEMA, "Plain text, case-insensitive.", True),
    _AT_PARAM,
    QueryParam("limit", _integer_schema(native.DEFAULT_MATCHES, 1, native.MAX_MATCHES), "Number of matches shown."),
)
_REPORT_PARAMS = (
    QueryParam("from", _integer_schema(1, 1), "First step, from 1."),
    QueryParam("limit", _integer_schema(10_000, 1, 10_000), "Number of steps."),
)
ROUTES = (
    DocumentedRoute("/v1/search", "get", "Search", SearchAnswer, params=_SEARCH_PARAMS),
    DocumentedRoute("/v1/search", "post", "Search for many queries at once", SearchAnswers, SearchBatch),
    DocumentedRoute("/v1/fetch", "get", "Open a page", FetchAnswer, params=_FETCH_PARAMS),
    DocumentedRoute("/v1/fetch", "post", "Open many pages at once", FetchAnswers, FetchBatch),
    DocumentedRoute("/v1/find", "get", "Find a text in a page", FindAnswer, params=_FIND_PARAMS),
    DocumentedRoute("/v1/sessions", "post", "Open a session with a policy", OpenedSession, SessionPolicy),
    DocumentedRoute("/v1/sessions/{session}", "get", "Report what a session did", SessionReport, params=_REPORT_PARAMS),
    DocumentedRoute("/v1/stats", "get", "Describe the snapshot and the activity of this process", Stats),
    DocumentedRoute("/health", "get", "Check that there is a snapshot to serve", Health),
)
"""Documented routes."""


def build_document() -> dict[str, object]:
    """Return the OpenAPI document."""
    _, schemas = models_json_schema(
        [(model, "serialization") for model in (*API_MODELS, *_SESSION_MODELS, ErrorAnswer)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, object]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _build_operation(route)
    for operation in openapi_services.list_operations():
        paths.setdefault(operation.path, {})[operation.method] = openapi_services.build_operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "webemu", "version": "1", "description": DESCRIPTION},
        "tags": [{"name": NATIVE_TAG, "description": "docs/api.md"}, *openapi_services.list_tags()],
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _build_operation(route: DocumentedRoute) -> dict[str, object]:
    """Return the OpenAPI operation of one route."""
    content = _json_content(route.answer)
    if route.answer is FetchAnswer:  # with format=raw
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    operation: dict[str, object] = {
        "tags": [NATIVE_TAG],
        "summary": route.summary,
        "responses": {
            "201" if route.answer is OpenedSession else "200": {"description": "The answer", "content": content},
            "default": {"description": "The one error shape", "content": _json_content(ErrorAnswer)},
        },
    }
    if parameters := _build_parameters(route):
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _json_content(route.body)}
    return operation


def _build_parameters(route: DocumentedRoute) -> list[dict[str, object]]:
    """Return the OpenAPI parameters of one route: the one of its path, then those of its query."""
    of_path = {"name": "session", "in": "path", "required": True, "schema": _TEXT_SCHEMA}
    path_params = [{**of_path, "description": "Id of the session."}] if "{session}" in route.path else []
    return path_params + [
        {
            "name": param.name,
            "in": "query",
            "required": param.is_required,
            "schema": param.schema,
            "description": param.description,
        }
        for param in route.params
    ]


def _json_content(model: type[BaseModel]) -> dict[str, object]:
    """Return an OpenAPI content object that refers to the schema of a model."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def add_docs(app: FastAPI) -> None:
    """Add `/openapi.json` and `/docs` to the application."""
    openapi_document = build_document()
    app.openapi = lambda: openapi_document  # type: ignore[method-assign]
    static_files = StaticFiles(directory=str(files("fastapi_offline") / "static"))
    routes = [
        Route("/openapi.json", _show_document),
        Route("/docs", _show_docs),
        Route("/docs/try", _show_swagger),
        Mount("/docs/files", static_files),
    ]
    # A router of its own, since it redirects `/docs/` to `/docs`; the native API redirects nothing.
    app.mount("", Router(routes))


async def _show_document(request: Request) -> JSONResponse:
    """Answer `GET /openapi.json`."""
    app: FastAPI = request.app
    return JSONResponse(app.openapi())


async def _show_docs(request: Request) -> HTMLResponse:
    """Answer `GET /docs`."""
    app: FastAPI = request.app
    headers = {name.decode(): value.decode() for name, value in security_headers()}
    return HTMLResponse(render_reference(app.openapi()), headers=headers)


async def _show_swagger(_: Request) -> HTMLResponse:
    """Answer `GET /docs/try` with Swagger UI, in the colours of the reader's system."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="webemu",
        swagger_js_url="/docs/files/swagger-ui-bundle.js",
        swagger_css_url="/docs/files/swagger-ui.css",
        swagger_favicon_url="data:,",
    )
    body = bytes(page.body).decode()
    return HTMLResponse(body.replace("<html>", '<html lang="en">').replace("</head>", f"{_DARK_STYLE}</head>"))
