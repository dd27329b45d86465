"""HTML pages and RSS feeds of services, filled from templates.

Everything that comes from the crawl or the client is escaped.
"""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from webemu.api.dialects.dialect import build_response
from webemu.api.http.response import Response

HTML_TYPE = b"text/html; charset=utf-8"
RSS_TYPE = b"text/xml; charset=utf-8"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may contain and no HTML document should."""


@cache
def _load_templates() -> Environment:
    """Return the environment of this package's templates, which fails on an undefined name."""
    loader = PackageLoader("webemu.api.dialects")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render_template(template: str, content_type: bytes = HTML_TYPE, status: int = 200, **values: object) -> Response:
    """Return a response with the filled template as its body."""
    text = _load_templates().get_template(template).render(**values)
    return build_response(_FORBIDDEN.sub("\ufffd", text).encode(), status, content_type=content_type)
