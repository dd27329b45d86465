"""Routes of a wiki's APIs: `/w/api.php`, `/api/rest_v1/page/…`, `/w/rest.php/v1/search/…`.

https://www.mediawiki.org/wiki/API:Main_page; errors are HTTP 200 with `MediaWiki-API-Error` (API:Errors_and_warnings).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape

from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.api.wiki import rest
from webemu.api.wiki.format_version import Tree, serialize, to_format_version
from webemu.api.wiki.opensearch import action_opensearch
from webemu.api.wiki.params import ApiError, WikiCall, parse_call
from webemu.api.wiki.parse import action_parse
from webemu.api.wiki.query import action_query
from webemu.api.wiki.response import make_response
from webemu.api.wiki.site import is_wiki
from webemu.emulator.world import World

_API = re.compile(r"(?:/w)?/api\.php")
_PAGE = re.compile(r"/api/rest_v1/page/(summary|html)/([^/]+)/?")
_SEARCH = re.compile(r"(?:/w)?/rest\.php/v1/search/(page|title)")
_ACTIONS: dict[str, Callable[[WikiCall], object]] = {
    "query": action_query,
    "parse": action_parse,
    "opensearch": action_opensearch,
}
_FORMATS = ("json", "jsonfm")
_NOT_CALLBACK = re.compile(r"[^\[\].'\"_A-Za-z0-9]")
"""Characters that MediaWiki removes from a JSONP callback."""


def is_api_request(request: Request) -> bool:
    """True if path and method are those of a wiki API, on any host."""
    is_api = _API.fullmatch(request.path) and request.method in ("GET", "HEAD", "POST")
    is_rest = _PAGE.fullmatch(request.path) or _SEARCH.fullmatch(request.path)
    return bool(is_api or (is_rest and request.method in ("GET", "HEAD")))


def answer(world: World, request: Request) -> Response | None:
    """Answer an API request to a wiki; None if the path is no API or the host is no wiki."""
    if not is_api_request(request) or not is_wiki(world, request.host):
        return None
    response = _route(parse_call(world, request), request)
    headers = [*response.headers, (b"X-Webemu-Snapshot", world.snapshot.encode())]
    return Response(response.status, response.reason, headers, response.body)


def _route(call: WikiCall, request: Request) -> Response:
    """Dispatch to the REST API of pages, the REST search, or `api.php`."""
    if page := _PAGE.fullmatch(request.path):
        return rest.answer_page(call, page[1], page[2], request.path)
    if search := _SEARCH.fullmatch(request.path):
        return rest.answer_search(call, search[1])
    return _answer_action(call)


def _answer_action(call: WikiCall) -> Response:
    """Run an action of `api.php` and format its result or its error."""
    version = 1
    try:
        version = 2 if call.text("formatversion") in ("2", "latest") else 1
        action = call.text("action", "help")
        if _output_format(call) not in _FORMATS:
            raise ApiError("badvalue", f'Unrecognized value for parameter "format": {call.text("format")[:60]}.')
        if action not in _ACTIONS:
            raise ApiError("badvalue", f'Unrecognized value for parameter "action": {action[:60]}.')
        return _format_response(call, _ACTIONS[action](call), version, [])
    except ApiError as error:
        return _format_response(
            call, _error_tree(call, error, version), version, [(b"MediaWiki-API-Error", error.reason.encode())]
        )


def _output_format(call: WikiCall) -> str:
    """Return the requested output format; opensearch is the one action that answers in JSON by default."""
    return call.text("format", "json" if call.text("action") == "opensearch" else "jsonfm")


def _error_tree(call: WikiCall, error: ApiError, version: int) -> Tree:
    help_text = (
        f"See https://{call.host}/w/api.php for API usage. Subscribe to the mediawiki-api-announce mailing list at "
        "&lt;https://lists.wikimedia.org/postorius/lists/mediawiki-api-announce.lists.wikimedia.org/&gt; "
        "for notice of API deprecations and breaking changes."
    )
    return {"error": {"code": error.reason, "info": error.message, "docref*": help_text}}


def _format_response(call: WikiCall, tree: object, version: int, headers: Headers) -> Response:
    """Return the tree as JSON, as a JSONP call of `callback`, or as HTML for people if no format was requested."""
    if call.text("origin") == "*":
        headers = [*headers, (b"Access-Control-Allow-Origin", b"*")]
    if _output_format(call) != "json":
        return make_response(
            _html_page(call, to_format_version(tree, version)), "text/html; charset=utf-8", headers=headers
        )
    body = serialize(tree, version, is_utf8=call.has("utf8"))
    if callback := _NOT_CALLBACK.sub("", call.text("callback")[:200]):
        # MediaWiki's comment in front keeps the body from being read as another file type.
        return make_response(
            f"/**/{callback}(".encode() + body + b")", "text/javascript; charset=utf-8", headers=headers
        )
    return make_response(body, "application/json; charset=utf-8", headers=headers)


def _html_page(call: WikiCall, tree: object) -> bytes:
    """Return the HTML page that shows a result to people."""
    title = f"MediaWiki API result - {escape(call.host)}"
    text = escape(json.dumps(tree, ensure_ascii=False, indent=4), quote=False)
    head = f'<!DOCTYPE html>\n<html><head><meta charset="UTF-8"><title>{title}</title></head>\n<body><h1>{title}</h1>\n'
    note = "<p>This is the HTML representation of the JSON format. Specify <i>format=json</i> for programs.</p>\n"
    return f'{head}{note}<pre class="api-pretty-content">{text}</pre>\n</body></html>\n'.encode("utf-8", "replace")
