"""Documentation of the API: an OpenAPI 3.1 document, and the page `/docs`, which loads nothing from other hosts.

The models here only describe responses. No response is rendered by them: `webemu.api.services.native` does that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from webemu.api.http.text_range import DEFAULT_LENGTH, DEFAULT_LINES
from webemu.api.services import native
from webemu.api.sessions.models import OpenedSession, SessionPolicy, SessionReport
from webemu.emulator.types import SNIPPET_STYLES, VIEWS, SnippetStyle

DESCRIPTION = """The web, emulated from a crawl. Every answer names the snapshot it was made from; the same snapshot and
the same request give the same bytes. Times are UTC: RFC 3339, `YYYY[-MM[-DD]]`, or a prefix of `YYYYMMDDhhmmss`."""
"""Introduction shown at the top of `/docs`."""


class Result(BaseModel):
    """One search result."""

    rank: int
    """Rank from 1, counted over all pages of results."""
    url: str
    title: str
    snippet: str
    date: str = Field(examples=["2024-11-30"], description="Day of publication if known, else of the fetch.")
    score: float
    others: list[str] = Field([], description="URLs of near-duplicates that this result replaces; absent if none.")
    explain: dict[str, float] = Field({}, description="Ranking signals, if `explain` is true.")


class SearchAnswer(BaseModel):
    """Response of `GET /v1/search`."""

    query: str
    page: int
    size: int
    as_of: str | None
    snapshot: str
    results: list[Result]
    more: bool = Field(description="True if there is a next page of results.")
    relaxed: list[str] = Field(
        [], description="Phrases and `+words` that few pages have, so that the last results lack them; absent if none."
    )


class Failure(BaseModel):
    """Member `error` of an error response."""

    status: int
    reason: str = Field(examples=["url-not-captured"], description="Stable identifier to test for.")
    message: str
    action: str = Field(description="What to do next.")


class MemberError(BaseModel):
    """Member of a batch that failed."""

    error: Failure


class ErrorAnswer(MemberError):
    """Error response of any route."""

    snapshot: str | None


class QueryItem(BaseModel):
    """One query of a batch, with its own parameters."""

    q: str
    page: int = Field(1, ge=1)
    size: int = Field(native.DEFAULT_SIZE, ge=1, le=native.MAX_SIZE)
    as_of: str | None = None
    engine: str = ""
    explain: bool = False
    strict: bool = False
    snippet: SnippetStyle = native.DEFAULT_SNIPPET


class SearchBatch(BaseModel):
    """Body of `POST /v1/search`."""

    queries: list[str | QueryItem] = Field(max_length=native.MAX_QUERIES, examples=[["river port", {"q": "mayor"}]])
    page: int = Field(1, ge=1, description="Default for queries that do not set it.")
    size: int = Field(
        native.DEFAULT_SIZE, ge=1, le=native.MAX_SIZE, description="Default for queries that do not set it."
    )
    as_of: str | None = Field(None, description="Default for queries that do not set it.")
    engine: str = Field("", description="Default for queries that do not set it.")
    explain: bool = Field(False, description="Default for queries that do not set it.")
    strict: bool = Field(False, description="Default for queries that do not set it.")
    snippet: SnippetStyle = Field(native.DEFAULT_SNIPPET, description="Default for queries that do not set it.")


class SearchAnswers(BaseModel):
    """Response of `POST /v1/search`."""

    snapshot: str
    answers: list[SearchAnswer | MemberError] = Field(description="One for each query, in the order asked.")


class FetchAnswer(BaseModel):
    """Response of `GET /v1/fetch`, except for `format=raw`."""

    url: str = Field(description="URL as requested.")
    final_url: str = Field(description="URL of the capture that is shown.")
    redirects: list[str] = Field(description="URLs that redirected on the way to it.")
    status: int = Field(description="HTTP status as recorded.")
    fetched: str = Field(examples=["2024-11-30T12:00:00Z"])
    mime: str
    truncated: str = Field(description="The crawl's reason for truncating the payload; empty if complete.")
    title: str
    format: str
    start: int
    length: int = Field(description="Characters in `content`.")
    total: int = Field(description="Characters of the whole content.")
    line: int = Field(description="Line in which `content` begins, from 0.")
    next: int | None = Field(description="`start` of the rest; null at the end.")
    next_line: int | None = Field(description="Line in which the rest begins; null at the end.")
    content: str
    snapshot: str


class UrlItem(BaseModel):
    """One page of a batch."""

    url: str
    at: str | None = None


class FetchBatch(BaseModel):
    """Body of `POST /v1/fetch`."""

    urls: list[str | UrlItem] = Field(max_length=native.MAX_URLS)
    format: str = Field("text", examples=list(VIEWS[:-1]))
    length: int = Field(DEFAULT_LENGTH, ge=1, le=native.MAX_BATCH_LENGTH, description="Characters of each page.")
    at: str | None = Field(None, description="Default for URLs that do not set it.")
    follow: int = Field(1, ge=0, le=1)


class FetchAnswers(BaseModel):
    """Response of `POST /v1/fetch`."""

    snapshot: str
    answers: list[FetchAnswer | MemberError] = Field(description="One for each URL, in the order asked.")


class TextMatch(BaseModel):
    """One place where the text was found."""

    start: int = Field(description="Character offset, for `start` of /v1/fetch.")
    line: int = Field(description="Line from 0, for `line` of /v1/fetch.")
    text: str = Field(description="Text around the match.")


class FindAnswer(BaseModel):
    """Response of `GET /v1/find`."""

    url: str
    final_url: str
    pattern: str
    total: int = Field(description="Number of matches, shown or not.")
    matches: list[TextMatch]
    snapshot: str


class Health(BaseModel):
    """Response of `GET /health`."""

    status: str
    snapshot: str


class Durations(BaseModel):
    """Durations of the requests of one route, in seconds."""

    sum: float
    buckets: list[int] = Field(description="Requests per bucket; the bounds are those of /metrics.")


class Process(BaseModel):
    """Figures of one serving process."""

    pid: int
    uptime_seconds: float
    cpu_seconds: float
    resident_bytes: int
    requests: dict[str, dict[str, int]] = Field(description="Number of requests by route and status.")
    seconds: dict[str, Durations] = Field(description="Durations by route.")
    dropped_headers: dict[str, int] = Field(description="Recorded headers that were left out, by reason.")
    cache: dict[str, int]
    pool: dict[str, int]
    traces: dict[str, int] = Field(description="Trace rows of sessions: taken, and lost.")
    reader: str = Field(description="Reader of result records: compiled, or python, which is slower.")


class Stats(BaseModel):
    """Response of `GET /v1/stats`."""

    collection: str
    snapshot: str
    documents: int = Field(description="Pages in the search index.")
    pages: int = Field(description="Pages with text.")
    captures: int
    urls: int
    hosts: int
    sources: int
    process: Process = Field(description="Figures of the one process that answered.")


_API_MODELS = (
    SearchAnswer,
    SearchBatch,
    SearchAnswers,
    FetchAnswer,
    FetchBatch,
    FetchAnswers,
    FindAnswer,
    Health,
    Stats,
)
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
        [(model, "serialization") for model in (*_API_MODELS, *_SESSION_MODELS, ErrorAnswer)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, object]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _build_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "webemu", "version": "1", "description": DESCRIPTION},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _build_operation(route: DocumentedRoute) -> dict[str, object]:
    """Return the OpenAPI operation of one route."""
    content = _json_content(route.answer)
    if route.answer is FetchAnswer:  # with format=raw
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    operation: dict[str, object] = {
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
    routes = [Route("/openapi.json", _show_document), Route("/docs", _show_docs), Mount("/docs/files", static_files)]
    # A router of its own, since it redirects `/docs/` to `/docs`; the native API redirects nothing.
    app.mount("", Router(routes))


async def _show_document(request: Request) -> JSONResponse:
    """Answer `GET /openapi.json`."""
    app: FastAPI = request.app
    return JSONResponse(app.openapi())


async def _show_docs(_: Request) -> HTMLResponse:
    """Answer `GET /docs`."""
    return get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="webemu",
        swagger_js_url="/docs/files/swagger-ui-bundle.js",
        swagger_css_url="/docs/files/swagger-ui.css",
        swagger_favicon_url="data:,",
    )
