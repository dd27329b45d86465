"""The response type of our own transports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

Fields = list[tuple[bytes, bytes]]
"""Header names and values."""


@dataclass(frozen=True, slots=True)
class Received:
    """A response, with the members of `httpx.Response` that this package reads."""

    url: str
    status_code: int
    fields: Fields
    content: bytes

    @property
    def headers(self) -> httpx.Headers:
        """Headers as httpx presents them."""
        return httpx.Headers(self.fields)

    def json(self) -> Any:
        """Return the decoded JSON body. Raises ValueError."""
        return json.loads(self.content)
