"""The parts that both wire formats share: members of JSON are read, identifiers made, server-sent events encoded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TypeAlias

Json: TypeAlias = dict[str, object]
"""A JSON object."""


_DOMAIN = re.compile(r"[A-Za-z0-9.-]+(/[\w./~%-]*)?")


class InvalidRequest(Exception):
    """A request that the service would refuse; the message says why."""


def read_objects(value: object, name: str) -> list[Json]:
    """Return a list of JSON objects, empty for None. Raises InvalidRequest for anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InvalidRequest(f"{name}: expected an array of objects")
    return value


def read_text(value: object) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def read_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; empty for anything else."""
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()


def read_domains(value: object) -> tuple[str, ...]:
    """Return a list of domains, of which each may have a path. Raises InvalidRequest if one of them is none."""
    domains = read_texts(value)
    for domain in domains:
        if not _DOMAIN.fullmatch(domain):
            raise InvalidRequest(f"tools: {domain[:100]!r} is no domain; write it as example.com")
    return domains


def read_number(value: object) -> int | None:
    """Return a whole number above 0; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def read_temperature(value: object) -> float | None:
    """Return a temperature; None if the request has none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def join_parts(content: object, *kinds: str) -> str:
    """Return the text of a message, whose content is a text or a list of parts; parts of other kinds are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        read_text(part.get("text")) for part in parts if isinstance(part, dict) and part.get("type") in kinds
    )


def make_id(prefix: str, *parts: object) -> str:
    """Return an identifier that depends on its parts alone, so that equal requests get equal answers."""
    return prefix + sha256(repr(parts).encode()).hexdigest()[:32]


def encode_events(events: Iterable[Mapping[str, object]]) -> bytes:
    """Return server-sent events, each named by its member `type`."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events
    )
