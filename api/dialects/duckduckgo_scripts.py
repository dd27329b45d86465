"""DuckDuckGo's addresses that its scripts call: `d.js`, `news.js`, `i.js`, `v.js`, completions, Instant Answers.

Libraries take the token `vqd` from the page and send it along. Image and video results are empty, because a crawl of
pages has none. The pages without scripts are in `duckduckgo`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import orjson

from webemu.api.dialects.dialect import fields, number, reply, text
from webemu.api.dialects.display import linked, marked, title
from webemu.api.dialects.search import RELATED, Wanted, search, since
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.types import Hit
from webemu.emulator.world import World

SIZE, NEWS, TOPICS = 10, 30, 8
"""Results of `d.js`, of `news.js`, and of the Instant Answer API."""
DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
"""Days of the values of `df`."""
_SCRIPT = b"application/x-javascript"
_CALLBACK = re.compile(r"[A-Za-z_$][\w.$]{0,199}")
"""Name of a JSONP callback."""
_GOOGLE = "http://www.google.com/search?"


def token(query: str) -> str:
    """Return the `vqd` token of a query: the same for the same query, and checked nowhere."""
    # The service's tokens have this form; the digits need only be the same for the same query.
    digits = int(sha256(query.encode("utf-8", "replace")).hexdigest(), 16)
    return f"4-{digits % 10**19:019}-{digits // 10**19 % 10**19:019}"


def _read(world: World, request: Request, size: int) -> tuple[str, Wanted]:
    """Return the query, and filters and paging with `page_size` results."""
    parameters = fields(request)
    days = DAYS.get(text(parameters, "df"))
    after = since(world, days, request.session.at) if days else None
    return text(parameters, "q"), Wanted(number(parameters, "s", 0, 0, 1000), size, after)


def _onward(request: Request, params: Wanted) -> str:
    """Return the address of the next results."""
    parameters = {**dict(request.parameters), "s": params.offset + params.count}
    return f"{request.path.rpartition('/')[2]}?{urlencode(parameters)}"


def deep(world: World, request: Request) -> Reply:
    """Answer `d.js`: a script that is called with the results. A last row with nothing but `n` is the next address."""
    query, params = _read(world, request, SIZE)
    results, more = search(world, query, params, request.session.at) if query.strip() else ((), False)
    hits = linked(results)
    rows = [_row(world, hit, query) for hit in hits] or [_no_row(query)]
    rows += [{"n": f"/{_onward(request, params)}"}] if more else []
    related = [{"text": entry, "display_text": entry} for entry in world.related(query, hits, RELATED)]
    none: dict[str, Any] = {name: _list(query, []) for name in ("images", "news", "videos")}
    calls = [("pageLayout.load('d',", rows), *((f"duckbar.load('{name}', ", entry) for name, entry in none.items())]
    calls += [("duckbar.loadModule('related_searches', ", _list(query, related))]
    calls += [("duckbar.load('products', ", _list(query, []))]
    # Crawled text must not be able to call the script's functions: escape anything that looks like such a call.
    bodies = [(name.encode(), orjson.dumps(value).replace(b"DDG.", b"\\u0044DG.")) for name, value in calls]
    return reply(b"".join(b"DDG.%s%s);" % body for body in bodies), kind=_SCRIPT)


def _row(world: World, hit: Hit, query: str) -> dict[str, Any]:
    host = urls.host(hit.url)
    entry = {"a": marked(world, hit.snippet, query), "c": hit.url, "d": hit.url.partition("://")[2], "da": ""}
    return {
        **entry,
        "h": 0,
        "i": host,
        "k": None,
        "m": 0,
        "o": 0,
        "p": 0,
        "s": "bingv7aa",
        "t": title(hit),
        "u": hit.url,
    }


def _no_row(query: str) -> dict[str, Any]:
    """Return the row of a search without results. It links elsewhere, and libraries drop it."""
    entry = {"a": "", "c": "", "d": "google.com search", "da": "", "i": "www.google.com", "s": "none", "t": "EOF"}
    return {**entry, "u": _GOOGLE + urlencode({"hl": "en", "q": query})}


def _list(query: str, results: list[Any], following: str = "") -> dict[str, Any]:
    """Return the object that wraps results; `next_address` leads to the next ones, empty for none."""
    payload = {"ads": [], "query": query, "queryEncoded": urlencode({"": query})[1:], "results": results}
    return {**payload, **({"next": following} if following else {}), "vqd": {query: token(query)}}


def news(world: World, request: Request) -> Reply:
    """Answer `news.js` with pages that declare a publication date, given in seconds since 1970."""
    query, params = _read(world, request, NEWS)
    params = Wanted(params.offset, params.count, params.after, published=True)
    results, more = search(world, query, params, request.session.at) if query.strip() else ((), False)
    today = since(world, 0, request.session.at)
    articles = [_article(world, hit, query, today) for hit in linked(results)]
    answer = _list(query, articles, _onward(request, params) if more else "")
    return reply({**answer, "response_type": "news"}, kind=_SCRIPT)


def _article(world: World, hit: Hit, query: str, today: date) -> dict[str, Any]:
    published = date.fromisoformat(hit.date)
    seconds = int(datetime(published.year, published.month, published.day, tzinfo=UTC).timestamp())
    entry: dict[str, Any] = {
        "date": seconds,
        "excerpt": marked(world, hit.snippet, query),
        "fetch_image": 0,
        "image": "",
    }
    entry |= {
        "is_old": 0,
        "relative_time": _age((today - published).days),
        "source": urls.domain(urls.host(hit.url))[0],
    }
    return {**entry, "syndicate": "Bing", "title": title(hit), "url": hit.url}


def _age(days: int) -> str:
    """Return an age in words, such as `3 weeks ago`."""
    for unit, length in (("year", 365), ("month", 30), ("week", 7)):
        if days >= length:
            return f"{days // length} {unit}{'s' if days >= 2 * length else ''} ago"
    return "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"


def pictures(world: World, request: Request) -> Reply:
    """Answer `i.js` and `v.js`, always without results."""
    query = text(fields(request), "q")
    kind = "images" if request.path == "/i.js" else "videos"
    return reply({**_list(query, []), "response_type": kind}, kind=_SCRIPT)


def complete(world: World, request: Request) -> Reply:
    """Answer `/ac/` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    parameters = fields(request)
    query = text(parameters, "q")[:200]
    titles = world.suggest(query, 8) if query and request.session.at is None else []
    is_list = text(parameters, "type") == "list"
    return reply([query, titles] if is_list else [{"phrase": entry} for entry in titles])


def instant(world: World, request: Request) -> Reply:
    """Answer the Instant Answer API: a page whose title is the query is the abstract, other results are related
    topics.
    """
    parameters = fields(request)
    query = text(parameters, "q")
    hits = linked(search(world, query, Wanted(0, TOPICS), request.session.at)[0]) if query.strip() else []
    named = next((hit for hit in hits if _is_called(hit, query)), None)
    topics = [_topic(world, hit, query) for hit in hits if hit is not named]
    body = orjson.dumps({**_EMPTY, **_abstract(named), "RelatedTopics": topics, "Type": _type(named, topics)})
    callback = text(parameters, "callback")
    if _CALLBACK.fullmatch(callback):
        body = callback.encode() + b"(" + body + b");"
    return reply(body, kind=_SCRIPT)


_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("Abstract", "AbstractSource", "AbstractText", "AbstractURL", "Answer", "AnswerType"), ""),
    **dict.fromkeys(("Definition", "DefinitionSource", "DefinitionURL", "Entity", "Heading", "Image"), ""),
    **dict.fromkeys(("ImageHeight", "ImageIsLogo", "ImageWidth"), 0),
    **{"Infobox": "", "Redirect": "", "RelatedTopics": [], "Results": [], "Type": "", "meta": None},
}
"""Members of an Instant Answer that has nothing."""


def _is_called(hit: Hit, query: str) -> bool:
    """True if the page's title, without the site's name after it, is the query."""
    name = re.split(r"\s[-–—|·]\s", hit.title, maxsplit=1)[0]
    return " ".join(name.split()).casefold() == " ".join(query.split()).casefold()


def _abstract(hit: Hit | None) -> dict[str, Any]:
    """Return the members that describe the abstract; empty without one."""
    if hit is None:
        return {}
    payload = {"Abstract": hit.snippet, "AbstractText": hit.snippet, "AbstractURL": hit.url}
    source = urls.domain(urls.host(hit.url))[0]
    return {**payload, "AbstractSource": source, "Heading": re.split(r"\s[-–—|·]\s", hit.title, maxsplit=1)[0]}


def _topic(world: World, hit: Hit, query: str) -> dict[str, Any]:
    link = marked(world, title(hit), "")
    address = marked(world, hit.url, "")
    summary = f"{title(hit)} - {hit.snippet}"
    icon: dict[str, Any] = {"Height": "", "URL": "", "Width": ""}
    result = f'<a href="{address}">{link}</a> {marked(world, hit.snippet, query)}'
    return {"FirstURL": hit.url, "Icon": icon, "Result": result, "Text": summary}


def _type(named: Hit | None, topics: list[Any]) -> str:
    """Return `A` for an article, `D` for several topics, empty for nothing."""
    return "A" if named else "D" if topics else ""
