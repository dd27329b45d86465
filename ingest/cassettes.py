"""Reads the cassettes of vcrpy (Python) and VCR (Ruby), in YAML or JSON, as exchanges of a recorded run.

vcrpy lists `interactions`, VCR `http_interactions`. A body is a text, bytes, or an object with `string` or
`base64_string`. Cassettes of vcrpy are not dated.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from webemu.ingest.exchange_records import REASONS, ImportedExchange, build_exchange, one_line, read_time
from webemu.ingest.records import Skip

__all__ = ["REASONS", "find_interactions", "is_complete", "iter_records"]

LAST_MEMBERS = {"interactions": "version", "http_interactions": "recorded_with"}
"""Names of the list of exchanges, and of the member that both tools write after it."""
Headers = list[tuple[str, str]]


def find_interactions(cassette: Any) -> list[Any] | None:
    """Return the exchanges of a parsed cassette; None if it is none."""
    named = (cassette.get(name) for name in LAST_MEMBERS) if isinstance(cassette, dict) else ()
    return next((interactions for interactions in named if isinstance(interactions, list)), None)


def is_complete(cassette: dict[str, Any]) -> bool:
    """True if a cassette has the member that is written last: YAML does not tell where it was cut."""
    return any(name in cassette and cassette.get(last) for name, last in LAST_MEMBERS.items())


def iter_records(interactions: list[Any]) -> Iterator[bytes | Skip]:
    """Yield the WARC records of each exchange, and a skip for what is lost; `offset` of a skip is its number."""
    for number, interaction in enumerate(interactions):
        yield from build_exchange(_read_interaction(interaction), number)


def _read_interaction(interaction: Any) -> ImportedExchange:
    request, response = (_object(_object(interaction).get(name)) for name in ("request", "response"))
    status = response.get("status")
    code, message = (status.get("code"), status.get("message")) if isinstance(status, dict) else (status, "")
    return ImportedExchange(
        str(request.get("method", "GET")).upper(),
        one_line(request.get("uri")),
        _read_headers(request),
        _read_body(request.get("body")),
        code if isinstance(code, int) else 0,
        one_line(message),
        _read_headers(response),
        _read_body(response.get("body")),
        read_time(_object(interaction).get("recorded_at")),
        "bad-date" if _object(interaction).get("recorded_at") else "no-date",
    )


def _object(value: Any) -> dict[str, Any]:
    """Return a mapping; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def _read_headers(message: dict[str, Any]) -> Headers:
    """Return header lines: a name has one value or a list of them."""
    lines = []
    for name, values in _object(message.get("headers")).items():
        for value in values if isinstance(values, list) else [values]:
            lines.append((str(name), _text(value)))
    return lines


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _read_body(body: Any) -> bytes:
    """Return a body as bytes; empty if there is none."""
    if isinstance(body, dict):
        if isinstance(encoded := body.get("base64_string"), str):
            try:
                return base64.b64decode(encoded)
            except ValueError:
                return b""
        body = body.get("string")
    return body if isinstance(body, bytes) else _text(body).encode("utf-8", "replace")
