"""The form of a search: the query, filters of the result page, an engine, and the day as of which the web is searched.

Filters become operators of the query, so that the search box shows them and each can be taken off. Engine and day are
no operators: links to further pages of results carry them as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from webemu.api.http.request import Request
from webemu.api.pages.template import first_param
from webemu.emulator.dates import parse_time
from webemu.emulator.query import MAX_CHARS
from webemu.emulator.types import Archive
from webemu.emulator.world import World

FILTER_NAMES = ("site", "after", "before", "lang", "filetype")
"""Filters of the form by the operators that they become."""
LANGUAGES = {
    "ar": "Arabic",
    "zh": "Chinese",
    "nl": "Dutch",
    "en": "English",
    "fr": "French",
    "de": "German",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "es": "Spanish",
    "tr": "Turkish",
}
"""Languages that the form offers, by code; `lang:` takes any other."""
FILE_TYPES = ("html", "pdf", "txt", "md", "json", "xml", "csv", "docx")
"""File types that the form offers; `filetype:` takes any other."""
MAX_FILTER_CHARS = 100
"""Most characters of a filter."""
MAX_DAYS = 400
"""Most days between which the slider moves."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class SearchForm:
    """A search as a person filled it in."""

    text: str
    """The query, filters included."""
    engine: str
    """Name of the engine; empty for the default one."""
    day: str
    """Day as of which the web is searched, as typed; empty for now."""

    @property
    def kept_parameters(self) -> dict[str, str]:
        """Parameters besides the query that every search from this page carries."""
        return {name: value for name, value in (("engine", self.engine), ("at", self.day)) if value}

    def url(self, text: str, page: int = 1) -> str:
        """Return the address of a page of results for a query, with the same engine and day."""
        return "/search?" + urlencode({"q": text} | self.kept_parameters | ({"page": page} if page > 1 else {}))

    def url_without(self, name: str) -> str:
        """Return the address of the same search without the engine (`engine`) or the day (`at`)."""
        parameters = {key: value for key, value in self.kept_parameters.items() if key != name}
        return "/search?" + urlencode({"q": self.text} | parameters)

    def latest_moment(self, request: Request) -> datetime | None:
        """Return the moment up to which captures count, never later than that of the session. Raises BadRequest."""
        moments = [] if request.session.at_time is None else [request.session.at_time]
        if self.day:
            is_day = _DAY.fullmatch(self.day) is not None
            # A day that a person chooses is included.
            moments.append(parse_time(self.day) + (timedelta(days=1, seconds=-1) if is_day else timedelta()))
        return min(moments, default=None)


def read_form(request: Request) -> SearchForm:
    """Return the search that a request asks for; its text is empty without a query or a filter."""
    text = first_param(request, "q", MAX_CHARS)
    operators = (_build_operator(name, first_param(request, name, MAX_FILTER_CHARS)) for name in FILTER_NAMES)
    query = " ".join(filter(None, (text, *operators)))[:MAX_CHARS]
    return SearchForm(query, first_param(request, "engine", 60), first_param(request, "at", 40))


def _build_operator(name: str, value: str) -> str:
    """Return a filter as an operator of the query language; empty without a value."""
    value = value.replace('"', " ").strip()
    if name == "site":
        value = value.partition("://")[2] or value
    return f'{name}:"{value}"' if " " in value else f"{name}:{value}" if value else ""


def list_days(archives: Iterable[Archive], latest: datetime | None) -> Sequence[str]:
    """Return the days on which files of the crawl end, oldest first, up to a moment: the stops of the slider."""
    times = {archive.last_time for archive in archives if archive.last_time > 0}
    days = sorted({datetime.fromtimestamp(time, UTC) for time in times})
    return list(dict.fromkeys(f"{day:%Y-%m-%d}" for day in days if latest is None or day <= latest))[-MAX_DAYS:]


def list_engines(world: World) -> list[str]:
    """Return the names of the snapshot's engines."""
    return sorted(world.engines)
