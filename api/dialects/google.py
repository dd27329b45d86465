"""Google's Custom Search (`customsearch.googleapis.com`): ten results per request, a hundred in total, for any `cx`."""

from __future__ import annotations

import html
import re

from webemu.api.dialects.dialect import Dialect, Route, build_response, get_header, get_number, get_text, read_params
from webemu.api.dialects.display import display_title, highlight_html
from webemu.api.dialects.search import (
    NO_ANSWER,
    SearchAnswer,
    SearchParams,
    date_days_ago,
    estimate_total,
    search_corrected,
)
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.spelling import apply_corrections
from webemu.emulator.types import Correction, Hit
from webemu.emulator.world import World

MAX_RANK = 100
"""Rank of the last result that is served."""
_URL_TEMPLATE = (
    "https://www.googleapis.com/customsearch/v1?q={searchTerms}&num={count?}&start={startIndex?}&lr={language?}"
    "&safe={safe?}&cx={cx?}&sort={sort?}&filter={filter?}&gl={gl?}&cr={cr?}&googlehost={googleHost?}"
    "&c2coff={disableCnTwTranslation?}&hq={hq?}&hl={hl?}&siteSearch={siteSearch?}&siteSearchFilter={siteSearchFilter?}"
    "&exactTerms={exactTerms?}&excludeTerms={excludeTerms?}&linkSite={linkSite?}&orTerms={orTerms?}"
    "&dateRestrict={dateRestrict?}&lowRange={lowRange?}&highRange={highRange?}&searchType={searchType}"
    "&fileType={fileType?}&rights={rights?}&imgSize={imgSize?}&imgType={imgType?}&imgColorType={imgColorType?}"
    "&imgDominantColor={imgDominantColor?}&alt=json"
)
"""URL template of the API, which is part of every response."""
_ECHOED_PARAMS = (
    "dateRestrict",
    "exactTerms",
    "excludeTerms",
    "fileType",
    "siteSearch",
    "siteSearchFilter",
    "gl",
    "hl",
    "lr",
)
"""Parameters that a response repeats."""
_AGE = re.compile(r"([dwmy])(\d{0,3})")
_DAYS_OF_UNIT = {"d": 1, "w": 7, "m": 30, "y": 365}
"""Days of the units of `dateRestrict`."""
_INVALID_ARGUMENT = "Request contains an invalid argument."


def answer_search(world: World, request: Request) -> Response:
    """Answer `/customsearch/v1`. Without results there is no `items` member."""
    params = read_params(request)
    query = " ".join(filter(None, (get_text(params, name) for name in ("q", "hq", "orTerms"))))
    if not query.strip() or not get_text(params, "cx"):
        raise BadRequest(_INVALID_ARGUMENT, reason="missing-cx" if query.strip() else "missing-q")
    search_params = _read_search_params(world, request, params)
    is_image = get_text(params, "searchType") == "image"
    at_time = request.session.at_time
    answer = NO_ANSWER if is_image else search_corrected(world, query, search_params, at_time)
    hits, has_more = answer.hits, answer.has_more
    # The total counts a result beyond the last rank, but no page after it is offered.
    total, has_more = (
        estimate_total(search_params, len(hits), has_more),
        has_more and search_params.offset + search_params.count < MAX_RANK,
    )
    return build_response(
        {
            "kind": "customsearch#search",
            "url": {"type": "application/json", "template": _URL_TEMPLATE},
            "queries": _render_queries(params, search_params, total, has_more, len(hits)),
            "context": {"title": "Google"},
            "searchInformation": _render_information(total),
        }
        | _render_spelling(query, answer)
        | ({"items": [_render_result(world, hit, query) for hit in hits]} if hits else {})
    )


def _read_search_params(world: World, request: Request, params: dict[str, object]) -> SearchParams:
    """Return filters and paging from the parameters. Raises BadRequest if they reach beyond the last rank."""
    count, start = get_number(params, "num", 10, 1, 10), get_number(params, "start", 1, 0, 1000)
    if start < 1 or start + count > MAX_RANK + 1:  # the service refuses this instead of clamping
        raise BadRequest(_INVALID_ARGUMENT, reason="bad-start")
    sites = tuple(filter(None, [get_text(params, "siteSearch")]))
    is_excluded = get_text(params, "siteSearchFilter") == "e"
    age = _AGE.fullmatch(get_text(params, "dateRestrict"))
    return SearchParams(
        start - 1,
        count,
        after=date_days_ago(world, _DAYS_OF_UNIT[age[1]] * int(age[2] or 1), request.session.at_time) if age else None,
        sites=() if is_excluded else sites,
        excluded_sites=sites if is_excluded else (),
        file_types=tuple(filter(None, [get_text(params, "fileType")])),
        required_phrases=tuple(filter(None, [get_text(params, "exactTerms")])),
        excluded_phrases=tuple(filter(None, [get_text(params, "excludeTerms")])),
    )


def _render_queries(
    params: dict[str, object], search_params: SearchParams, total: int, has_more: bool, hit_count: int
) -> dict[str, object]:
    """Return the description of this page of results and of those before and after it."""
    page_query: dict[str, object] = {
        "title": f"Google Custom Search - {get_text(params, 'q')}",
        "totalResults": str(total),
    }
    page_query |= {"searchTerms": get_text(params, "q"), "count": hit_count, "startIndex": search_params.offset + 1}
    page_query |= {"inputEncoding": "utf8", "outputEncoding": "utf8", "safe": get_text(params, "safe", "off")}
    page_query |= {"cx": get_text(params, "cx")} | {name: params[name] for name in _ECHOED_PARAMS if params.get(name)}
    queries_payload: dict[str, object] = {"request": [page_query]}
    if search_params.offset:
        start = max(1, search_params.offset - search_params.count + 1)
        queries_payload["previousPage"] = [{**page_query, "count": search_params.count, "startIndex": start}]
    if has_more:
        queries_payload["nextPage"] = [
            {**page_query, "count": search_params.count, "startIndex": search_params.offset + search_params.count + 1}
        ]
    return queries_payload


def _render_spelling(query: str, answer: SearchAnswer) -> dict[str, object]:
    """Return the member with the corrected query, whose changed words are emphasised; empty if nothing changed."""
    if not answer.corrected_text:
        return {}
    emphasised = (Correction(one.typed, f"<b><i>{html.escape(one.replacement)}</i></b>") for one in answer.corrections)
    html_text = apply_corrections(html.escape(query, quote=False), emphasised)
    return {"spelling": {"correctedQuery": answer.corrected_text, "htmlCorrectedQuery": html_text}}


def _render_information(total: int) -> dict[str, object]:
    payload = {"searchTime": 0.0, "formattedSearchTime": "0.00"}
    return {**payload, "totalResults": str(total), "formattedTotalResults": f"{total:,}"}


def _render_result(world: World, hit: Hit, query: str) -> dict[str, object]:
    return {
        "kind": "customsearch#result",
        "title": display_title(hit),
        "htmlTitle": highlight_html(world, display_title(hit), query),
        "link": hit.url,
        "displayLink": urls.host_of(hit.url),
        "snippet": hit.snippet,
        "htmlSnippet": highlight_html(world, hit.snippet, query),
        "formattedUrl": hit.url,
        "htmlFormattedUrl": highlight_html(world, hit.url, query),
        # Clients drop results without this member. The page's declarations would have to be read out of the page.
        "pagemap": {"metatags": [{}]},
    }


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error in Google's own shape (`google.rpc.Status`); a bad key is 400."""
    known_error, by_status = (
        _ERRORS.get(error.reason),
        _ERRORS_BY_STATUS.get(error.status, ("backendError", "INTERNAL")),
    )
    status, reason, name, message = known_error or (error.status, *by_status, error.message)
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return build_response({"error": {"code": status, "message": message, "errors": errors, "status": name}}, status)


_QUOTA_EXCEEDED = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of the service"
_ERRORS = {
    "bad-key": (400, "badRequest", "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "rate-limited": (429, "rateLimitExceeded", "RESOURCE_EXHAUSTED", _QUOTA_EXCEEDED),
    "out-of-budget": (403, "dailyLimitExceeded", "PERMISSION_DENIED", "Daily Limit Exceeded"),
}
"""Status, reason, status name and message by reason of the error."""
_ERRORS_BY_STATUS = {
    400: ("badRequest", "INVALID_ARGUMENT"),
    404: ("notFound", "NOT_FOUND"),
    405: ("httpMethodNotAllowed", "UNIMPLEMENTED"),
    429: ("rateLimitExceeded", "RESOURCE_EXHAUSTED"),
    503: ("backendError", "UNAVAILABLE"),
}
"""Reason and status name by HTTP status."""


DIALECT = Dialect(
    "google",
    "Google Custom Search",
    ("www.googleapis.com", "customsearch.googleapis.com"),
    (Route(("GET",), "/customsearch/v1(/siterestrict)?", answer_search, True),),
    lambda request: dict(request.parameters).get("key", "") or get_header(request, b"x-goog-api-key"),
    render_error,
    '`build("customsearch", "v1", …, client_options={"api_endpoint": "http://127.0.0.1:8800/google/"})`, or by name'
    " through the proxy",
    ("google-api-python-client",),
)
