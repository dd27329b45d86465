"""Style sheet of our reports, and the Content Security Policy that lets only their own script run."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

from markupsafe import Markup

_NOTHING_INCLUDED: Mapping[str, str] = MappingProxyType({})
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def stylesheet() -> Markup:
    """Return the style sheet, which templates include as `{{ look }}`."""
    return Markup(files("webemu.rl.evaluation").joinpath("look.css").read_text(encoding="utf-8"))


def content_security_policy(
    template: str, connect: str = "'none'", included: Mapping[str, str] = _NOTHING_INCLUDED
) -> Markup:
    """Return a Content Security Policy that allows only the template's own scripts and styles, by their hashes.

    `connect` is the source list for requests, none by default; `included` are scripts and styles by the name under
    which the template includes them, besides `look`.
    """
    for name, text in {"look": stylesheet(), **included}.items():
        template = template.replace(f"{{{{ {name} }}}}", text)
    sources: dict[str, list[str]] = {"script": [], "style": []}
    for kind, body in _INLINE.findall(template):
        sources[kind].append(f"'sha256-{b64encode(sha256(body.encode()).digest()).decode()}'")
    script, style = (" ".join(sources[kind]) for kind in ("script", "style"))
    return Markup(
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src {connect};"
        " base-uri 'none'; form-action 'none'"
    )
