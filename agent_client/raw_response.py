"""An answer as it came, whichever way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

Fields = list[tuple[bytes, bytes]]
"""Headers."""


@dataclass(frozen=True, slots=True)
class Received:
    """An answer; has of `httpx.Response` what is read of answers here."""

    url: str
    status_code: int
    fields: Fields
    content: bytes

    @property
    def headers(self) -> httpx.Headers:
        return httpx.Headers(self.fields)

    def json(self) -> Any:
        return json.loads(self.content)
