"""One page of this server as a response: a filled and escaped template.

Its Content-Security-Policy lets only our own script run, which is named by its hash, and nothing load from elsewhere.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from webemu.api.http.errors import INFRASTRUCTURE, is_server_fault
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import Headers, Response, compose_response
from webemu.api.pages import addresses
from webemu.emulator.errors import EmulatorError
from webemu.emulator.world import World

HTML_TYPE = "text/html; charset=utf-8"
_POLICY_TEMPLATE = (
    "default-src 'none'; style-src '{style}'; script-src '{script}';"
    " img-src 'self' data:; form-action 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'"
)


@cache
def _load_templates() -> Environment:
    """Return the environment of this package's templates, which fails on an undefined name."""
    loader = PackageLoader("webemu.api.pages")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = Markup(loader.get_source(environment, "style.css")[0])
    environment.globals["script"] = Markup(loader.get_source(environment, "page.js")[0])
    environment.globals["addresses"] = addresses
    return environment


@cache
def _security_policy() -> bytes:
    """Return the Content-Security-Policy (CSP level 3), in which the only style sheet and script are named by hash."""
    texts = {name: str(_load_templates().globals[name]) for name in ("style", "script")}
    hashes = {name: b64encode(sha256(text.encode()).digest()).decode() for name, text in texts.items()}
    return _POLICY_TEMPLATE.format(**{name: f"sha256-{text}" for name, text in hashes.items()}).encode()


def fill_template(template: str, **values: object) -> bytes:
    """Return a filled template as bytes."""
    return _load_templates().get_template(template).render(**values).encode("utf-8", "replace")


def render_page(world: World, template: str, error: EmulatorError | None = None, **values: object) -> Response:
    """Return a page of HTML with the status of the error, 200 without one. Templates know the world as `world`."""
    return build_response(fill_template(template, world=world, error=error, **values), HTML_TYPE, world.snapshot, error)


def security_headers() -> Headers:
    """Return the headers that bind a page to what it may run and load."""
    return [
        (b"Content-Security-Policy", _security_policy()),
        (b"X-Content-Type-Options", b"nosniff"),
        (b"Referrer-Policy", b"no-referrer"),
    ]


def build_response(body: bytes, content_type: str, snapshot: str, error: EmulatorError | None = None) -> Response:
    """Return a response with the headers that all of these pages share."""
    headers: Headers = [*security_headers(), (b"X-Webemu-Snapshot", snapshot.encode())]
    return compose_response(
        error.status if error else 200, content_type.encode(), body, headers + _debug_headers(error)
    )


def _debug_headers(error: EmulatorError | None) -> Headers:
    """Return this server's headers for an error; none without one."""
    if error is None:
        return []
    reason = (b"X-Webemu-Reason", error.reason.encode())
    return [reason, INFRASTRUCTURE] if is_server_fault(error) else [reason]


def as_handler(answer_page: Callable[[World, Request], Response]) -> Handler:
    """Wrap a function as a handler: its errors become HTML pages; methods other than GET and HEAD are passed on."""

    @wraps(answer_page)
    def handle(world: World, request: Request) -> Response | None:
        # None passes the request on: another handler may answer it.
        if request.method not in ("GET", "HEAD"):
            return None
        try:
            return answer_page(world, request)
        except EmulatorError as error:
            return render_page(world, "problem.html", error, url=first_param(request, "url"))

    return handle


def first_param(request: Request, name: str, limit: int = 8192) -> str:
    """Return the first parameter of a name, stripped and cut to `limit` characters; empty if there is none."""
    return next((value.strip()[:limit] for key, value in request.parameters if key == name), "")
