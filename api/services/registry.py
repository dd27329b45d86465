"""What answers of itself: the services that live on hosts of the web, and those of them this server has as its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from webemu.api.archives import routes
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect, has, is_quick
from webemu.api.dialects.dialect import answer as speak
from webemu.api.http.request import Handler, Request
from webemu.api.mcp import session_errors
from webemu.api.mcp.endpoint import ENDPOINTS
from webemu.api.pages import PAGES
from webemu.api.services import sitemap
from webemu.api.services.origin import Reply
from webemu.api.wiki import answer as wiki
from webemu.api.wiki.site import is_wikipedia
from webemu.emulator.world import World

MADE: Sequence[Handler] = (wiki.answer, sitemap.answer)
"""What sites have though the crawl has no capture of it."""


@dataclass(frozen=True, slots=True)
class Services:
    """Who answers where."""

    hosts: Mapping[str, Handler]
    """By host of the web; where one has no answer, the captures of its host have."""
    paths: Sequence[tuple[re.Pattern[str], Handler]]
    """By path, what is served under this server's own names besides the API."""
    roots: Sequence[tuple[Callable[[Request], bool], Handler]]
    """Requests without a prefix that are for a service all the same."""

    dialects: Mapping[Handler, Dialect]
    """Whose words an answer is in, of those that are in `DIALECTS`."""

    def has(self, host: str) -> bool:
        """Return whether a service or an API is at a host of the web, though the crawl may not know it."""
        return host in self.hosts or is_wikipedia(host)

    def own(self, request: Request) -> Handler | None:
        """Who answers a request to this server; None if that is the API."""
        found = (handler for is_meant, handler in self.roots if is_meant(request))
        by_path = (handler for pattern, handler in self.paths if pattern.fullmatch(request.path))
        return next(found, None) or next(by_path, None)

    def is_quick(self, handler: Handler, request: Request) -> bool:
        """Whether a request to one of them may be answered in the event loop."""
        dialect = self.dialects.get(handler)
        return dialect is not None and is_quick(dialect, request)


def services(keys: frozenset[str]) -> Services:
    """All of them; with keys, services that have keys take only these."""
    spoken = [(dialect, partial(speak, dialect, keys)) for dialect in DIALECTS]
    hosts: dict[str, Handler] = {host: _named(*each) for each in spoken for host in each[0].hosts}
    below = [
        (re.compile(rf"/{dialect.name}(?:/.*)?", re.DOTALL), _below(dialect, handler)) for dialect, handler in spoken
    ]
    # First, since its tools' arguments may look like anybody's.
    roots = [*ENDPOINTS]
    roots += [(dialect.at_root, handler) for dialect, handler in spoken]
    dialects: dict[Handler, Dialect] = {handler: dialect for dialect, handler in spoken}
    dialects |= {handler: dialect for (_, handler), (dialect, _) in zip(below, spoken, strict=True)}
    dialects |= {hosts[host]: dialect for dialect, _ in spoken for host in dialect.hosts}
    dialects |= {handler: session_errors.DIALECT for _, handler in ENDPOINTS}
    return Services({**hosts, **routes.HOSTS}, (*below, *PAGES, *routes.PATHS), roots, dialects)


def _named(dialect: Dialect, handler: Handler) -> Handler:
    """The service by its host, whose other pages the crawl may hold."""

    def answer(world: World, request: Request) -> Reply | None:
        is_page = not has(dialect, request.path) and world.knows_host(request.host)
        return None if is_page else handler(world, request)

    return answer


def _below(dialect: Dialect, handler: Handler) -> Handler:
    """The service below its prefix."""

    def answer(world: World, request: Request) -> Reply | None:
        return handler(world, request._replace(path=request.path.removeprefix(f"/{dialect.name}") or "/"))

    return answer
