"""Jina's Reader (`r.jina.ai`): a page as markdown, text or HTML; the URL is the path, or in the body of a POST.

What a target answered is no error of the Reader: an error page is read, with a warning. Wire format from the source
(jina-ai/reader, crawler.ts). Pictures of pages, and what a browser would run, a crawl does not have.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, header, reply
from webemu.api.dialects.jina_page import FORMATS, PICTURES, Source, Wishes, page, said, titled
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, NoView, PayloadError, Refused
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

TEXT = b"text/plain; charset=utf-8"
_SSE = b"text/event-stream; charset=utf-8"
MOST_SELECTORS = 20
HOSTS = ("r.jina.ai", "s.jina.ai")
_REPEATED = re.compile(r"^(?:(?:https?:/+)|(?:view-source:))+(https?:/+)", re.IGNORECASE)
INDEX = (
    b"[Usage1] https://r.jina.ai/YOUR_URL\n[Usage2] https://s.jina.ai/YOUR_SEARCH_QUERY\n"
    b"[Homepage] https://jina.ai/reader\n"
)


def read(world: World, request: Request) -> Reply:
    """A page in the form that is accepted."""
    asked = fields(request) if request.method == "POST" else {}
    given = _option(request, asked, "html") if request.method == "POST" else ""
    url = target(request, str(asked.get("url") or ""))
    if not url and not given:
        if request.method == "POST":
            raise BadRequest("No URL provided", reason="bad-url")
        return reply(INDEX, kind=TEXT)
    wanted = wishes(request, asked)
    _check(request, wanted)
    source = Source(url or "blob:", url, titled(given), "", given) if given else source_of(world, request, url)
    return told(request, page(world, source, wanted))


def _check(request: Request, wanted: Wishes) -> None:
    if wanted.format in PICTURES:
        raise NoView(f"No content available for URL {request.target[1:]}")
    if accepted(request) == "text" and wanted.format not in FORMATS:
        raise BadRequest(
            "Looks like you might be requesting compound content format, please explicitly accept 'text/event-stream'"
            " or 'application/json' in header, or check your request.",
            reason="bad-respondWith",
        )


def target(request: Request, posted: str) -> str:
    """The URL that is wanted: of the path, query and all, else of the body; empty if there is none."""
    url = request.target[1:].strip() or posted.strip()
    if not url.lower().startswith(("http", "view-source:")) or "://" not in url[:12]:
        url = unquote(url)
    own = re.escape(request.host)
    url = re.sub(rf"^(https?:/+)?{own}(:\d+)?/", "", url, flags=re.IGNORECASE) if own else url
    url = _REPEATED.sub(r"\1", url)
    if url and urls.host(urls.guess(url)) in {*HOSTS, request.host}:
        host = urls.host(urls.guess(url))
        raise Refused(f"Circular hostname: {host}", reason="circular", status=451)
    return urls.guess(url) if url else ""


def source_of(world: World, request: Request, url: str) -> Source:
    """What is at a URL; where the crawl has nothing of it, how its host says so. Raises BadRequest and others."""
    at = request.session.at
    try:
        capture, payload = world.payload(PageRequest(url, "raw", at))
    except NotCaptured as error:
        if error.reason == "host-not-captured":
            raise BadRequest(f"Domain '{urls.host(url)}' could not be resolved", reason="bad-url") from error
        missing = world.missing(urls.host(url), at) if error.reason == "url-not-captured" else None
        if missing is None:
            return _nothing(url, error)
        capture, payload = missing
    title, text = world.text_of(capture)
    html = world.html_of(capture) if _is_markup(capture) else None
    if html is None and not text:
        raise NoView(f"No content available for URL {url}")
    return Source(url, capture.url, title, text, html, payload.status, payload.reason)


def _nothing(url: str, error: NotCaptured) -> Source:
    """What the emulated web itself answers there."""
    if error.reason != "url-not-captured":
        raise NoView(f"Failed to goto {url}: {error.message}") from error
    return Source(url, url, "", "Not Found", None, 404, "Not Found")


def _is_markup(capture: Capture) -> bool:
    return capture.mime in ("text/html", "application/xhtml+xml")


def wishes(request: Request, asked: dict[str, Any]) -> Wishes:
    """Of headers, and of the body of a POST under the same names in camel case."""

    def option(name: str) -> str:
        return _option(request, asked, name)

    links, images = option("with-links-summary"), option("with-images-summary")
    return Wishes(
        option("respond-with") or option("return-format") or "content",
        _selectors(option("target-selector")),
        _selectors(option("remove-selector")),
        links if links in ("all", "true") else "true" if links.lower() not in ("", "false", "0", "null") else "",
        images.lower() not in ("", "false", "0", "null"),
        option("retain-images") or "all",
        option("retain-links") or "all",
        _whole(option("max-tokens"), "maxTokens", 500),
        _whole(option("token-budget"), "tokenBudget", 0),
    )


def _selectors(value: str) -> tuple[str, ...]:
    return tuple(one for one in value.split(", ") if one)[:MOST_SELECTORS]


def _option(request: Request, asked: dict[str, Any], name: str) -> str:
    first, *rest = name.split("-")
    value = asked.get(first + "".join(map(str.capitalize, rest)))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if value is not None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return header(request, f"x-{name}".encode())


def _whole(value: str, name: str, least: int) -> int:
    if not value:
        return 0
    if not (value.isascii() and value.isdigit()) or int(value) < least:
        raise BadRequest(f"Invalid value {value[:40]!r} for {name}", reason=f"bad-{name}")
    return int(value)


def accepted(request: Request) -> str:
    """`text`, `stream` or `json`: text wherever that is accepted."""
    accept = header(request, b"accept") or "*/*"
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    if kinds & {"*/*", "text/*", "text/plain"}:
        return "text"
    if "text/event-stream" in kinds:
        return "stream"
    return "json" if kinds & {"application/json", "text/json", "application/*"} else "text"


def told(request: Request, found: dict[str, Any]) -> Reply:
    """A page on the wire."""
    used = found["usage"]["tokens"]
    counted: Headers = [(b"X-Usage-Tokens", str(used).encode())]
    match accepted(request):
        case "stream":
            return reply(b"event: data\ndata: " + orjson.dumps(found) + b"\n\n", kind=_SSE)
        case "json":
            return reply(enveloped(found, used), headers=counted)
        case _:
            return reply(said(found).encode(), headers=counted, kind=TEXT)


def enveloped(found: Any, used: int) -> dict[str, Any]:
    """What JSON answers are in."""
    return {"code": 200, "status": 20000, "data": found, "meta": {"usage": {"tokens": used}}}


_BALANCE = "Account balance not enough to run this query, please recharge."
_ERRORS = {
    "bad-key": (401, 40103, "AuthenticationFailedError", "Invalid API key, please get a new one from https://jina.ai"),
    "rate-limited": (429, 42903, "RateLimitTriggeredError", ""),
    "out-of-budget": (402, 40203, "InsufficientBalanceError", _BALANCE),
    "over-budget": (409, 40904, "BudgetExceededError", ""),
    "circular": (451, 45102, "SecurityCompromiseError", ""),
}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Its envelope; for those who accept nothing but text, its one line."""
    status, code, name, message = _named(error)
    path = error.reason.removeprefix("bad-") if isinstance(error, BadRequest) and error.reason != "bad-request" else ""
    line = f"{name}({path}): {message}" if path else f"{name}: {message}"
    headers: Headers = [(b"Retry-After", b"1")] if status == 429 else []
    if header(request, b"accept").partition(";")[0].strip() == "text/plain":
        return reply(line.encode(), status, headers, TEXT)
    told: dict[str, Any] = {"data": None} | ({"path": path} if path else {}) | ({"retryAfter": 1} if headers else {})
    told |= {"code": status, "name": name, "status": code, "message": message, "readableMessage": line}
    return reply(told, status, headers)


def _named(error: EmulatorError) -> tuple[int, int, str, str]:
    if error.reason in _ERRORS:
        status, code, name, message = _ERRORS[error.reason]
        return status, code, name, message or error.message
    if is_ours(error):
        return 503, 50303, "ServiceNodeResourceDrainError", error.message
    if isinstance(error, BadRequest):
        return 400, 40001, "ParamValidationError", error.message
    if isinstance(error, (NotCaptured, NoView, PayloadError)):
        return 422, 42206, "AssertionFailureError", error.message
    return error.status, error.status * 100, "RPCMethodNotFoundError", error.message


DIALECT = Dialect(
    "jina",
    "Jina Reader",
    ("r.jina.ai",),
    (Route(("GET", "POST"), "(?s:/.*)", read),),
    lambda request: header(request, b"authorization", "Bearer"),
    refuse,
    "by name through the proxy; `JINA_BASE_URL=http://127.0.0.1:8800/jina` where a client has one",
)
