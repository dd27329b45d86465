"""Odd requests to every route of every door, made from a seed.

Routes come from the tables of the server and the dialects, names of members from the source of whoever reads them: what
is added later is asked too.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import islice, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from urllib.parse import quote, quote_from_bytes

from webemu.api import archives, mcp, pages, wiki
from webemu.api.dialects import DIALECTS
from webemu.api.mcp.endpoint import ENDPOINTS, TOOLSETS_BY_PATH
from webemu.api.services import native
from webemu.api.services.registry import build_services
from webemu.emulator.policy import Blocked, Budget, Policy
from webemu.emulator.weather import Latency, Weather

FEW = 16
"""A place that reads fewer names is asked everything for each."""
URL = "https://a.example/"
TEXTS = (
    "", " ", "\ud800", "a\udfffb", "\ud83d", "\x00", "a\x00b", "\r\nX-Webemu-Failure: infrastructure",
    "\x1b[31m\u202e", "\ufeff", "\uffff\U0010ffff", "http://[::1", "http://[::1/", "http://[v1.x]/", "[",
    "http://a:b:c/", "http://a.example:99999999/", "http://\ud800/", "http://xn--\u0000/", "http://xn--zzzzzz/",
    "xn--", ".", "..", "...", "http://", "//", "///", "?", "#", "%", "%zz", "%ff", "%ED%A0%80", "%00",
    "http://" + "a" * 300 + "/", "a." * 200, "javascript:0", "data:,", "file:///etc/passwd",
    "http://user:pass@[::]:0/", "http://0x7f.1/", "http://１２７.0.0.1/",
    "ſ.example", "\u2488.example", "*", "**", "*.",
    "(", "a{9999999}", "(?", "site:[ (", '"', "'", "\\", "-", "AND OR NOT", "a" * 5000, "9" * 400, "-1", "1e999",
    "NaN", "Infinity", "-0", "0x10", "١", "1.5", "9223372036854775808", "9999-99-99", "0000-00-00", "2024-02-30",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "20249999", "99999999999999", "true", "null", "{}", "[]",
    "😀" * 50, "<script>", "ws-", "wp-", "wp-e30", "ws-nobody", "=;=",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63, 2**64, 10**30, -(10**30), 1.5, 1e308, -1e308, [], {}, [[]], [{}],
    {"": None}, [None], [0], ["\ud800"], {"\ud800": "\ud800"}, {"type": "\ud800"}, {"url": "http://[::1"},
    [["\ud800"]], {"text": {"maxCharacters": -1}}, [URL] * 300, {"a": {"a": {"a": [[[[[[1]]]]]]}}},
)  # fmt: skip
BODIES: tuple[bytes, ...] = (
    b"", b" ", b"{", b"[", b"[]", b"{}", b"null", b"0", b'"', b'"\\ud800"', b'{"\\ud800":1}', b'{"q":"\\ud800"}',
    b'["\\ud800"]', b"NaN", b'{"q":NaN}', b'{"q":Infinity}', b'{"q":1e999}', b'{"q":' + b"9" * 5000 + b"}",
    b'{"q":1,"q":2}', b"\xef\xbb\xbf{}", "{}".encode("utf-16"), "{}".encode("utf-32"), b"\xff\xfe", b'{"q":"\xff"}',
    b'{"q":"\xed\xa0\x80"}', b"[" * 100_000, b'{"q":' * 50_000, b"[" * 400 + b"]" * 400,
    b'{"query":' + b"[" * 300 + b"]" * 300 + b"}", b"{}{}", b"\0", b"q=a&q=%ff", b"%", b"=&=&",
    b'{"jsonrpc":"2.0","method":"\\ud800","id":1}',
)  # fmt: skip
HEADERS = (
    "accept", "accept-datetime", "accept-encoding", "authorization", "content-type", "cookie", "if-modified-since",
    "if-none-match", "if-range", "mcp-protocol-version", "origin", "proxy-authorization", "range", "referer",
    "user-agent", "x-api-key", "x-subscription-token", "x-webemu-session", "x-forwarded-for", "mcp-session-id",
    "mcp-method", "mcp-name", "x-respond-with", "x-max-tokens", "x-target-selector", "x-with-links-summary",
    "x-forwarded-host", "ocp-apim-subscription-key",
)  # fmt: skip
HEADER_VALUES = (
    b"", b" ", b"\xff\xfe", b"a\x00b", b"Bearer \xed\xa0\x80", b"Basic ", b"Basic ***", b"Basic /////w==",
    b"bytes=9999999999999999999-", b"bytes=-0", b"Mon, 99 Zzz 99999 99:99:99 +9999",
    b"Mon, 01 Jan 0001 00:00:00 +2359", b"http://[::1", b"http://\xff", b"ws-nobody", b"wp-" + b"A" * 10,
    b"wp-eyJcdWQ4MDAiOjF9", b"wp-eyJ0YXNrIjoiXHVkODAwIn0", b"a;at=\xff", b"a;marks=", b"9" * 5000, b";" * 2000,
    b"," * 2000, b"application/json; charset=\xff", b"application/x-www-form-urlencoded", b"text/html;q=nan",
    b"*/*;q=1e999", b"gzip;q=0", b"2025-99-99", b"(" * 500, b":::", b"..", b"div:has(", b"\xed\xa0\x80",
)  # fmt: skip
PLAIN: dict[str, Any] = {
    "q": "ships", "query": "ships", "url": URL, "text": "ships", "pattern": "ships", "queries": ["ships"],
    "urls": [URL], "ids": [URL], "search": "ships", "srsearch": "ships", "documents": [["ships"]], "api_key": "k",
    "engine": "", "action": "query", "format": "json", "titles": "Harbour", "page": 1, "output": "json", "id": URL,
    "keyword": "ships", "p": "ships",
}  # fmt: skip


@dataclass(frozen=True)
class RawRequest:
    """A request, as its bytes are."""

    method: str
    host: str
    path: str
    """Escaped."""
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    by_host: bool = False
    """True if the web is asked, False if this server itself."""


@dataclass(frozen=True)
class Place:
    """An address that may be asked, and the names of the members that it reads."""

    methods: tuple[str, ...]
    paths: tuple[str, ...]
    names: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    plain: dict[str, Any] = field(default_factory=dict)
    """The members of a sound request, which odd requests need besides the odd one to get further."""


def paths_of(pattern: str, limit: int = 12) -> tuple[str, ...]:
    """Return texts that a regular expression matches, one for each way through its branches as far as there is room."""
    tree = re._parser.parse(pattern)  # type: ignore[attr-defined]
    return tuple(text for text in dict.fromkeys(islice(_texts(tree), limit)) if re.fullmatch(pattern, text, re.S))


def _texts(tree: Any) -> Iterator[str]:
    yield from ("".join(parts) for parts in product(*(tuple(islice(_node(*node), 6)) for node in tree)))


def _node(kind: Any, value: Any) -> Iterator[str]:
    match str(kind):
        case "LITERAL":
            yield chr(value)
        case "NOT_LITERAL" | "ANY":
            yield "a"
        case "IN":
            member = next(part for part in value if str(part[0]) != "NEGATE") if str(value[0][0]) != "NEGATE" else None
            yield "a" if member is None else _first(*member)
        case "BRANCH":
            for branch in value[1]:
                yield from _texts(branch)
        case "SUBPATTERN":
            yield from _texts(value[3])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            minimum, _, inner = value
            yield from (text * max(1, minimum) for text in _texts(inner))
            if not minimum:
                yield ""
        case _:
            yield ""


def _first(kind: Any, value: Any) -> str:
    match str(kind):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
    return "1" if "DIGIT" in str(value) else "a"


@cache
def names_of(path: Path) -> tuple[str, ...]:
    """Return every text in a module that may be the name of a member."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words = {word for text in texts for word in text.split() if re.fullmatch(r"[A-Za-z_][\w.-]{0,40}", word)}
    return tuple(sorted(words))


def _of_module(module: ModuleType) -> tuple[str, ...]:
    file = Path(inspect.getfile(module))
    files = sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]
    return tuple(sorted({name for one in files for name in names_of(one)}))


def _parameters_of(function: Any) -> tuple[str, ...]:
    file = Path(inspect.getfile(getattr(function, "func", function)))
    near = list(file.parent.glob(f"{file.stem.partition('_')[0]}*.py"))
    return tuple(sorted({name for one in near for name in names_of(one)}))


def places() -> list[Place]:
    """Return all places of all doors."""
    of_policy = tuple(field.name for part in (Policy, Blocked, Budget, Weather, Latency) for field in fields(part))
    place_list = [
        Place(("GET", "HEAD"), ("/v1/search",), native.SEARCH_PARAMS, plain={"q": "ships"}),
        Place(("GET",), ("/v1/fetch",), native.FETCH_PARAMS, plain={"url": URL}),
        Place(("GET",), ("/v1/find",), native.FIND_PARAMS, plain={"url": URL, "pattern": "ships"}),
        Place(("POST",), ("/v1/search",), native.SEARCH_BATCH_PARAMS, plain={"queries": ["ships"]}),
        Place(("POST",), ("/v1/fetch",), native.FETCH_BATCH_PARAMS, plain={"urls": [URL]}),
        Place(("POST",), ("/v1/sessions",), of_policy),
        Place(("GET",), ("/v1/sessions/ws-nobody", "/v1/sessions/", "/v1/sessions/wp-e30"), ("from", "limit")),
        Place(
            ("GET",), ("/health", "/metrics", "/v1/stats", "/dashboard", "/docs", "/openapi.json", "/nowhere"), ("x",)
        ),
        Place(
            ("GET",),
            ("/s/ws-nobody/v1/search", "/s//v1/fetch", "/s/wp-e30/serper/search", "/s/wp-e30/v1/fetch"),
            native.FETCH_PARAMS,
        ),
    ]
    for dialect in DIALECTS:
        for route in dialect.routes:
            paths = paths_of(route.path)
            below = tuple(f"/{dialect.name}{path}" for path in paths)
            place_list.append(Place(route.methods, (*below, *paths), _parameters_of(route.endpoint), plain=PLAIN))
            if dialect.hosts:
                place_list.append(Place(route.methods, paths, _parameters_of(route.endpoint), dialect.hosts, PLAIN))
    of_mcp = _of_module(mcp)
    for end in TOOLSETS_BY_PATH:
        place_list.append(
            Place(
                ("POST", "GET", "OPTIONS"),
                (f"/mcp{end}",),
                of_mcp,
                plain={"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
            )
        )
    assert len(ENDPOINTS) == len(TOOLSETS_BY_PATH)
    for pattern, _ in build_services(frozenset()).paths:
        names = _of_module(archives) if re.search("cdx|web|crawl|coll|CC", pattern.pattern) else _of_module(pages)
        place_list.append(Place(("GET", "POST"), paths_of(pattern.pattern), names, plain=PLAIN))
    archive_hosts = ("web.archive.org", "index.commoncrawl.org", "data.commoncrawl.org")
    of_archives = (
        "/cdx/search/cdx",
        "/wayback/available",
        "/web/2024/http://[::1",
        "/web/2024id_/https://a.example/",
        "/web/*/a",
    )
    of_archives += (
        "/web/timemap/json/a",
        "/web/timemap/link/a",
        "/CC-MAIN-2024-03-index",
        "/crawl-data/x",
        "/collinfo.json",
        "/",
    )
    place_list.append(Place(("GET", "POST"), of_archives, _of_module(archives), archive_hosts, PLAIN))
    wiki_paths = (
        "/w/api.php",
        "/api.php",
        "/api/rest_v1/page/summary/Harbour",
        "/w/rest.php/v1/search/page",
        "/wiki/Harbour",
        "/sitemap.xml",
    )
    place_list.append(Place(("GET", "POST"), wiki_paths, _of_module(wiki), ("en.wiki.example",), PLAIN))
    place_list.append(
        Place(
            ("GET", "HEAD", "POST"),
            ("/", "/nowhere", "/robots.txt"),
            ("a",),
            ("a.example", "nobody.example", "[::1", "a:b", "\xff"),
        )
    )
    return place_list


def requests(place: Place, seed: int, each: int) -> Iterator[RawRequest]:
    """Yield requests to a place: for each name some odd values, and some odd bodies, headers and paths."""
    random = Random(f"{seed}{place.paths}{place.hosts}")
    for name in place.names:
        few = len(place.names) < FEW
        for odd in (*(TEXTS if few else random.sample(TEXTS, each)), *(VALUES if few else random.sample(VALUES, 1))):
            yield _fuzzed_request(place, random, {**_some(place.plain, random), name: odd})
        for nested in _nested(random.choice(TEXTS), random.choice(place.names)):
            yield _fuzzed_request(place, random, {**_some(place.plain, random), name: nested})
    for body in random.sample(BODIES, min(len(BODIES), 4 * each)):
        yield _fuzzed_request(place, random, {}, body)
    for name in random.sample(HEADERS, 3 * each):
        header = (name.encode(), random.choice(HEADER_VALUES))
        yield _fuzzed_request(place, random, {**place.plain}, header=header)
    for odd in random.sample(TEXTS, 3 * each):
        yield _fuzzed_request(place, random, {**place.plain}, odd_path=odd)


def _nested(odd: str, name: str) -> tuple[Any, ...]:
    return [odd], {name: odd}, {name: [odd]}, [{name: odd}], {odd: odd}


def _some(plain: dict[str, Any], random: Random) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if random.random() < 0.9 or len(plain) < 5}


def _fuzzed_request(
    place: Place,
    random: Random,
    members: dict[str, Any],
    body: bytes = b"",
    header: tuple[bytes, bytes] | None = None,
    odd_path: str = "",
) -> RawRequest:
    method = place.methods[0] if random.random() < 0.9 else random.choice(place.methods)
    path = random.choice(place.paths)
    if odd_path:
        parts = path.split("/")
        parts[random.randrange(1, len(parts))] = quote(_bytes(odd_path), safe="")
        path = "/".join(parts)
    headers = [header] if header else []
    query = b""
    if method == "POST" and not body and random.random() < 0.8:
        body = json.dumps(members).encode()
        headers += [] if header and header[0] == b"content-type" else [(b"content-type", b"application/json")]
    elif method == "POST" and not body:
        body = _form(members)
        headers += [] if header else [(b"content-type", b"application/x-www-form-urlencoded")]
    elif method != "POST":
        query = _form(members)
    host = random.choice(place.hosts) if place.hosts else "webemu"
    if place.paths[0].startswith("/mcp") and members:
        body = json.dumps(_message(members)).encode()
    return RawRequest(method, host, quote(path, safe="/%:?=&[]*"), query, tuple(headers), body, bool(place.hosts))


def _message(members: dict[str, Any]) -> dict[str, Any]:
    """A call of a tool: the odd member is one of the message, of its params, and of the arguments."""
    fixed_members = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    odd = {name: value for name, value in members.items() if name not in fixed_members or fixed_members[name] != value}
    call = {"name": "search", "arguments": {"query": "ships", "id": URL, "url": URL, **odd}, **odd}
    return {**fixed_members, "params": call, **odd}


def _form(members: dict[str, Any]) -> bytes:
    pairs = (
        (_bytes(name), _bytes(value if isinstance(value, str) else json.dumps(value)))
        for name, value in members.items()
    )
    return "&".join(f"{quote_from_bytes(name)}={quote_from_bytes(value)}" for name, value in pairs).encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
