"""Jina's Reader (`r.jina.ai`): a page as markdown, text or HTML; its URL is the path, or in the body of a POST.

Whatever status the target answered is no error of the Reader: an error page is read, with a warning. The wire format
is from the source (jina-ai/reader, `crawler.ts`). Screenshots are refused, because a crawl has none.
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
"""Most CSS selectors in one option."""
HOSTS = ("r.jina.ai", "s.jina.ai")
"""Hosts that the Reader refuses to read, because they are its own."""
_REPEATED = re.compile(r"^(?:(?:https?:/+)|(?:view-source:))+(https?:/+)", re.IGNORECASE)
"""Schemes that are written in front of another scheme."""
INDEX = (
    b"[Usage1] https://r.jina.ai/YOUR_URL\n[Usage2] https://s.jina.ai/YOUR_SEARCH_QUERY\n"
    b"[Homepage] https://jina.ai/reader\n"
)
"""Response to a request without a URL or query."""


def read(world: World, request: Request) -> Reply:
    """Answer with a page, in the form that the client accepts."""
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
    """Raise ViewUnavailable if a screenshot is asked for, BadRequest if a client that accepts only text needs JSON."""
    if wanted.format in PICTURES:
        raise NoView(f"No content available for URL {request.target[1:]}")
    if accepted(request) == "text" and wanted.format not in FORMATS:
        raise BadRequest(
            "Looks like you might be requesting compound content format, please explicitly accept 'text/event-stream'"
            " or 'application/json' in header, or check your request.",
            reason="bad-respondWith",
        )


def target(request: Request, posted: str) -> str:
    """Return the URL to read: from the path and query, else `posted` from the body; empty if there is none.

    Raises: ServiceRefusal if the URL is the Reader's own.
    """
    url = request.target[1:].strip() or posted.strip()
    if not url.lower().startswith(("http", "view-source:")) or "://" not in url[:12]:
        url = unquote(url)  # some clients escape the whole URL
    # The server's own address stands in front of the URL again if a client applied its prefix twice.
    own = re.escape(request.host)
    url = re.sub(rf"^(https?:/+)?{own}(:\d+)?/", "", url, flags=re.IGNORECASE) if own else url
    url = _REPEATED.sub(r"\1", url)
    if url and urls.host(urls.guess(url)) in {*HOSTS, request.host}:
        host = urls.host(urls.guess(url))
        raise Refused(f"Circular hostname: {host}", reason="circular", status=451)
    return urls.guess(url) if url else ""


def source_of(world: World, request: Request, url: str) -> Source:
    """Return the document at a URL.

    For a URL that is not captured it is the captured error page of its host, else a plain 404. Raises BadRequest if
    the host is not captured, ViewUnavailable if there is nothing to read.
    """
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
    """Return the plain 404 that the emulated web answers for a URL. Raises ViewUnavailable if the failure is another
    one.
    """
    if error.reason != "url-not-captured":
        raise NoView(f"Failed to goto {url}: {error.message}") from error
    return Source(url, url, "", "Not Found", None, 404, "Not Found")


def _is_markup(capture: Capture) -> bool:
    return capture.mime in ("text/html", "application/xhtml+xml")


def wishes(request: Request, asked: dict[str, Any]) -> Wishes:
    """Return the options of a request: of headers, and of a POST's body under the same names in camel case.

    Raises: BadRequest if a number is wrong.
    """

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
    """Split an option into CSS selectors, which commas with a space separate."""
    return tuple(one for one in value.split(", ") if one)[:MOST_SELECTORS]


def _option(request: Request, asked: dict[str, Any], name: str) -> str:
    """Return one option as text, the body's before the header's; empty if neither has it."""
    first, *rest = name.split("-")
    value = asked.get(first + "".join(map(str.capitalize, rest)))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if value is not None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return header(request, f"x-{name}".encode())


def _whole(value: str, name: str, least: int) -> int:
    """Return an option as a number, 0 if it is empty. Raises BadRequest below `minimum` or if it is not a number."""
    if not value:
        return 0
    if not (value.isascii() and value.isdigit()) or int(value) < least:
        raise BadRequest(f"Invalid value {value[:40]!r} for {name}", reason=f"bad-{name}")
    return int(value)


def accepted(request: Request) -> str:
    """Return the form that the client accepts: `text`, `stream` or `json`. Text wins wherever it is accepted."""
    accept = header(request, b"accept") or "*/*"
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    if kinds & {"*/*", "text/*", "text/plain"}:
        return "text"
    if "text/event-stream" in kinds:
        return "stream"
    return "json" if kinds & {"application/json", "text/json", "application/*"} else "text"


def told(request: Request, found: dict[str, Any]) -> Reply:
    """Return a page as a response in the form that the client accepts."""
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
    """Return the envelope of JSON responses."""
    return {"code": 200, "status": 20000, "data": found, "meta": {"usage": {"tokens": used}}}


_BALANCE = "Account balance not enough to run this query, please recharge."
_ERRORS = {
    "bad-key": (401, 40103, "AuthenticationFailedError", "Invalid API key, please get a new one from https://jina.ai"),
    "rate-limited": (429, 42903, "RateLimitTriggeredError", ""),
    "out-of-budget": (402, 40203, "InsufficientBalanceError", _BALANCE),
    "over-budget": (409, 40904, "BudgetExceededError", ""),
    "circular": (451, 45102, "SecurityCompromiseError", ""),
}
"""HTTP status, Jina's code and name, and message (empty for the error's own), by reason."""


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as JSON, or as one line for a client that accepts nothing but plain text."""
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
    """Return HTTP status, Jina's code and name, and message of an error."""
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
