"""Google's Custom Search (`customsearch.googleapis.com`): ten results per request, a hundred in total, for any `cx`."""

from __future__ import annotations

import re
from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, fields, header, number, reply, text
from webemu.api.dialects.display import marked, title
from webemu.api.dialects.search import Wanted, known, search, since
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

LAST = 100
"""Rank of the last result that is served."""
_TEMPLATE = (
    "https://www.googleapis.com/customsearch/v1?q={searchTerms}&num={count?}&start={startIndex?}&lr={language?}"
    "&safe={safe?}&cx={cx?}&sort={sort?}&filter={filter?}&gl={gl?}&cr={cr?}&googlehost={googleHost?}"
    "&c2coff={disableCnTwTranslation?}&hq={hq?}&hl={hl?}&siteSearch={siteSearch?}&siteSearchFilter={siteSearchFilter?}"
    "&exactTerms={exactTerms?}&excludeTerms={excludeTerms?}&linkSite={linkSite?}&orTerms={orTerms?}"
    "&dateRestrict={dateRestrict?}&lowRange={lowRange?}&highRange={highRange?}&searchType={searchType}"
    "&fileType={fileType?}&rights={rights?}&imgSize={imgSize?}&imgType={imgType?}&imgColorType={imgColorType?}"
    "&imgDominantColor={imgDominantColor?}&alt=json"
)
"""URL template of the API, which is part of every response."""
_ECHOED = ("dateRestrict", "exactTerms", "excludeTerms", "fileType", "siteSearch", "siteSearchFilter", "gl", "hl", "lr")
"""Parameters that a response repeats."""
_AGE = re.compile(r"([dwmy])(\d{0,3})")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
"""Days of the units of `dateRestrict`."""
_INVALID = "Request contains an invalid argument."


def results(world: World, request: Request) -> Reply:
    """Answer `/customsearch/v1`. Without results there is no `items` member."""
    asked = fields(request)
    query = " ".join(filter(None, (text(asked, name) for name in ("q", "hq", "orTerms"))))
    if not query.strip() or not text(asked, "cx"):
        raise BadRequest(_INVALID, reason="missing-cx" if query.strip() else "missing-q")
    wanted = _wanted(world, request, asked)
    is_image = text(asked, "searchType") == "image"
    hits, more = ((), False) if is_image else search(world, query, wanted, request.session.at)
    # The total counts a result beyond the last rank, but no page after it is offered.
    total, more = known(wanted, len(hits), more), more and wanted.offset + wanted.count < LAST
    return reply(
        {
            "kind": "customsearch#search",
            "url": {"type": "application/json", "template": _TEMPLATE},
            "queries": _queries(asked, wanted, total, more, len(hits)),
            "context": {"title": "Google"},
            "searchInformation": _information(total),
        }
        | ({"items": [_item(world, hit, query) for hit in hits]} if hits else {})
    )


def _wanted(world: World, request: Request, asked: dict[str, Any]) -> Wanted:
    """Return filters and paging from the parameters. Raises BadRequest if they reach beyond the last rank."""
    count, start = number(asked, "num", 10, 1, 10), number(asked, "start", 1, 0, 1000)
    if start < 1 or start + count > LAST + 1:  # the service refuses this instead of clamping
        raise BadRequest(_INVALID, reason="bad-start")
    sites = tuple(filter(None, [text(asked, "siteSearch")]))
    is_out = text(asked, "siteSearchFilter") == "e"
    age = _AGE.fullmatch(text(asked, "dateRestrict"))
    return Wanted(
        start - 1,
        count,
        after=since(world, _DAYS[age[1]] * int(age[2] or 1), request.session.at) if age else None,
        sites=() if is_out else sites,
        without_sites=sites if is_out else (),
        types=tuple(filter(None, [text(asked, "fileType")])),
        words=tuple(filter(None, [text(asked, "exactTerms")])),
        without_words=tuple(filter(None, [text(asked, "excludeTerms")])),
    )


def _queries(asked: dict[str, Any], wanted: Wanted, total: int, more: bool, shown: int) -> dict[str, Any]:
    """Return the description of this page of results and of those before and after it."""
    said: dict[str, Any] = {"title": f"Google Custom Search - {text(asked, 'q')}", "totalResults": str(total)}
    said |= {"searchTerms": text(asked, "q"), "count": shown, "startIndex": wanted.offset + 1}
    said |= {"inputEncoding": "utf8", "outputEncoding": "utf8", "safe": text(asked, "safe", "off")}
    said |= {"cx": text(asked, "cx")} | {name: asked[name] for name in _ECHOED if asked.get(name)}
    told = {"request": [said]}
    if wanted.offset:
        start = max(1, wanted.offset - wanted.count + 1)
        told["previousPage"] = [{**said, "count": wanted.count, "startIndex": start}]
    if more:
        told["nextPage"] = [{**said, "count": wanted.count, "startIndex": wanted.offset + wanted.count + 1}]
    return told


def _information(total: int) -> dict[str, Any]:
    told = {"searchTime": 0.0, "formattedSearchTime": "0.00"}
    return {**told, "totalResults": str(total), "formattedTotalResults": f"{total:,}"}


def _item(world: World, hit: Hit, query: str) -> dict[str, Any]:
    return {
        "kind": "customsearch#result",
        "title": title(hit),
        "htmlTitle": marked(world, title(hit), query),
        "link": hit.url,
        "displayLink": urls.host(hit.url),
        "snippet": hit.snippet,
        "htmlSnippet": marked(world, hit.snippet, query),
        "formattedUrl": hit.url,
        "htmlFormattedUrl": marked(world, hit.url, query),
    }


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error in Google's own shape (`google.rpc.Status`); a bad key is 400."""
    kind, by_status = _KINDS.get(error.reason), _STATUSES.get(error.status, ("backendError", "INTERNAL"))
    status, reason, name, message = kind or (error.status, *by_status, error.message)
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return reply({"error": {"code": status, "message": message, "errors": errors, "status": name}}, status)


_QUOTA = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of the service"
_KINDS = {
    "bad-key": (400, "badRequest", "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "rate-limited": (429, "rateLimitExceeded", "RESOURCE_EXHAUSTED", _QUOTA),
    "out-of-budget": (403, "dailyLimitExceeded", "PERMISSION_DENIED", "Daily Limit Exceeded"),
}
"""Status, reason, status name and message by reason of the error."""
_STATUSES = {
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
    (Route(("GET",), "/customsearch/v1(/siterestrict)?", results, True),),
    lambda request: dict(request.parameters).get("key", "") or header(request, b"x-goog-api-key"),
    refuse,
    '`build("customsearch", "v1", …, client_options={"api_endpoint": "http://127.0.0.1:8800/google/"})`, or by name'
    " through the proxy",
    ("google-api-python-client",),
)
