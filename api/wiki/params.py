"""Parameters of a call to `api.php`, read as MediaWiki reads them (https://www.mediawiki.org/wiki/API:Data_formats)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from webemu.api.http.request import Request
from webemu.api.wiki.titles import title_path
from webemu.emulator.errors import BadRequest
from webemu.emulator.session import Session
from webemu.emulator.world import World

MAX_VALUES = 50
"""Largest number of values in a list parameter, as for MediaWiki's ordinary users."""


class ApiError(BadRequest):
    """Error of the API; its `reason` is MediaWiki's error code."""

    def __init__(self, code: str, info: str) -> None:
        super().__init__(info, reason=code)


@dataclass(frozen=True, slots=True)
class WikiCall:
    """Call of a wiki's API: the world, the host, and the parameters."""

    world: World
    host: str
    at_time: datetime | None
    """Time at which the wiki is seen; None for the latest captures."""
    draw_key: str
    """Key of random draws: the seed of the session's policy, or else its name."""
    params: Mapping[str, str]

    def has(self, name: str) -> bool:
        """True if the parameter is present. MediaWiki's switches are on if present, whatever their value."""
        return name in self.params

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter as text."""
        return self.params.get(name, default)

    def require(self, name: str) -> str:
        """Return a parameter that must be set. Raises ApiError if it is missing or empty."""
        if not self.params.get(name):
            raise ApiError("missingparam", f'The "{name}" parameter must be set.')
        return self.params[name]

    def values(self, name: str, default: str = "", limit: int = MAX_VALUES) -> list[str]:
        """Return the distinct values of a list parameter, at most `limit`.

        They are separated by `|`, or by the character U+001F if the text begins with it. Raises ApiError on more
        values.
        """
        text = self.params.get(name, default)
        parts = text[1:].split("\x1f") if text.startswith("\x1f") else text.split("|")
        distinct = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if len(distinct) > limit:
            raise ApiError("toomanyvalues", f'Too many values supplied for parameter "{name}". The limit is {limit}.')
        return distinct

    def number(self, name: str, default: int, minimum: int = 0, maximum: int = 500) -> int:
        """Return an integer parameter clamped to its range; `max` means `maximum`. Raises ApiError if it is no
        integer.
        """
        text = self.params.get(name, "").strip()
        if not text:
            return default
        if text == "max":
            return maximum
        # isdecimal() accepts digits of other scripts, which MediaWiki does not.
        if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 12:
            raise ApiError("badinteger", f'Invalid value "{text[:60]}" for integer parameter "{name}".')
        return max(minimum, min(int(text), maximum))

    def namespaces(self, name: str, default: str = "0") -> frozenset[int] | None:
        """Return namespace numbers; None for all (`*`). Raises ApiError if one is no number."""
        values = self.values(name, default)
        if "*" in values:
            return None
        for value in values:
            if not value.lstrip("-").isdecimal() or len(value) > 6:
                raise ApiError("badvalue", f'Unrecognized value for parameter "{name}": {value[:60]}.')
        return frozenset(int(value) for value in values)

    def page_url(self, title: str) -> str:
        """Return the URL of a page of the wiki."""
        return f"https://{self.host}{title_path(title)}"


def parse_call(world: World, request: Request) -> WikiCall:
    """Return the API call of a request; the last of repeated parameters counts, as in PHP."""
    return WikiCall(world, request.host, request.session.at_time, _draw_key(request.session), dict(request.parameters))


def _draw_key(session: Session) -> str:
    """Return what random draws of a session depend on: the seed of its policy, or else its name."""
    return str(session.policy.seed) if session.policy else session.name
