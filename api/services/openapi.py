"""The API's documentation: an OpenAPI 3.1 document and the page `/docs`, which loads nothing from anywhere else.

The models here describe answers; no answer is ever rendered by them (`webemu.api.services.native` does that).
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from webemu.api.http.text_range import LENGTH, LINES
from webemu.api.services import native
from webemu.api.sessions.models import SessionAccount, SessionAsk, SessionMade
from webemu.emulator.types import VIEWS

DESCRIPTION = """The web, emulated from a crawl. Every answer names the snapshot it was made from; the same snapshot and
the same request give the same bytes. Times are UTC: RFC 3339, `YYYY[-MM[-DD]]`, or a prefix of `YYYYMMDDhhmmss`."""


class Result(BaseModel):
    rank: int
    """From 1, counted over all pages of results."""
    url: str
    title: str
    snippet: str
    date: str = Field(examples=["2024-11-30"], description="Day it was published, else fetched.")
    score: float
    others: list[str] = Field([], description="Pages that say the same and were left out for it; absent if none.")
    explain: dict[str, float] = Field({}, description="The signals that ranked it, where that was asked.")


class SearchAnswer(BaseModel):
    query: str
    page: int
    size: int
    as_of: str | None
    snapshot: str
    results: list[Result]
    more: bool = Field(description="Whether the next page of results holds any.")


class Failure(BaseModel):
    status: int
    reason: str = Field(examples=["url-not-captured"], description="Stable name to test for.")
    message: str
    action: str = Field(description="What to do next.")


class MemberError(BaseModel):
    error: Failure


class ErrorAnswer(MemberError):
    snapshot: str | None


class SearchAsk(BaseModel):
    q: str
    page: int = Field(1, ge=1)
    size: int = Field(native.SIZE, ge=1, le=native.MAX_SIZE)
    as_of: str | None = None
    engine: str = ""
    explain: bool = False


class SearchBatch(BaseModel):
    queries: list[str | SearchAsk] = Field(max_length=native.MAX_QUERIES, examples=[["river port", {"q": "mayor"}]])
    page: int = Field(1, ge=1, description="For every query that says no other.")
    size: int = Field(native.SIZE, ge=1, le=native.MAX_SIZE, description="For every query that says no other.")
    as_of: str | None = Field(None, description="For every query that says no other.")
    engine: str = Field("", description="For every query that says no other.")
    explain: bool = Field(False, description="For every query that says no other.")


class SearchAnswers(BaseModel):
    snapshot: str
    answers: list[SearchAnswer | MemberError] = Field(description="One for each query, in the order asked.")


class FetchAnswer(BaseModel):
    url: str = Field(description="As asked.")
    final_url: str = Field(description="Of the capture that answers.")
    redirects: list[str] = Field(description="URLs that redirected on the way.")
    status: int = Field(description="As recorded.")
    fetched: str = Field(examples=["2024-11-30T12:00:00Z"])
    mime: str
    truncated: str = Field(description="The crawl's reason, else empty.")
    title: str
    format: str
    start: int
    length: int = Field(description="Characters in `content`.")
    total: int = Field(description="Characters of the whole content.")
    line: int = Field(description="Line that `content` begins in, from 0.")
    next: int | None = Field(description="`start` of the rest; null at the end.")
    next_line: int | None = Field(description="Line that the rest begins in; null at the end.")
    content: str
    snapshot: str


class FetchAsk(BaseModel):
    url: str
    at: str | None = None


class FetchBatch(BaseModel):
    urls: list[str | FetchAsk] = Field(max_length=native.MAX_URLS)
    format: str = Field("text", examples=list(VIEWS[:-1]))
    length: int = Field(LENGTH, ge=1, le=native.MAX_LENGTH, description="Characters of each page.")
    at: str | None = Field(None, description="For every URL that says no other.")
    follow: int = Field(1, ge=0, le=1)


class FetchAnswers(BaseModel):
    snapshot: str
    answers: list[FetchAnswer | MemberError] = Field(description="One for each URL, in the order asked.")


class Place(BaseModel):
    start: int = Field(description="`start` for /v1/fetch.")
    line: int = Field(description="`line` for /v1/fetch.")
    text: str = Field(description="What surrounds it.")


class FindAnswer(BaseModel):
    url: str
    final_url: str
    pattern: str
    total: int = Field(description="How often it occurs, shown or not.")
    matches: list[Place]
    snapshot: str


class Health(BaseModel):
    status: str
    snapshot: str


class Spent(BaseModel):
    sum: float
    buckets: list[int] = Field(description="Requests by time; the bounds are those of /metrics.")


class Process(BaseModel):
    pid: int
    uptime_seconds: float
    cpu_seconds: float
    resident_bytes: int
    requests: dict[str, dict[str, int]] = Field(description="By place and status.")
    seconds: dict[str, Spent] = Field(description="By place.")
    dropped_headers: dict[str, int] = Field(description="Recorded headers that were left out, by reason.")
    cache: dict[str, int]
    pool: dict[str, int]
    traces: dict[str, int] = Field(description="Rows of sessions' traces: taken, and lost.")
    reader: str = Field(description="What reads result records: compiled, or python, which is slower.")


class Stats(BaseModel):
    collection: str
    snapshot: str
    documents: int = Field(description="Pages that can be found.")
    pages: int = Field(description="Pages with text.")
    captures: int
    urls: int
    hosts: int
    sources: int
    process: Process = Field(description="Of the one process that answered.")


_MODELS = (SearchAnswer, SearchBatch, SearchAnswers, FetchAnswer, FetchBatch, FetchAnswers, FindAnswer, Health, Stats)
_SESSIONS = (SessionAsk, SessionMade, SessionAccount)
_TIME = {"type": "string", "examples": ["2024-11-30"]}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean", "default": False}
_URL = {"type": "string", "format": "uri", "examples": ["https://example.org/"]}


def _number(default: int, least: int, most: int | None = None) -> dict[str, object]:
    bounds: dict[str, object] = {"type": "integer", "default": default, "minimum": least}
    return bounds if most is None else {**bounds, "maximum": most}


_SEARCH = (
    ("q", {"type": "string", "examples": ["river port"]}, "The query. Operators: docs/api.md."),
    ("page", _number(1, 1), "Page of results."),
    ("size", _number(native.SIZE, 1, native.MAX_SIZE), "Results per page."),
    ("as_of", _TIME, "Only what the crawl had captured by then exists."),
    ("engine", _TEXT, "Way of searching: full, plain, weak, and with vectors dense, hybrid, rerank."),
    ("explain", _FLAG, "Whether each result says what ranked it."),
)
_FETCH = (
    ("url", _URL, "The page."),
    ("format", {"type": "string", "enum": list(VIEWS), "default": "text"}, "`raw`: the payload as recorded."),
    ("at", _TIME, "The capture nearest to this time; else the latest successful one."),
    ("start", _number(0, 0), "First character."),
    ("length", _number(LENGTH, 0), "Characters; 0: all that follow."),
    ("line", _number(0, 0), "First line; instead of start and length."),
    ("lines", _number(LINES, 0), "Lines; 0: all that follow."),
    ("follow", _number(1, 0, 1), "0: answer a captured redirect itself, as `raw` does unless told."),
)
_FIND = (
    ("url", _URL, "The page."),
    ("pattern", _TEXT, "Plain text, case-insensitive."),
    ("at", _TIME, "The capture nearest to this time; else the latest successful one."),
    ("limit", _number(native.MATCHES, 1, native.MAX_MATCHES), "Places shown."),
)
_SHOW = (
    ("from", _number(1, 1), "First step."),
    ("limit", _number(10_000, 1, 10_000), "Steps."),
)
_ROUTES: tuple[tuple[str, str, str, tuple[Any, ...], type[BaseModel] | None, type[BaseModel]], ...] = (
    ("/v1/search", "get", "Search", _SEARCH, None, SearchAnswer),
    ("/v1/search", "post", "Search for many queries at once", (), SearchBatch, SearchAnswers),
    ("/v1/fetch", "get", "Open a page", _FETCH, None, FetchAnswer),
    ("/v1/fetch", "post", "Open many pages at once", (), FetchBatch, FetchAnswers),
    ("/v1/find", "get", "Find a text in a page", _FIND, None, FindAnswer),
    ("/v1/sessions", "post", "Open a session with a policy", (), SessionAsk, SessionMade),
    ("/v1/sessions/{session}", "get", "What a session did", _SHOW, None, SessionAccount),
    ("/v1/stats", "get", "What is served, and what this process did so far", (), None, Stats),
    ("/health", "get", "Whether there is a snapshot to serve", (), None, Health),
)
_REQUIRED = ("q", "url", "pattern")


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    _, schemas = models_json_schema(
        [(model, "serialization") for model in (*_MODELS, *_SESSIONS, ErrorAnswer)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for path, method, summary, parameters, body, answer in _ROUTES:
        paths.setdefault(path, {})[method] = _operation(path, summary, parameters, body, answer)
    raw = {"schema": {"type": "string", "format": "binary"}}
    paths["/v1/fetch"]["get"]["responses"]["200"]["content"]["application/octet-stream"] = raw
    return {
        "openapi": "3.1.0",
        "info": {"title": "webemu", "version": "1", "description": DESCRIPTION},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _operation(
    path: str, summary: str, parameters: tuple[Any, ...], body: type[BaseModel] | None, answer: type[BaseModel]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "201" if answer is SessionMade else "200": {"description": "The answer", "content": _json(answer)},
            "default": {"description": "The one error shape", "content": _json(ErrorAnswer)},
        },
    }
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "query", "required": name in _REQUIRED, "schema": schema, "description": text}
            for name, schema, text in parameters
        ]
    if "{session}" in path:
        named = {"name": "session", "in": "path", "required": True, "schema": _TEXT, "description": "Its id."}
        operation["parameters"] = [named, *operation["parameters"]]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def add_docs(app: FastAPI) -> None:
    """Give the app `/openapi.json` and `/docs`."""
    described = document()
    app.openapi = lambda: described  # type: ignore[method-assign]
    app.mount("/docs/files", StaticFiles(directory=str(files("fastapi_offline") / "static")))

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title="webemu",
            swagger_js_url="/docs/files/swagger-ui-bundle.js",
            swagger_css_url="/docs/files/swagger-ui.css",
            swagger_favicon_url="data:,",
        )
