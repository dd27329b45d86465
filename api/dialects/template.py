"""Pages and feeds of services: a template filled, everything that comes from the crawl or the asker escaped."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from webemu.api.dialects.dialect import reply
from webemu.api.services.origin import Reply

HTML = b"text/html; charset=utf-8"
RSS = b"text/xml; charset=utf-8"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, and no HTML should."""


@cache
def _templates() -> Environment:
    loader = PackageLoader("webemu.api.dialects")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def sheet(template: str, kind: bytes = HTML, status: int = 200, **values: Any) -> Reply:
    """One page."""
    text = _templates().get_template(template).render(**values)
    return reply(_FORBIDDEN.sub("\ufffd", text).encode(), status, kind=kind)
