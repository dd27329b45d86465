"""DuckDuckGo's addresses behind its page with scripts: results, news, pictures and films as `d.js`, `news.js`, `i.js`,
`v.js`, completions, and the Instant Answer API (`api.duckduckgo.com`).

Libraries take the token `vqd` from the page and send it along. Pictures and films are none: a crawl of pages does not
know them. The pages without scripts are in `duckduckgo`.
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
DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_SCRIPT = b"application/x-javascript"
_CALLBACK = re.compile(r"[A-Za-z_$][\w.$]{0,199}")
_GOOGLE = "http://www.google.com/search?"


def token(query: str) -> str:
    """Return the `vqd` of a query."""
    digits = int(sha256(query.encode("utf-8", "replace")).hexdigest(), 16)
    return f"4-{digits % 10**19:019}-{digits // 10**19 % 10**19:019}"


def _read(world: World, request: Request, size: int) -> tuple[str, Wanted]:
    parameters = fields(request)
    days = DAYS.get(text(parameters, "df"))
    after = since(world, days, request.session.at) if days else None
    return text(parameters, "q"), Wanted(number(parameters, "s", 0, 0, 1000), size, after)


def _onward(request: Request, params: Wanted) -> str:
    """Return the address of the next results."""
    parameters = {**dict(request.parameters), "s": params.offset + params.count}
    return f"{request.path.rpartition('/')[2]}?{urlencode(parameters)}"


def deep(world: World, request: Request) -> Reply:
    """Return `d.js`: a script that is given the results, the next address as a last row without any."""
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
    # A page may not call the script's functions: none of what it says looks like one.
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
    """Return the row that says that there is nothing: it leads elsewhere, and libraries leave it out."""
    entry = {"a": "", "c": "", "d": "google.com search", "da": "", "i": "www.google.com", "s": "none", "t": "EOF"}
    return {**entry, "u": _GOOGLE + urlencode({"hl": "en", "q": query})}


def _list(query: str, results: list[Any], following: str = "") -> dict[str, Any]:
    payload = {"ads": [], "query": query, "queryEncoded": urlencode({"": query})[1:], "results": results}
    return {**payload, **({"next": following} if following else {}), "vqd": {query: token(query)}}


def news(world: World, request: Request) -> Reply:
    """Return `news.js`: pages that say when they were published, with that day in seconds since the epoch."""
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
    """Return an age as people say it, counted from the day that the asker sees."""
    for unit, length in (("year", 365), ("month", 30), ("week", 7)):
        if days >= length:
            return f"{days // length} {unit}{'s' if days >= 2 * length else ''} ago"
    return "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"


def pictures(world: World, request: Request) -> Reply:
    """Return `i.js` or `v.js` without results."""
    query = text(fields(request), "q")
    kind = "images" if request.path == "/i.js" else "videos"
    return reply({**_list(query, []), "response_type": kind}, kind=_SCRIPT)


def complete(world: World, request: Request) -> Reply:
    """Return the titles that complete a query; none to a session that sees the web of a day, as they have no date."""
    parameters = fields(request)
    query = text(parameters, "q")[:200]
    titles = world.suggest(query, 8) if query and request.session.at is None else []
    is_list = text(parameters, "type") == "list"
    return reply([query, titles] if is_list else [{"phrase": entry} for entry in titles])


def instant(world: World, request: Request) -> Reply:
    """Return the Instant Answer of a query: the page that is called so as its abstract, results as related topics."""
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


def _is_called(hit: Hit, query: str) -> bool:
    """Return whether a page's title is the query, the site's name after it left out."""
    name = re.split(r"\s[-–—|·]\s", hit.title, maxsplit=1)[0]
    return " ".join(name.split()).casefold() == " ".join(query.split()).casefold()


def _abstract(hit: Hit | None) -> dict[str, Any]:
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
    """Return `A` for an article, `D` for several that may be meant, nothing for none."""
    return "A" if named else "D" if topics else ""
