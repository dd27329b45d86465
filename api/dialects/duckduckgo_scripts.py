"""DuckDuckGo's addresses that its scripts call: `d.js`, `news.js`, `i.js`, `v.js`, completions, Instant Answers.

Libraries take the token `vqd` from the page and send it along. Image and video results are empty, because a crawl of
pages has none. The pages without scripts are in `duckduckgo`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from urllib.parse import urlencode

import orjson

from webemu.api.dialects.dialect import build_response, get_number, get_text, read_params
from webemu.api.dialects.display import display_title, drop_unlinkable, highlight_html
from webemu.api.dialects.search import MAX_RELATED, SearchParams, date_days_ago, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.types import Hit
from webemu.emulator.world import World

PAGE_SIZE, NEWS_PAGE_SIZE, MAX_RESULTS_INSTANT = 10, 30, 8
"""Results of `d.js`, of `news.js`, and of the Instant Answer API."""
AGE_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
"""Days of the values of `df`."""
_SCRIPT_TYPE = b"application/x-javascript"
_CALLBACK = re.compile(r"[A-Za-z_$][\w.$]{0,199}")
"""Name of a JSONP callback."""
_GOOGLE_SEARCH = "http://www.google.com/search?"


def make_token(query: str) -> str:
    """Return the `vqd` token of a query: the same for the same query, and checked nowhere."""
    # The service's tokens have this form; the digits need only be the same for the same query.
    digits = int(sha256(query.encode("utf-8", "replace")).hexdigest(), 16)
    return f"4-{digits % 10**19:019}-{digits // 10**19 % 10**19:019}"


def _read_search(world: World, request: Request, page_size: int) -> tuple[str, SearchParams]:
    """Return the query, and filters and paging with `page_size` results."""
    params = read_params(request)
    days = AGE_DAYS.get(get_text(params, "df"))
    after = date_days_ago(world, days, request.session.at_time) if days else None
    return get_text(params, "q"), SearchParams(get_number(params, "s", 0, 0, 1000), page_size, after)


def _next_address(request: Request, search_params: SearchParams) -> str:
    """Return the address of the next results."""
    query_params = {**dict(request.parameters), "s": search_params.offset + search_params.count}
    return f"{request.path.rpartition('/')[2]}?{urlencode(query_params)}"


def answer_deep(world: World, request: Request) -> Response:
    """Answer `d.js`: a script that is called with the results. A last row with nothing but `n` is the next address."""
    query, search_params = _read_search(world, request, PAGE_SIZE)
    results, has_more = search(world, query, search_params, request.session.at_time) if query.strip() else ((), False)
    hits = drop_unlinkable(results)
    rows = [_render_result(world, hit, query) for hit in hits] or [_render_no_result(query)]
    rows += [{"n": f"/{_next_address(request, search_params)}"}] if has_more else []
    related = [{"text": entry, "display_text": entry} for entry in world.related_queries(query, hits, MAX_RELATED)]
    empty_lists: dict[str, object] = {name: _wrap_results(query, []) for name in ("images", "news", "videos")}
    calls = [
        ("pageLayout.load('d',", rows),
        *((f"duckbar.load('{name}', ", entry) for name, entry in empty_lists.items()),
    ]
    calls += [("duckbar.loadModule('related_searches', ", _wrap_results(query, related))]
    calls += [("duckbar.load('products', ", _wrap_results(query, []))]
    # Crawled text must not be able to call the script's functions: escape anything that looks like such a call.
    bodies = [(name.encode(), orjson.dumps(value).replace(b"DDG.", b"\\u0044DG.")) for name, value in calls]
    return build_response(b"".join(b"DDG.%s%s);" % body for body in bodies), content_type=_SCRIPT_TYPE)


def _render_result(world: World, hit: Hit, query: str) -> dict[str, object]:
    host = urls.host_of(hit.url)
    entry = {"a": highlight_html(world, hit.snippet, query), "c": hit.url, "d": hit.url.partition("://")[2], "da": ""}
    return {
        **entry,
        "h": 0,
        "i": host,
        "k": None,
        "m": 0,
        "o": 0,
        "p": 0,
        "s": "bingv7aa",
        "t": display_title(hit),
        "u": hit.url,
    }


def _render_no_result(query: str) -> dict[str, object]:
    """Return the row of a search without results. It links elsewhere, and libraries drop it."""
    entry = {"a": "", "c": "", "d": "google.com search", "da": "", "i": "www.google.com", "s": "none", "t": "EOF"}
    return {**entry, "u": _GOOGLE_SEARCH + urlencode({"hl": "en", "q": query})}


def _wrap_results(query: str, results: Sequence[object], next_address: str = "") -> dict[str, object]:
    """Return the object that wraps results; `next_address` leads to the next ones, empty for none."""
    payload = {"ads": [], "query": query, "queryEncoded": urlencode({"": query})[1:], "results": results}
    return {**payload, **({"next": next_address} if next_address else {}), "vqd": {query: make_token(query)}}


def answer_news(world: World, request: Request) -> Response:
    """Answer `news.js` with pages that declare a publication date, given in seconds since 1970."""
    query, search_params = _read_search(world, request, NEWS_PAGE_SIZE)
    search_params = SearchParams(search_params.offset, search_params.count, search_params.after, published=True)
    results, has_more = search(world, query, search_params, request.session.at_time) if query.strip() else ((), False)
    today = date_days_ago(world, 0, request.session.at_time)
    articles = [_render_article(world, hit, query, today) for hit in drop_unlinkable(results)]
    payload = _wrap_results(query, articles, _next_address(request, search_params) if has_more else "")
    return build_response({**payload, "response_type": "news"}, content_type=_SCRIPT_TYPE)


def _render_article(world: World, hit: Hit, query: str, today: date) -> dict[str, object]:
    published = date.fromisoformat(hit.date)
    seconds = int(datetime(published.year, published.month, published.day, tzinfo=UTC).timestamp())
    entry: dict[str, object] = {
        "date": seconds,
        "excerpt": highlight_html(world, hit.snippet, query),
        "fetch_image": 0,
        "image": "",
    }
    entry |= {
        "is_old": 0,
        "relative_time": _format_age((today - published).days),
        "source": urls.split_domain(urls.host_of(hit.url))[0],
    }
    return {**entry, "syndicate": "Bing", "title": display_title(hit), "url": hit.url}


def _format_age(days: int) -> str:
    """Return an age in words, such as `3 weeks ago`."""
    for unit, length in (("year", 365), ("month", 30), ("week", 7)):
        if days >= length:
            return f"{days // length} {unit}{'s' if days >= 2 * length else ''} ago"
    return "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"


def answer_media(world: World, request: Request) -> Response:
    """Answer `i.js` and `v.js`, always without results."""
    query = get_text(read_params(request), "q")
    kind = "images" if request.path == "/i.js" else "videos"
    return build_response({**_wrap_results(query, []), "response_type": kind}, content_type=_SCRIPT_TYPE)


def answer_completions(world: World, request: Request) -> Response:
    """Answer `/ac/` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    params = read_params(request)
    query = get_text(params, "q")[:200]
    titles = world.suggest(query, 8) if query and request.session.at_time is None else []
    is_list = get_text(params, "type") == "list"
    return build_response([query, titles] if is_list else [{"phrase": entry} for entry in titles])


def answer_instant(world: World, request: Request) -> Response:
    """Answer the Instant Answer API: a page whose title is the query is the abstract, other results are related
    topics.
    """
    params = read_params(request)
    query = get_text(params, "q")
    hits = (
        drop_unlinkable(search(world, query, SearchParams(0, MAX_RESULTS_INSTANT), request.session.at_time)[0])
        if query.strip()
        else []
    )
    abstract_hit = next((hit for hit in hits if _is_titled(hit, query)), None)
    topics = [_render_topic(world, hit, query) for hit in hits if hit is not abstract_hit]
    body = orjson.dumps(
        {
            **_EMPTY_ANSWER,
            **_render_abstract(abstract_hit),
            "RelatedTopics": topics,
            "Type": _answer_type(abstract_hit, topics),
        }
    )
    callback = get_text(params, "callback")
    if _CALLBACK.fullmatch(callback):
        body = callback.encode() + b"(" + body + b");"
    return build_response(body, content_type=_SCRIPT_TYPE)


_EMPTY_ANSWER: dict[str, object] = {
    **dict.fromkeys(("Abstract", "AbstractSource", "AbstractText", "AbstractURL", "Answer", "AnswerType"), ""),
    **dict.fromkeys(("Definition", "DefinitionSource", "DefinitionURL", "Entity", "Heading", "Image"), ""),
    **dict.fromkeys(("ImageHeight", "ImageIsLogo", "ImageWidth"), 0),
    **{"Infobox": "", "Redirect": "", "RelatedTopics": [], "Results": [], "Type": "", "meta": None},
}
"""Members of an Instant Answer that has nothing."""


def _is_titled(hit: Hit, query: str) -> bool:
    """True if the page's title, without the site's name after it, is the query."""
    name = re.split(r"\s[-–—|·]\s", hit.title, maxsplit=1)[0]
    return " ".join(name.split()).casefold() == " ".join(query.split()).casefold()


def _render_abstract(hit: Hit | None) -> dict[str, object]:
    """Return the members that describe the abstract; empty without one."""
    if hit is None:
        return {}
    payload = {"Abstract": hit.snippet, "AbstractText": hit.snippet, "AbstractURL": hit.url}
    source = urls.split_domain(urls.host_of(hit.url))[0]
    return {**payload, "AbstractSource": source, "Heading": re.split(r"\s[-–—|·]\s", hit.title, maxsplit=1)[0]}


def _render_topic(world: World, hit: Hit, query: str) -> dict[str, object]:
    link = highlight_html(world, display_title(hit), "")
    address = highlight_html(world, hit.url, "")
    summary = f"{display_title(hit)} - {hit.snippet}"
    icon = {"Height": "", "URL": "", "Width": ""}
    result = f'<a href="{address}">{link}</a> {highlight_html(world, hit.snippet, query)}'
    return {"FirstURL": hit.url, "Icon": icon, "Result": result, "Text": summary}


def _answer_type(abstract_hit: Hit | None, topics: Sequence[object]) -> str:
    """Return `A` for an article, `D` for several topics, empty for nothing."""
    return "A" if abstract_hit else "D" if topics else ""
