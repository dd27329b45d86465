"""Zhipu's web search (`open.bigmodel.cn`, and `api.z.ai` abroad): results of engines for language models.

The intent of a query is always a search of everything: a language model would find another one.
"""

from __future__ import annotations

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title
from webemu.api.dialects.freshness import parse_freshness
from webemu.api.dialects.search import SearchParams, date_days_ago, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_CHINESE_HOST = "open.bigmodel.cn"
MAX_RESULTS = 50
"""Most results of a search."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/api/paas/v4/web_search`."""
    params = read_params(request)
    if not (query := get_text(params, "search_query")).strip():
        raise BadRequest("search_query", reason="bad-search_query")
    hits, _ = search(world, query, _read_search_params(world, request, params), request.session.at_time)
    is_long = get_text(params, "content_size") == "high"
    rows = [_render_result(world, hit, rank, is_long) for rank, hit in enumerate(hits, 1)]
    keywords = query if get_flag(params, "search_intent") else ""
    intent = {"query": query, "intent": "SEARCH_ALL", "keywords": keywords}
    return build_response(_render_head(world, request, params) | {"search_intent": [intent], "search_result": rows})


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    after, before = parse_freshness(world, request, get_text(params, "search_recency_filter", "noLimit"))
    sites = tuple(site for site in (get_text(params, "search_domain_filter"),) if site)
    return SearchParams(0, get_number(params, "count", 10, 1, MAX_RESULTS), after, before, sites)


def _render_head(world: World, request: Request, params: JsonObject) -> JsonObject:
    """Return the numbers of a response. Its time is the session's day, so that equal requests get equal bytes."""
    day = date_days_ago(world, 0, request.session.at_time)
    response_id = f"{day:%Y%m%d}000000{request_digest(request)[:16]}"
    # The proleptic ordinal of 1970-01-01 is 719,163.
    created = (day.toordinal() - 719_163) * 86_400
    return {"id": response_id, "created": created, "request_id": get_text(params, "request_id", response_id)}


def _render_result(world: World, hit: Hit, rank: int, is_long: bool) -> JsonObject:
    row: JsonObject = {"title": display_title(hit), "link": hit.url}
    row["content"] = world.passage_of(hit) if is_long else hit.snippet
    row |= {"icon": urls.resolve(hit.url, "/favicon.ico"), "media": urls.host_of(hit.url)}
    return row | {"refer": f"ref_{rank}", "publish_date": hit.date}


_CHINESE_MESSAGES = {
    "1000": "身份验证失败。",
    "1001": "Header中未收到Authorization参数，无法进行身份验证。",
    "1113": "您的账户已欠费，请充值后重试。",
    "1210": "API 调用参数有误，请检查文档。",
    "1302": "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。",
    "500": "内部错误",
}
_ENGLISH_MESSAGES = {
    "1000": "Authentication Failed",
    "1001": "Authentication parameter not received in Header, unable to authenticate",
    "1113": "Your account is in arrears, please recharge and try again",
    "1210": "Incorrect API call parameters, please check the documentation",
    "1302": "High concurrency usage of this API, please reduce concurrency or contact customer service",
    "500": "Internal Error",
}
"""Messages by the service's code, on its Chinese host and on the other one."""
_CODES = {"bad-key": (401, "1000"), "rate-limited": (429, "1302"), "out-of-budget": (429, "1113")}
"""Status and code by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error": {"code", "message"}}`."""
    status, code = _CODES.get(error.reason, (error.status, "500" if error.status >= 500 else "1210"))
    if error.reason == "bad-key" and b"authorization" not in request.headers:
        code = "1001"
    messages = _CHINESE_MESSAGES if request.host == _CHINESE_HOST else _ENGLISH_MESSAGES
    message = error.message if error.status in (404, 405) else messages[code]
    return build_response({"error": {"code": code, "message": message}}, status)


DIALECT = Dialect(
    "zhipu",
    "Zhipu",
    (_CHINESE_HOST, "api.z.ai"),
    (Route(("POST",), "/api/paas/v4/web_search", answer_search),),
    lambda request: get_header(request, b"authorization", "Bearer") or get_header(request, b"authorization"),
    render_error,
    '`ZhipuAiClient(api_key=key, base_url="http://127.0.0.1:8800/zhipu/api/paas/v4")`, or `ZAI_BASE_URL`',
    ("zai-sdk",),
)
