"""OpenAPI models of the native API, for the documentation only. No response is rendered by them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from webemu.api.http.text_range import DEFAULT_LENGTH
from webemu.api.services import native
from webemu.emulator.snippet_style import SnippetStyle
from webemu.emulator.types import VIEWS


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
    corrected: dict[str, str] = Field(
        {}, description="Misspelled words and those that were searched for instead; absent if none."
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


API_MODELS = (
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
"""All models."""
