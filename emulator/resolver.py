"""Finds the capture that answers a URL: by keys from strict to loose, along the captured redirects, near a moment.

It decides only which capture answers. `webemu.emulator.world` reads the capture's content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from webemu.emulator import urls
from webemu.emulator.errors import NotCaptured
from webemu.emulator.ports import PageStore
from webemu.emulator.types import Capture, PageRequest

MAX_REDIRECTS = 20
"""Longest chain of redirects that is followed."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Answer to a request for a URL."""

    capture: Capture
    redirects: tuple[str, ...] = ()
    """URLs that redirected on the way to the capture, in order."""


class Resolver:
    """Resolves URLs to captures of one page store. Thread-safe."""

    def __init__(self, page_store: PageStore) -> None:
        self._page_store = page_store

    def captures(self, url: str) -> list[Capture]:
        """Return all captures of a URL, oldest first: its own, else those of the strictest key that has any."""
        url = urls.parse_user_url(url)
        for level in (
            self._page_store.exact,
            self._page_store.canonical,
            self._page_store.surt,
            self._page_store.by_loose_key,
        ):
            if captures := level(url):
                return sorted(captures, key=lambda capture: (capture.time, capture.url))
        return []

    def host_listing(self, host: str) -> Iterator[Capture]:
        """Yield every capture of one host, by SURT key and time."""
        # The key ends in ")/": all keys of the host begin with what is before that, and "*" sorts just after ")".
        key = urls.surt_key(f"http://{host}/")
        for _, captures in self._page_store.listing(key, key[:-2] + "*"):
            yield from (capture for capture in captures if urls.host_of(capture.url) == host)

    def resolve(self, request: PageRequest) -> Resolution:
        """Return the capture that answers a request, and the URLs that redirected on the way. Raises NotCaptured."""
        url = request.url
        # Most requests name a URL exactly as it was captured, and captured URLs are normalised: try that first.
        if not (captures := self._page_store.exact(url)):
            url = urls.parse_user_url(url)
            captures = self._page_store.exact(url)
        visited: list[str] = []
        while True:
            capture = self._pick_capture(url, captures, request.at_time, visited)
            if not (request.follow and 300 <= capture.status < 400 and capture.redirect):
                return Resolution(capture, tuple(visited))
            visited.append(url)
            url = urls.normalize(capture.redirect)
            captures = self._page_store.exact(url)
            if url in visited or len(visited) > MAX_REDIRECTS:
                where = f"that come back to {url}" if url in visited else f"of more than {MAX_REDIRECTS} steps"
                raise NotCaptured(
                    f"{visited[0]} was captured as redirects {where}",
                    reason="redirect-loop",
                    action="ask with follow=0 to see the redirect itself",
                )

    def _pick_capture(
        self, url: str, captures: list[Capture], at_time: datetime | None, visited: Sequence[str]
    ) -> Capture:
        """Return the capture of one URL: one of its own, else one with the same canonical, SURT or loose key.

        `visited` are the URLs that redirected to it. Raises NotCaptured.
        """
        moment = None if at_time is None else at_time.timestamp()
        if captures:
            # Prefer captures that do not redirect to themselves, such as pages behind a cookie wall.
            candidates = [capture for capture in captures if capture.redirect != url]
            return nearest_in_time(candidates or captures, moment)
        is_page = url.startswith(("http://", "https://"))
        for level in (
            (self._page_store.canonical, self._page_store.surt, self._page_store.by_loose_key) if is_page else ()
        ):
            if captures := [capture for capture in level(url) if self._is_usable_redirect(capture)]:
                return nearest_in_time(captures, moment)
        host = urls.host_of(url)
        if visited:
            raise NotCaptured(
                f"{visited[0]} was captured as a redirect to {url}, which was not captured",
                reason="redirect-not-captured",
                action="ask with follow=0 to see the redirect itself",
            )
        if self._page_store.knows_host(host):
            raise NotCaptured(f"{url} was not captured", action=f"search with site:{host} for pages that were")
        raise NotCaptured(
            f"nothing of the host {host or url!r} was captured",
            reason="host-not-captured",
            action="search for another source",
        )

    def _is_usable_redirect(self, capture: Capture) -> bool:
        """True if following a capture ends at a page that was captured exactly.

        Loose keys merge http with https and www with bare hosts, so a redirect between the two would answer itself for
        ever.
        """
        for _ in range(MAX_REDIRECTS):
            if not (300 <= capture.status < 400 and capture.redirect):
                return True
            targets = self._page_store.exact(urls.normalize(capture.redirect))
            if not targets:
                return False
            capture = nearest_in_time(targets, None)
        return False


def nearest_in_time(captures: list[Capture], moment: float | None) -> Capture:
    """Return the capture nearest in time, the earlier on a tie; without a time the latest successful one, else the
    latest.
    """
    if moment is None:
        successful = [capture for capture in captures if 0 < capture.status < 400]
        return max(successful or captures, key=lambda c: (c.time, c.kind == "response", c.url))
    return min(captures, key=lambda c: (abs(c.time - moment), c.time, c.kind != "response", c.url))
