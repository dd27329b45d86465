"""Routes of a wiki's APIs: `/w/api.php`, `/api/rest_v1/page/…`, `/w/rest.php/v1/search/…`.

https://www.mediawiki.org/wiki/API:Main_page; errors are HTTP 200 with `MediaWiki-API-Error` (API:Errors_and_warnings).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape

from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.api.wiki import rest
from webemu.api.wiki.format_version import Tree, shaped, written
from webemu.api.wiki.opensearch import opensearch
from webemu.api.wiki.params import ApiError, Ask, read
from webemu.api.wiki.parse import parse
from webemu.api.wiki.query import query
from webemu.api.wiki.response import answered
from webemu.api.wiki.site import is_wiki
from webemu.emulator.world import World

_API = re.compile(r"(?:/w)?/api\.php")
_PAGE = re.compile(r"/api/rest_v1/page/(summary|html)/([^/]+)/?")
_SEARCH = re.compile(r"(?:/w)?/rest\.php/v1/search/(page|title)")
_ACTIONS: dict[str, Callable[[Ask], object]] = {"query": query, "parse": parse, "opensearch": opensearch}
_FORMATS = ("json", "jsonfm")
_NOT_CALLBACK = re.compile(r"[^\[\].'\"_A-Za-z0-9]")
"""Characters that MediaWiki removes from a JSONP callback."""


def covers(request: Request) -> bool:
    """True if path and method are those of a wiki API, on any host."""
    is_api = _API.fullmatch(request.path) and request.method in ("GET", "HEAD", "POST")
    is_rest = _PAGE.fullmatch(request.path) or _SEARCH.fullmatch(request.path)
    return bool(is_api or (is_rest and request.method in ("GET", "HEAD")))


def answer(world: World, request: Request) -> Reply | None:
    """Answer an API request to a wiki; None if the path is no API or the host is no wiki."""
    if not covers(request) or not is_wiki(world, request.host):
        return None
    reply = _reply(read(world, request), request)
    headers = [*reply.headers, (b"X-Webemu-Snapshot", world.snapshot.encode())]
    return Reply(reply.status, reply.reason, headers, reply.body)


def _reply(ask: Ask, request: Request) -> Reply:
    """Dispatch to the REST API of pages, the REST search, or `api.php`."""
    if page := _PAGE.fullmatch(request.path):
        return rest.page(ask, page[1], page[2], request.path)
    if search := _SEARCH.fullmatch(request.path):
        return rest.found(ask, search[1])
    return _api(ask)


def _api(ask: Ask) -> Reply:
    """Run an action of `api.php` and format its result or its error."""
    version = 1
    try:
        version = 2 if ask.text("formatversion") in ("2", "latest") else 1
        action = ask.text("action", "help")
        if _format(ask) not in _FORMATS:
            raise ApiError("badvalue", f'Unrecognized value for parameter "format": {ask.text("format")[:60]}.')
        if action not in _ACTIONS:
            raise ApiError("badvalue", f'Unrecognized value for parameter "action": {action[:60]}.')
        return _sent(ask, _ACTIONS[action](ask), version, [])
    except ApiError as error:
        return _sent(ask, _refused(ask, error, version), version, [(b"MediaWiki-API-Error", error.reason.encode())])


def _format(ask: Ask) -> str:
    """Return the requested output format; opensearch is the one action that answers in JSON by default."""
    return ask.text("format", "json" if ask.text("action") == "opensearch" else "jsonfm")


def _refused(ask: Ask, error: ApiError, version: int) -> Tree:
    see = (
        f"See https://{ask.host}/w/api.php for API usage. Subscribe to the mediawiki-api-announce mailing list at "
        "&lt;https://lists.wikimedia.org/postorius/lists/mediawiki-api-announce.lists.wikimedia.org/&gt; "
        "for notice of API deprecations and breaking changes."
    )
    return {"error": {"code": error.reason, "info": error.message, "docref*": see}}


def _sent(ask: Ask, tree: object, version: int, headers: Headers) -> Reply:
    """Return the tree as JSON, as a JSONP call of `callback`, or as HTML for people if no format was requested."""
    if ask.text("origin") == "*":
        headers = [*headers, (b"Access-Control-Allow-Origin", b"*")]
    if _format(ask) != "json":
        return answered(_shown(ask, shaped(tree, version)), "text/html; charset=utf-8", headers=headers)
    body = written(tree, version, plain=ask.has("utf8"))
    if callback := _NOT_CALLBACK.sub("", ask.text("callback")[:200]):
        # MediaWiki's comment in front keeps the body from being read as another file type.
        return answered(f"/**/{callback}(".encode() + body + b")", "text/javascript; charset=utf-8", headers=headers)
    return answered(body, "application/json; charset=utf-8", headers=headers)


def _shown(ask: Ask, tree: object) -> bytes:
    """Return the HTML page that shows a result to people."""
    title = f"MediaWiki API result - {escape(ask.host)}"
    text = escape(json.dumps(tree, ensure_ascii=False, indent=4), quote=False)
    head = f'<!DOCTYPE html>\n<html><head><meta charset="UTF-8"><title>{title}</title></head>\n<body><h1>{title}</h1>\n'
    note = "<p>This is the HTML representation of the JSON format. Specify <i>format=json</i> for programs.</p>\n"
    return f'{head}{note}<pre class="api-pretty-content">{text}</pre>\n</body></html>\n'.encode("utf-8", "replace")
