"""Jina's Reader (`r.jina.ai`): a page as markdown, text or HTML; its URL is the path, or in the body of a POST.

Whatever status the target answered is no error of the Reader: an error page is read, with a warning. The wire format
is from the source (jina-ai/reader, `crawler.ts`). Screenshots are refused, because a crawl has none.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import orjson

from webemu.api.dialects.dialect import Dialect, Route, build_response, get_header, read_params
from webemu.api.dialects.jina_page import (
    FORMATS,
    SCREENSHOT_FORMATS,
    PageData,
    ReaderOptions,
    Source,
    build_page_data,
    format_page_text,
    read_title,
)
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, PayloadError, ServiceRefusal, ViewUnavailable
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

TEXT_TYPE = b"text/plain; charset=utf-8"
_SSE_TYPE = b"text/event-stream; charset=utf-8"
MAX_SELECTORS = 20
"""Most CSS selectors in one option."""
READER_HOSTS = ("r.jina.ai", "s.jina.ai")
"""Hosts that the Reader refuses to read, because they are its own."""
_REPEATED_SCHEMES = re.compile(r"^(?:(?:https?:/+)|(?:view-source:))+(https?:/+)", re.IGNORECASE)
"""Schemes that are written in front of another scheme."""
INDEX_TEXT = (
    b"[Usage1] https://r.jina.ai/YOUR_URL\n[Usage2] https://s.jina.ai/YOUR_SEARCH_QUERY\n"
    b"[Homepage] https://jina.ai/reader\n"
)
"""Response to a request without a URL or query."""


def answer_read(world: World, request: Request) -> Response:
    """Answer with a page, in the form that the client accepts."""
    params = read_params(request) if request.method == "POST" else {}
    posted_html = _get_option(request, params, "html") if request.method == "POST" else ""
    url = read_target(request, str(params.get("url") or ""))
    if not url and not posted_html:
        if request.method == "POST":
            raise BadRequest("No URL provided", reason="bad-url")
        return build_response(INDEX_TEXT, content_type=TEXT_TYPE)
    options = read_options(request, params)
    _check_format(request, options)
    source = (
        Source(url or "blob:", url, read_title(posted_html), "", posted_html)
        if posted_html
        else load_source(world, request, url)
    )
    return render_page(request, build_page_data(world, source, options))


def _check_format(request: Request, options: ReaderOptions) -> None:
    """Raise ViewUnavailable if a screenshot is asked for, BadRequest if a client that accepts only text needs JSON."""
    if options.format in SCREENSHOT_FORMATS:
        raise ViewUnavailable(f"No content available for URL {request.target[1:]}")
    if accepted_form(request) == "text" and options.format not in FORMATS:
        raise BadRequest(
            "Looks like you might be requesting compound content format, please explicitly accept 'text/event-stream'"
            " or 'application/json' in header, or check your request.",
            reason="bad-respondWith",
        )


def read_target(request: Request, posted: str) -> str:
    """Return the URL to read: from the path and query, else `posted` from the body; empty if there is none.

    Raises: ServiceRefusal if the URL is the Reader's own.
    """
    url = request.target[1:].strip() or posted.strip()
    if not url.lower().startswith(("http", "view-source:")) or "://" not in url[:12]:
        url = unquote(url)  # some clients escape the whole URL
    # The server's own address stands in front of the URL again if a client applied its prefix twice.
    own_host = re.escape(request.host)
    url = re.sub(rf"^(https?:/+)?{own_host}(:\d+)?/", "", url, flags=re.IGNORECASE) if own_host else url
    url = _REPEATED_SCHEMES.sub(r"\1", url)
    if url and urls.host_of(urls.parse_user_url(url)) in {*READER_HOSTS, request.host}:
        host = urls.host_of(urls.parse_user_url(url))
        raise ServiceRefusal(f"Circular hostname: {host}", reason="circular", status=451)
    return urls.parse_user_url(url) if url else ""


_NETWORK_ERRORS = {"redirect-loop": "ERR_TOO_MANY_REDIRECTS"}
"""Chromium's names of errors by reason; a redirect out of the emulated web leads to a name that does not resolve."""


def load_source(world: World, request: Request, url: str) -> Source:
    """Return the document at a URL.

    For a URL that is not captured it is the captured error page of its host, else a plain 404. Raises BadRequest if
    the host is not captured, ViewUnavailable if there is nothing to read.
    """
    at_time = request.session.at_time
    try:
        capture, payload = world.payload(PageRequest(url, "raw", at_time))
    except NotCaptured as error:
        if error.reason == "host-not-captured":
            raise BadRequest(f"Domain '{urls.host_of(url)}' could not be resolved", reason="bad-url") from error
        error_page = world.error_page_of(urls.host_of(url), at_time) if error.reason == "url-not-captured" else None
        if error_page is None:
            return _not_found_source(url, error)
        capture, payload = error_page
    title, text = world.text_of(capture)
    html = world.html_of(capture) if _is_markup(capture) else None
    if html is None and not text:
        raise ViewUnavailable(f"No content available for URL {url}")
    return Source(url, capture.url, title, text, html, payload.status, payload.reason)


def _not_found_source(url: str, error: NotCaptured) -> Source:
    """Return the plain 404 that the emulated web answers for a URL. Raises ViewUnavailable if the failure is another
    one.
    """
    if error.reason != "url-not-captured":
        network_error = _NETWORK_ERRORS.get(error.reason, "ERR_NAME_NOT_RESOLVED")
        raise ViewUnavailable(f"Failed to goto {url}: Error: net::{network_error} at {url}") from error
    return Source(url, url, "", "Not Found", None, 404, "Not Found")


def _is_markup(capture: Capture) -> bool:
    return capture.mime in ("text/html", "application/xhtml+xml")


def read_options(request: Request, params: dict[str, object]) -> ReaderOptions:
    """Return the options of a request: of headers, and of a POST's body under the same names in camel case.

    Raises: BadRequest if a number is wrong.
    """

    def option(name: str) -> str:
        return _get_option(request, params, name)

    links, images = option("with-links-summary"), option("with-images-summary")
    return ReaderOptions(
        option("respond-with") or option("return-format") or "content",
        _split_selectors(option("target-selector")),
        _split_selectors(option("remove-selector")),
        links if links in ("all", "true") else "true" if links.lower() not in ("", "false", "0", "null") else "",
        images.lower() not in ("", "false", "0", "null"),
        option("retain-images") or "all",
        option("retain-links") or "all",
        _parse_number(option("max-tokens"), "maxTokens", 500),
        _parse_number(option("token-budget"), "tokenBudget", 0),
    )


def _split_selectors(value: str) -> tuple[str, ...]:
    """Split an option into CSS selectors, which commas with a space separate."""
    return tuple(one for one in value.split(", ") if one)[:MAX_SELECTORS]


def _get_option(request: Request, params: dict[str, object], name: str) -> str:
    """Return one option as text, the body's before the header's; empty if neither has it."""
    first_word, *more_words = name.split("-")
    value = params.get(first_word + "".join(map(str.capitalize, more_words)))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if value is not None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return get_header(request, f"x-{name}".encode())


def _parse_number(digits: str, name: str, minimum: int) -> int:
    """Return an option as a number, 0 if it is empty. Raises BadRequest below `minimum` or if it is not a number."""
    if not digits:
        return 0
    if not (digits.isascii() and digits.isdigit()) or int(digits) < minimum:
        raise BadRequest(f"Invalid value {digits[:40]!r} for {name}", reason=f"bad-{name}")
    return int(digits)


def accepted_form(request: Request) -> str:
    """Return the form that the client accepts: `text`, `stream` or `json`. Text wins wherever it is accepted."""
    accept_header = get_header(request, b"accept") or "*/*"
    kinds = {part.partition(";")[0].strip().lower() for part in accept_header.split(",")}
    if kinds & {"*/*", "text/*", "text/plain"}:
        return "text"
    if "text/event-stream" in kinds:
        return "stream"
    return "json" if kinds & {"application/json", "text/json", "application/*"} else "text"


def render_page(request: Request, page_data: PageData) -> Response:
    """Return a page as a response in the form that the client accepts."""
    token_count = page_data["usage"]["tokens"]
    usage_headers: Headers = [(b"X-Usage-Tokens", str(token_count).encode())]
    match accepted_form(request):
        case "stream":
            return build_response(b"event: data\ndata: " + orjson.dumps(page_data) + b"\n\n", content_type=_SSE_TYPE)
        case "json":
            return build_response(wrap_json(page_data, token_count), headers=usage_headers)
        case _:
            return build_response(format_page_text(page_data).encode(), headers=usage_headers, content_type=TEXT_TYPE)


def wrap_json(data: object, token_count: int) -> dict[str, object]:
    """Return the envelope of JSON responses."""
    return {"code": 200, "status": 20000, "data": data, "meta": {"usage": {"tokens": token_count}}}


_NO_BALANCE = "Account balance not enough to run this query, please recharge."
_ERRORS = {
    "bad-key": (401, 40103, "AuthenticationFailedError", "Invalid API key, please get a new one from https://jina.ai"),
    "rate-limited": (429, 42903, "RateLimitTriggeredError", ""),
    "out-of-budget": (402, 40203, "InsufficientBalanceError", _NO_BALANCE),
    "over-budget": (409, 40904, "BudgetExceededError", ""),
    "circular": (451, 45102, "SecurityCompromiseError", ""),
}
"""HTTP status, Jina's code and name, and message (empty for the error's own), by reason."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as JSON, or as one line for a client that accepts nothing but plain text."""
    status, code, name, message = _classify_error(error)
    path = error.reason.removeprefix("bad-") if isinstance(error, BadRequest) and error.reason != "bad-request" else ""
    line = f"{name}({path}): {message}" if path else f"{name}: {message}"
    headers: Headers = [(b"Retry-After", b"1")] if status == 429 else []
    if get_header(request, b"accept").partition(";")[0].strip() == "text/plain":
        return build_response(line.encode(), status, headers, TEXT_TYPE)
    payload: dict[str, object] = {"data": None}
    payload |= ({"path": path} if path else {}) | ({"retryAfter": 1} if headers else {})
    payload |= {"code": status, "name": name, "status": code, "message": message, "readableMessage": line}
    return build_response(payload, status, headers)


def _classify_error(error: EmulatorError) -> tuple[int, int, str, str]:
    """Return HTTP status, Jina's code and name, and message of an error."""
    if error.reason in _ERRORS:
        status, code, name, message = _ERRORS[error.reason]
        return status, code, name, message or error.message
    if is_server_fault(error):
        return 503, 50303, "ServiceNodeResourceDrainError", error.message
    if isinstance(error, BadRequest):
        return 400, 40001, "ParamValidationError", error.message
    if isinstance(error, (NotCaptured, ViewUnavailable, PayloadError)):
        return 422, 42206, "AssertionFailureError", error.message
    return error.status, error.status * 100, "RPCMethodNotFoundError", error.message


DIALECT = Dialect(
    "jina",
    "Jina Reader",
    ("r.jina.ai",),
    (Route(("GET", "POST"), "(?s:/.*)", answer_read),),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    "by name through the proxy; `JINA_BASE_URL=http://127.0.0.1:8800/jina` where a client has one",
)
