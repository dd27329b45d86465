"""Registry of the services that answer requests themselves: imitated services on hosts of the web, also reachable
below this server's own address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from webemu.api.archives import routes
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect, has_route, runs_inline
from webemu.api.dialects.dialect import answer_request as speak
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import Response
from webemu.api.mcp.endpoint import ENDPOINTS
from webemu.api.mcp.session_errors import render_error
from webemu.api.pages import PAGES
from webemu.api.services import sitemap
from webemu.api.wiki import answer as wiki
from webemu.api.wiki.site import is_wikipedia
from webemu.emulator.world import World

MCP_DIALECT = Dialect("mcp", "MCP", (), (), None, render_error, "`http://127.0.0.1:8800/mcp`")
"""This server's own MCP as a dialect without routes, which only renders errors; the endpoint answers the requests."""
GENERATED_PAGES: Sequence[Handler] = (wiki.answer, sitemap.answer)
"""Handlers for pages that a site has although the crawl has no capture of them."""


@dataclass(frozen=True, slots=True)
class Services:
    """All services, by the requests that they answer."""

    hosts: Mapping[str, Handler]
    """Services by their host on the web. If a service returns None, the captures of its host answer."""
    prefixed: Mapping[str, Handler]
    """Services below this server's own address, by the first segment of the path."""
    paths: Sequence[tuple[re.Pattern[str], Handler]]
    """Other services below this server's own address, by path."""
    unprefixed: Sequence[tuple[Callable[[Request], bool], Handler]]
    """Services that recognise requests at this server's root, without a prefix."""

    dialects: Mapping[Handler, Dialect]
    """Wire format of each handler that has one in `DIALECTS`, for its errors and its metrics."""

    def has_host(self, host: str) -> bool:
        """True if a host of the web belongs to a service, whether or not the crawl knows it."""
        return host in self.hosts or is_wikipedia(host)

    def find_own_handler(self, request: Request) -> Handler | None:
        """Return the service that answers a request to this server; None if it is for the native API."""
        before, _, inner = request.path.partition("/")
        if not before and (prefixed := self.prefixed.get(inner.partition("/")[0])):
            return prefixed
        for is_meant, handler in self.unprefixed:
            if is_meant(request):
                return handler
        return next((handler for pattern, handler in self.paths if pattern.fullmatch(request.path)), None)

    def runs_inline(self, handler: Handler, request: Request) -> bool:
        """True if a request to a service may be answered on the event loop."""
        dialect = self.dialects.get(handler)
        return dialect is not None and runs_inline(dialect, request)


def build_services(keys: frozenset[str]) -> Services:
    """Return all services. With `keys`, those services that take API keys accept only these."""
    dialect_handlers = [(dialect, partial(speak, dialect, keys)) for dialect in DIALECTS]
    hosts: dict[str, Handler] = {host: _host_handler(*each) for each in dialect_handlers for host in each[0].hosts}
    prefixed = {dialect.name: _prefixed_handler(dialect, handler) for dialect, handler in dialect_handlers}
    # MCP first: the arguments of a tool call may look like the request of any other service.
    roots = [*ENDPOINTS]
    roots += [(dialect.is_meant_at_root, handler) for dialect, handler in dialect_handlers if dialect.is_meant_at_root]
    dialects: dict[Handler, Dialect] = {handler: dialect for dialect, handler in dialect_handlers}
    dialects |= {prefixed[dialect.name]: dialect for dialect, _ in dialect_handlers}
    dialects |= {hosts[host]: dialect for dialect, _ in dialect_handlers for host in dialect.hosts}
    dialects |= {handler: MCP_DIALECT for _, handler in ENDPOINTS}
    return Services({**hosts, **routes.HOSTS}, prefixed, (*PAGES, *routes.PATHS), roots, dialects)


def _host_handler(dialect: Dialect, handler: Handler) -> Handler:
    """Return the service for its own host, where paths that it does not have may be pages of the crawl."""

    def answer(world: World, request: Request) -> Response | None:
        is_page = not has_route(dialect, request.path) and world.knows_host(request.host)
        return None if is_page else handler(world, request)

    return answer


def _prefixed_handler(dialect: Dialect, handler: Handler) -> Handler:
    """Return the service for requests below its prefix on this server."""

    def answer(world: World, request: Request) -> Response | None:
        return handler(world, request._replace(path=request.path.removeprefix(f"/{dialect.name}") or "/"))

    return answer
