"""Random requests over every door, emulated service and view of a server.

A template is one way to ask, such as a parameter of a route. `draw_requests` goes through the doors in turn and through
all templates of each, and fills them with words and addresses of captures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import cycle, product
from random import Random
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from webemu.api.audit.routes import expand_route, list_bodies
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.api.mcp.endpoint import TOOLSETS_BY_PATH
from webemu.api.mcp.tools import Tool
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import VIEWS

HERE = "http://webemu"
"""Root of this server's own addresses."""
WAYBACK, INDEX, DATA = "https://web.archive.org", "https://index.commoncrawl.org", "https://data.commoncrawl.org"
_COMPLETES = re.compile(r"suggest|/ac\b|complet")
"""Routes that complete what was typed."""
_ENGINES = ("full", "plain", "weak")


class Draw(NamedTuple):
    """Words and addresses that a template is filled with."""

    query: str
    url: str
    stamp: str
    """Time of a capture of the URL, 14 digits."""
    crawl: str = "CC-MAIN-2024-04"
    """Name of a crawl, as Common Crawl's index has it."""
    file: str = "crawl-data/none.warc.gz"
    """Path of the capture's WARC file in Common Crawl's bucket."""
    span: str = "0-99"
    """First and last byte of the capture's record in that file."""
    prefix: str = ""
    """First letters of a title, to be completed."""

    @property
    def site(self) -> str:
        """Scheme and host of the URL."""
        return self.url[: len(self.url) - len(urlsplit(self.url)._replace(scheme="", netloc="").geturl())]

    @property
    def host(self) -> str:
        """Host of the URL with its port."""
        return urlsplit(self.url).netloc


class AuditRequest(NamedTuple):
    """One request: `door` is the group that it is counted in."""

    door: str
    method: str
    url: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Text of the request, which an answer may repeat."""
        return f"{self.url} {self.body.decode()}"


class Template(NamedTuple):
    """One way to ask."""

    door: str
    fill: Callable[[Draw, Random], AuditRequest | None]
    """Returns the request; None if the way does not fit what was drawn."""


def _get(door: str, pattern: str, *headers: tuple[str, str]) -> Template:
    """Return a template of a GET request: the fields and properties of `Draw` are filled in, and `q` and `u`, its
    query and URL in percent-encoding.
    """

    def fill(draw: Draw, random: Random) -> AuditRequest:
        values = {"q": quote(draw.query, safe=""), "u": quote(draw.url, safe=""), "site": draw.site, "host": draw.host}
        values |= {**draw._asdict(), "prefix": quote(draw.prefix, safe=""), "last": draw.span.partition("-")[2]}
        sent = tuple((name, text.format(**values)) for name, text in headers)
        return AuditRequest(door, "GET", pattern.format(**values), b"", sent)

    return Template(door, fill)


def _post(door: str, url: str, build: Callable[[Draw], object], *headers: tuple[str, str]) -> Template:
    """Return a template that posts what `build` returns as JSON."""

    def fill(draw: Draw, random: Random) -> AuditRequest:
        return AuditRequest(
            door, "POST", url, json.dumps(build(draw)).encode(), (("Content-Type", "application/json"), *headers)
        )

    return Template(door, fill)


def _native_templates() -> Iterator[Template]:
    """Yield the native API and the pages for people."""
    more = ["", "&size=50", "&page=2", "&page=5&size=5", "&snippet=passage", "&snippet=short", "&strict=true"]
    more += [f"&engine={engine}" for engine in _ENGINES] + ["&as_of=2999-01-01", "&as_of={stamp}", "&format=html"]
    yield from (_get("search", HERE + "/v1/search?q={q}" + one) for one in more)
    yield from (_get("results", HERE + "/search?q={q}" + one) for one in ("", "&page=2", "&as_of=2999-01-01"))
    yield from (_get("suggest", f"{HERE}/suggest?q={one}") for one in ("{q}", "{prefix}", "{host}"))
    yield from (_get("fetch", f"{HERE}/v1/fetch?url={{u}}&format={view}") for view in VIEWS)
    yield from (_get("fetch", HERE + "/v1/fetch?url={u}" + one) for one in ("", "&as_of=2999-01-01", "&as_of={stamp}"))
    yield from (_get("view", HERE + "/view?url={u}" + one) for one in ("", "&as_of=2999-01-01", "&as_of={stamp}"))
    yield from (_get("find", HERE + "/v1/find?pattern={q}&url={u}" + one) for one in ("", "&as_of=2999-01-01"))
    yield from (_get("own pages", HERE + path) for path in ("/", "/opensearch.xml", "/robots.txt", "/v1/stats"))
    yield _post("search", f"{HERE}/v1/search", lambda draw: {"queries": [draw.query, f"site:{draw.host} {draw.query}"]})
    yield _post("fetch", f"{HERE}/v1/fetch", lambda draw: {"urls": [draw.url, draw.site]})


def _web_templates() -> Iterator[Template]:
    """Yield the emulated web itself."""
    yield from (_get("web", one) for one in ("{url}", "{site}/", "{site}/robots.txt", "{site}/no-such-page"))
    yield _get("web", "{url}", ("Accept", "text/markdown"))
    yield _get("web", "{url}", ("Range", "bytes=0-99"))
    yield _get("web", "{url}", ("Accept-Datetime", "Fri, 01 Jan 2999 00:00:00 GMT"))
    for path in ("/sitemap.xml", "/sitemap_index.xml", "/feed", "/rss.xml", "/favicon.ico", "/search?q={q}"):
        yield _get("web", "{site}" + path)
    for path in (
        "/w/api.php?action=query&list=search&srsearch={q}&format=json",
        "/w/api.php?action=opensearch&search={prefix}&format=json",
        "/w/api.php?action=query&list=random&rnlimit=9&format=json",
        "/w/api.php?action=query&prop=extracts&titles={q}&format=json",
        "/api/rest_v1/page/summary/{q}",
    ):
        yield _get("wiki", "{site}" + path)


def _archive_templates() -> Iterator[Template]:
    """Yield the Wayback Machine and Common Crawl."""
    for when in ("{stamp}", "2024", "2999", "{stamp}id_", "2999id_", "{stamp}if_", "*", "timemap/link", "timemap/json"):
        yield _get("replay", f"{WAYBACK}/web/{when}/{{url}}")
    yield _get("replay", WAYBACK + "/wayback/available?url={u}")
    for scope in ("url={host}/*", "url={u}", "url={host}&matchType=domain", "url={u}&showNumPages=true"):
        for more in ("", "&output=json", "&limit=-5", "&output=json&fl=timestamp,original&collapse=digest"):
            yield _get("cdx", f"{WAYBACK}/cdx/search/cdx?{scope}{more}")
            yield _get("cdx", f"{INDEX}/{{crawl}}-index?{scope}{more}")
    yield _get("list of crawls", f"{INDEX}/collinfo.json")
    for path in ("/crawl-data/index.html", "/crawl-data/{crawl}/warc.paths.gz", "/{file}"):
        yield _get("crawls", DATA + path)
    for door, span in (("records", "{span}"), ("records", "0-{last}"), ("parts of records", "-1000")):
        yield _get(door, DATA + "/{file}", ("Range", f"bytes={span}"))


def _mcp_templates() -> Iterator[Template]:
    """Yield every tool of every MCP address, and its lists."""
    accepts = (("Accept", "application/json"),)
    for path, toolset in TOOLSETS_BY_PATH.items():
        for tool in toolset.tools:
            yield _post("mcp", f"{HERE}/mcp{path}", _tool_call(tool), *accepts)
        for method in ("resources/list", "resources/templates/list", "tools/list"):
            yield _post("mcp", f"{HERE}/mcp{path}", _rpc(method, lambda draw: {}), *accepts)
        yield _post("mcp", f"{HERE}/mcp{path}", _rpc("resources/read", lambda draw: {"uri": draw.url}), *accepts)


def _rpc(method: str, params: Callable[[Draw], object]) -> Callable[[Draw], object]:
    return lambda draw: {"jsonrpc": "2.0", "id": 1, "method": method, "params": params(draw)}


def _tool_call(tool: Tool) -> Callable[[Draw], object]:
    """Return what builds a call of the tool: texts that name a page have its address, others the query."""
    texts = [
        name for name, schema in tool.properties.items() if schema.get("type") == "string" and "enum" not in schema
    ]

    def params(draw: Draw) -> object:
        values = {name: draw.url if name in ("url", "id", "docid") else draw.query for name in texts}
        return {"name": tool.name, "arguments": values}

    return _rpc("tools/call", params)


def _dialect_templates(dialect: Dialect) -> Iterator[Template]:
    """Yield every route of a service, at its path here and at its own host."""
    for base in [f"{HERE}/{dialect.name}", *(f"https://{host}" for host in dialect.hosts[:1])]:
        for route in dialect.routes:
            paths = len(list(expand_route(route.path, "q", "u")))
            for index, method in product(range(paths), route.methods):
                yield _dialect_template(dialect.name, base, route.path, index, method)


def _dialect_template(name: str, base: str, pattern: str, index: int, method: str) -> Template:
    def fill(draw: Draw, random: Random) -> AuditRequest | None:
        query = draw.prefix if _COMPLETES.search(pattern) else draw.query
        paths = list(expand_route(pattern, query, draw.url))
        if index >= len(paths):
            return None
        bodies = list_bodies(query, draw.url, draw.site)
        body = random.choices(bodies, [len(body) ** 2 for body in bodies])[0]
        if method == "GET":
            texts = {key: value[0] if isinstance(value, list) else str(value) for key, value in body.items()}
            url = base + paths[index] + "?" + urlencode({**texts, "format": "json", "cx": "any"})
            return AuditRequest(name, "GET", url)
        headers = (("Content-Type", "application/json"),)
        return AuditRequest(name, method, base + paths[index], json.dumps(body).encode(), headers)

    return Template(name, fill)


def list_templates() -> list[Template]:
    """Return all ways to ask."""
    return [
        *_native_templates(),
        *_web_templates(),
        *_archive_templates(),
        *_mcp_templates(),
        *(template for dialect in DIALECTS for template in _dialect_templates(dialect)),
    ]


def draw_requests(
    draws: Callable[[Random], Draw], count: int, seed: int, doors: Collection[str] = ()
) -> Iterator[AuditRequest]:
    """Yield `count` requests; equal seeds give equal ones. Doors take turns, so that small ones are asked as often.

    Raises:
        BadRequest: one of `doors` does not exist; none named are all.
    """
    random = Random(seed)
    by_door: dict[str, list[Template]] = {}
    for template in list_templates():
        by_door.setdefault(template.door, []).append(template)
    if unknown := sorted(set(doors) - by_door.keys()):
        raise BadRequest(f"there is no door {unknown[0]!r}", action=f"choose from {', '.join(by_door)}")
    by_door = {door: templates for door, templates in by_door.items() if not doors or door in doors}
    turns = [_shuffled_for_ever(templates, random) for templates in by_door.values()]
    request_count = 0
    for turn in cycle(turns):
        if request_count == count:
            return
        request = next(turn).fill(draws(random), random)
        if request is not None:
            request_count += 1
            yield request


def _shuffled_for_ever(templates: Sequence[Template], random: Random) -> Iterator[Template]:
    """Yield all templates in random order, again and again."""
    while True:
        yield from random.sample(templates, len(templates))
