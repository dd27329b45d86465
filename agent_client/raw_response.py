"""The response type of our own transports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

HeaderList = list[tuple[bytes, bytes]]
"""Header names and values."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response, with the members of `httpx.Response` that this package reads."""

    url: str
    status_code: int
    header_list: HeaderList
    content: bytes

    @property
    def headers(self) -> httpx.Headers:
        """Headers as httpx presents them."""
        return httpx.Headers(self.header_list)

    def json(self) -> Any:
        """Return the decoded JSON body. Raises ValueError."""
        return json.loads(self.content)
