"""Serper (`google.serper.dev`): Google's results as JSON; and its scraper (`scrape.serper.dev`).

A request is a GET with `api_key`, a POST with a JSON object or an array of them, or a POST with a query string and no
body. Answer boxes and knowledge graphs are absent, because a crawl has none; lists of images, places and products are
empty.
"""

from __future__ import annotations

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    read_params,
)
from webemu.api.dialects.display import display_title, format_day
from webemu.api.dialects.search import MAX_RELATED, SearchParams, search_corrected
from webemu.api.dialects.tbs import parse_dates
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import inline_work, json_text, urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, PageRequest, Query
from webemu.emulator.world import World

MAX_RESULTS, MAX_BATCH = 100, 100
"""Most results of a search, and most searches of a batch."""
_RESULT_MEMBERS = {
    "search": "organic",
    "news": "news",
    "scholar": "organic",
    "images": "images",
    "videos": "videos",
    "places": "places",
    "maps": "places",
    "shopping": "shopping",
    "patents": "organic",
    "lens": "organic",
    "autocomplete": "suggestions",
}
"""Member that holds the results, by kind of search."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search`, `/news` and the other kinds; a list of requests gets the list of their responses."""
    kind = request.path.strip("/")
    if not request.body.lstrip().startswith(b"["):
        return build_response(_answer_one(world, request, kind, read_params(request)))
    batch = _read_batch(request)
    inline_work.require_short(Query("", size=MAX_RESULTS) for _ in batch)
    return build_response([_answer_one(world, request, kind, params) for params in batch])


def _read_batch(request: Request) -> list[dict[str, object]]:
    """Return the requests of a batch. Raises BadRequest if one is no object or there are too many."""
    try:
        batch = json_text.parse_json(request.body)
    except ValueError as error:
        raise BadRequest(f"the body is no JSON: {error}") from error
    if not isinstance(batch, list) or not all(isinstance(one, dict) for one in batch):
        raise BadRequest("the body is no list of JSON objects")
    if len(batch) > MAX_BATCH:
        raise BadRequest(f"Batch size exceeds {MAX_BATCH}")
    return list(batch)


def _answer_one(world: World, request: Request, kind: str, params: dict[str, object]) -> dict[str, object]:
    """Return the response to one search. Raises BadRequest if a parameter is wrong."""
    query, count, page = (
        get_text(params, "q"),
        get_number(params, "num", 10, 1, MAX_RESULTS),
        get_number(params, "page", 1, 1, 100),
    )
    if not query.strip():
        raise BadRequest("Missing query parameter", reason="missing-q")
    if (kind := get_text(params, "type", kind)) not in _RESULT_MEMBERS:
        raise BadRequest("Invalid search type", reason="bad-type")
    after, before = parse_dates(world, request, get_text(params, "tbs"))
    autocorrects = get_flag(params, "autocorrect", True)
    search_params = SearchParams(
        (page - 1) * count, count, after, before, published=kind == "news", keeps_spelling=not autocorrects
    )
    search_parameters: dict[str, object] = {
        "q": query,
        "gl": get_text(params, "gl", "us"),
        "hl": get_text(params, "hl", "en"),
        "num": count,
    }
    search_parameters |= {name: params[name] for name in ("location", "tbs") if params.get(name)}
    search_parameters |= {
        "autocorrect": autocorrects,
        "page": page,
        "type": kind,
        "engine": "google",
    }
    result_members = _find_results(world, request, kind, query, search_params)
    return {
        "searchParameters": search_parameters,
        _RESULT_MEMBERS[kind]: [],
        **result_members,
        "credits": 1 if count <= 10 else 2,
    }


def _find_results(
    world: World, request: Request, kind: str, query: str, search_params: SearchParams
) -> dict[str, object]:
    """Return the members with results and related searches; empty for a kind of which the crawl has none."""
    # Titles have no date, so that a session that sees the web of a past day gets no completions.
    if kind == "autocomplete" and request.session.at_time is None:
        return {_RESULT_MEMBERS[kind]: [{"value": one} for one in world.suggest(query, search_params.count)]}
    if (render := _RENDERERS.get(kind)) is None:
        return {}
    answer = search_corrected(world, query, search_params, request.session.at_time)
    rows = [render(hit, rank) for rank, hit in enumerate(answer.hits, search_params.offset + 1)]
    result_members: dict[str, object] = {_RESULT_MEMBERS[kind]: rows}
    if answer.corrected_text:
        result_members["searchInformation"] = {"didYouMean": answer.corrected_text}
    related_queries = world.related_queries(query, answer.hits, MAX_RELATED) if kind == "search" else []
    return result_members | (
        {"relatedSearches": [{"query": related_query} for related_query in related_queries]} if related_queries else {}
    )


def _render_result(hit: Hit, position: int) -> dict[str, object]:
    row = {"title": display_title(hit), "link": hit.url, "snippet": hit.snippet, "date": format_day(hit)}
    return {**row, "position": position}


def _render_article(hit: Hit, position: int) -> dict[str, object]:
    row = {"title": display_title(hit), "link": hit.url, "snippet": hit.snippet, "date": format_day(hit)}
    return {**row, "source": urls.split_domain(urls.host_of(hit.url))[0], "position": position}


def _render_paper(hit: Hit, position: int) -> dict[str, object]:
    row: dict[str, object] = {
        "title": display_title(hit),
        "link": hit.url,
        "snippet": hit.snippet,
        "year": int(hit.date[:4]),
    }
    return row | ({"pdfUrl": hit.url} if hit.url.lower().endswith(".pdf") else {})


_RENDERERS = {"search": _render_result, "news": _render_article, "scholar": _render_paper}
"""Functions that render a result, by kind of search; the other kinds have no results."""


def answer_scrape(world: World, request: Request) -> Response:
    """Answer `/scrape` with a page's text, and its markdown if asked for."""
    params = read_params(request)
    if not (url := get_text(params, "url")):
        raise BadRequest("Missing url parameter", reason="missing-url")
    page = world.fetch(PageRequest(url, "text", at_time=request.session.at_time))
    payload: dict[str, object] = {"text": page.content}
    if get_flag(params, "includeMarkdown"):
        payload["markdown"] = world.fetch(PageRequest(url, "markdown", at_time=request.session.at_time)).content
    return build_response({**payload, "metadata": {"title": page.title}, "credits": 2})


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"message", "statusCode"}`; a bad key is 403, used-up credits are 400."""
    status = {"bad-key": 403, "out-of-budget": 400}.get(error.reason, error.status)
    messages = {
        "bad-key": "Unauthorized.",
        "rate-limited": "Rate limit exceeded",
        "out-of-budget": "Not enough credits",
    }
    return build_response({"message": messages.get(error.reason, error.message), "statusCode": status}, status)


def _read_key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    return get_header(request, b"x-api-key") or dict(request.parameters).get("api_key", "")


def _is_meant_at_root(request: Request) -> bool:
    """True for Serper's paths and header with a `q`. Exa has the same header, but calls its query `query`."""
    is_serper_request = request.path.strip("/") in _RESULT_MEMBERS and b"x-api-key" in request.headers
    return is_serper_request and (b'"q"' in request.body or "q" in dict(request.parameters))


DIALECT = Dialect(
    "serper",
    "Serper",
    ("google.serper.dev", "scrape.serper.dev"),
    (
        Route(("GET", "POST"), f"/({'|'.join(_RESULT_MEMBERS)})", answer_search, True),
        Route(("POST",), "/(scrape)?", answer_scrape),
    ),
    _read_key,
    render_error,
    "by name through the proxy; `SERPER_BASE_URL=http://127.0.0.1:8800/serper` where a client has one",
    ("smolagents", "http.client", "requests"),
    is_meant_at_root=_is_meant_at_root,
)
