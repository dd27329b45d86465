"""Requests as bytes: the native API, a search in the words of every emulated service, and pages as the web itself.

A message is the whole request, head and body, so that sending it costs one write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from webemu.api.bench.load import Request

VIEWS = ("text", "markdown", "links", "raw")
"""Views of a page; `raw` is its payload."""
KINDS = ("search", *VIEWS, "find", "retrieve", "page")
"""Kinds of requests: a search, a page in a view, a word inside it, a batch of searches, the page as the web
itself.
"""
QUERY_KINDS = {"search", "retrieve"}
"""Kinds that need queries; the others need pages."""
DOORS = ("proxy", "connect", "host")
"""Ways to ask for a page as the web itself: absolute URL to a proxy, CONNECT with TLS, or the `Host` header."""


class SearchRequest(NamedTuple):
    """Search request of a service, below the prefix of its dialect."""

    method: str
    path: str
    parameters: Callable[[str, int], dict[str, object]]
    """Returns the parameters for a query and a number of results."""
    is_form: bool = False
    """True if the body is a form instead of JSON."""


SEARCH_REQUESTS: dict[str, SearchRequest] = {
    "serper": SearchRequest("POST", "/search", lambda q, n: {"q": q, "num": n}),
    "serpapi": SearchRequest("GET", "/search", lambda q, n: {"q": q, "num": n}),
    "brave": SearchRequest("GET", "/res/v1/web/search", lambda q, n: {"q": q, "count": n}),
    "bing": SearchRequest("GET", "/v7.0/search", lambda q, n: {"q": q, "count": n}),
    "google": SearchRequest("GET", "/customsearch/v1", lambda q, n: {"q": q, "num": n, "cx": 1}),
    "searxng": SearchRequest("GET", "/search", lambda q, n: {"q": q, "format": "json"}),
    "duckduckgo": SearchRequest("POST", "/html/", lambda q, n: {"q": q}, is_form=True),
    "bing-pages": SearchRequest("GET", "/search", lambda q, n: {"q": q}),
    "engines": SearchRequest("GET", "/search", lambda q, n: {"q": q}),
    "startpage": SearchRequest("POST", "/sp/search", lambda q, n: {"query": q}, is_form=True),
    "exa": SearchRequest("POST", "/search", lambda q, n: {"query": q, "numResults": n}),
    "perplexity": SearchRequest("POST", "/search", lambda q, n: {"query": q, "max_results": n}),
    "tavily": SearchRequest("POST", "/search", lambda q, n: {"query": q, "max_results": n}),
    "firecrawl": SearchRequest("POST", "/v2/search", lambda q, n: {"query": q, "limit": n}),
    "linkup": SearchRequest(
        "POST",
        "/v1/search",
        lambda q, n: {"q": q, "depth": "standard", "outputType": "searchResults", "maxResults": n},
    ),
    "you": SearchRequest("GET", "/v1/search", lambda q, n: {"query": q, "count": n}),
    "kagi": SearchRequest("GET", "/api/v0/search", lambda q, n: {"q": q, "limit": n}),
    "jina-search": SearchRequest("POST", "/", lambda q, n: {"q": q, "num": n}),
    "search-r1": SearchRequest("POST", "/retrieve", lambda q, n: {"queries": [q], "topk": n, "return_scores": True}),
    "asearcher": SearchRequest("POST", "/retrieve", lambda q, n: {"queries": [q], "topk": n}),
    "browsecomp-plus": SearchRequest("POST", "/retrieve", lambda q, n: {"query": q}),
    "openresearcher": SearchRequest("POST", "/search", lambda q, n: {"query": q, "topn": n}),
    "deepresearchgym": SearchRequest("GET", "/search", lambda q, n: {"query": q, "k": n}),
    "nemo-gym": SearchRequest("POST", "/search", lambda q, n: {"query": q}),
    "searchapi": SearchRequest("GET", "/api/v1/search", lambda q, n: {"engine": "google", "q": q, "num": n}),
    "bocha": SearchRequest("POST", "/v1/web-search", lambda q, n: {"query": q, "count": n}),
    "langsearch": SearchRequest("POST", "/v1/web-search", lambda q, n: {"query": q, "count": n}),
    "zhipu": SearchRequest("POST", "/api/paas/v4/web_search", lambda q, n: {"search_query": q, "count": n}),
    "parallel": SearchRequest(
        "POST", "/v1/search", lambda q, n: {"search_queries": [q], "advanced_settings": {"max_results": n}}
    ),
    "valyu": SearchRequest("POST", "/v1/search", lambda q, n: {"query": q, "max_num_results": n}),
    "scrapingbee": SearchRequest("GET", "/api/v1/store/google", lambda q, n: {"search": q, "nb_results": n}),
    "oxylabs": SearchRequest(
        "POST", "/v1/queries", lambda q, n: {"source": "google_search", "query": q, "parse": True, "limit": n}
    ),
}
"""Search request of each service that has a search, by the name of its dialect."""


class RequestFactory:
    """Factory of requests to one server.

    `server` is its `host:port`, `size` the number of results of a search, `dialect` the service whose words searches
    use (empty for the native API), and `door` the way pages are asked for.

        factory = RequestFactory("127.0.0.1:8800", 10, "serper", "proxy")
        factory.search("river museum").message    # b"POST /serper/search HTTP/1.1..."
    """

    def __init__(self, server: str, size: int, dialect: str, door: str) -> None:
        self._server, self._size, self._door = server, size, door
        self._search_request = SEARCH_REQUESTS[dialect] if dialect else None
        self._prefix = f"/{dialect}" if dialect else ""

    def search(self, query: str) -> Request:
        """Return a search, in the words of the dialect if there is one."""
        if self._search_request is None:
            return self._get("search", f"/v1/search?q={quote(query)}&size={self._size}")
        path, parameters = self._prefix + self._search_request.path, self._search_request.parameters(query, self._size)
        if self._search_request.method == "GET":
            return self._get("search", f"{path}?{urlencode(parameters)}")
        if self._search_request.is_form:
            return self._post("search", path, "application/x-www-form-urlencoded", urlencode(parameters))
        return self._post("search", path, "application/json", json.dumps(parameters))

    def retrieve(self, queries: Sequence[str]) -> Request:
        """Return one request with a batch of queries."""
        body = json.dumps({"queries": queries, "topk": self._size, "return_scores": True})
        return self._post("retrieve", "/retrieve", "application/json", body)

    def view(self, view: str, url: str) -> Request:
        """Return a request for a page in one of its views; `raw` is its recorded payload."""
        return self._get(view, f"/v1/fetch?url={quote(url, safe='')}&format={view}")

    def find(self, url: str, pattern: str) -> Request:
        """Return a request for the occurrences of a pattern in a page."""
        return self._get("find", f"/v1/find?url={quote(url, safe='')}&pattern={quote(pattern)}")

    def page(self, url: str) -> Request:
        """Return a request for the page at its URL, as its own server would get it.

        With CONNECT it names the host whose tunnel it must go through.
        """
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target = url.partition("#")[0] if self._door == "proxy" else path
        message = f"GET {_escape_target(target)} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
        return Request(KINDS.index("page"), parts.netloc if self._door == "connect" else "", message.encode())

    def _get(self, kind: str, target: str) -> Request:
        head = f"GET {target} HTTP/1.1\r\nHost: {self._server}\r\nAccept: application/json\r\n\r\n"
        return Request(KINDS.index(kind), "", head.encode())

    def _post(self, kind: str, target: str, content_type: str, body_text: str) -> Request:
        body = body_text.encode()
        head = (
            f"POST {target} HTTP/1.1\r\nHost: {self._server}\r\nAccept: "
            f"application/json\r\nContent-Type: {content_type}\r\n"
        )
        return Request(KINDS.index(kind), "", f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def _escape_target(target: str) -> str:
    """Return a request target with everything escaped that would end it early."""
    return quote(target, safe="!#$%&'()*+,/:;=?@[]~")
