"""A request to `api.php`, its parameters read as MediaWiki reads them (https://www.mediawiki.org/wiki/API:Data_formats)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from webemu.api.http.request import Request
from webemu.api.wiki.titles import path
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World

MAX_VALUES = 50


class ApiError(BadRequest):
    """What the API refuses; its reason is MediaWiki's code."""

    def __init__(self, code: str, info: str) -> None:
        super().__init__(info, reason=code)


@dataclass(frozen=True, slots=True)
class Ask:
    """Who is asked what."""

    world: World
    host: str
    at: datetime | None
    """The day the wiki is seen on."""
    session: str
    """Name of who asks."""
    params: Mapping[str, str]

    def has(self, name: str) -> bool:
        """Of a switch: it is on if it is there, whatever it says."""
        return name in self.params

    def text(self, name: str, default: str = "") -> str:
        return self.params.get(name, default)

    def required(self, name: str) -> str:
        """Raises ApiError if it is not there."""
        if not self.params.get(name):
            raise ApiError("missingparam", f'The "{name}" parameter must be set.')
        return self.params[name]

    def values(self, name: str, default: str = "", most: int = MAX_VALUES) -> list[str]:
        """Parted by `|`, or by the character U+001F if they begin with it; each once."""
        text = self.params.get(name, default)
        parts = text[1:].split("\x1f") if text.startswith("\x1f") else text.split("|")
        found = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if len(found) > most:
            raise ApiError("toomanyvalues", f'Too many values supplied for parameter "{name}". The limit is {most}.')
        return found

    def number(self, name: str, default: int, least: int = 0, most: int = 500) -> int:
        """A whole number, brought into its range; `max` is the most."""
        text = self.params.get(name, "").strip()
        if not text:
            return default
        if text == "max":
            return most
        if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 12:
            raise ApiError("badinteger", f'Invalid value "{text[:60]}" for integer parameter "{name}".')
        return max(least, min(int(text), most))

    def namespaces(self, name: str, default: str = "0") -> frozenset[int] | None:
        """Numbers of namespaces; None for all. Raises ApiError."""
        values = self.values(name, default)
        if "*" in values:
            return None
        for value in values:
            if not value.lstrip("-").isdecimal() or len(value) > 6:
                raise ApiError("badvalue", f'Unrecognized value for parameter "{name}": {value[:60]}.')
        return frozenset(int(value) for value in values)

    def address(self, title: str) -> str:
        """Where a page of the wiki lives."""
        return f"https://{self.host}{path(title)}"


def read(world: World, request: Request) -> Ask:
    """The ask of a request; of a parameter that is given twice the last counts, as in PHP."""
    return Ask(world, request.host, request.session.at, request.session.name, dict(request.parameters))
