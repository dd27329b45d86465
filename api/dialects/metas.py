"""Declarations in the head of an HTML document: language, `meta` elements, icon.

Services return them beside a page's text. They are read with regular expressions, because parsing the whole document
would cost more than the rest of the response. `webemu.ingest.extract.metadata` reads what the catalog keeps at
ingestion.
"""

from __future__ import annotations

import html as markup
import re

from webemu.emulator import urls

HEAD_CHARS = 1 << 16
"""Number of characters at the start of a document in which declarations are looked for."""
_META = re.compile(r"<meta\s[^<>]{1,4000}>", re.IGNORECASE)
_LINK = re.compile(r"<link\s[^<>]{1,4000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:.-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LANGUAGE = re.compile(r"""<html\s[^<>]{0,2000}?\blang\s*=\s*["']?([\w-]{1,20})""", re.IGNORECASE)


def read_language(html: str) -> str:
    """Return the language tag of a document; empty if it names none."""
    match = _LANGUAGE.search(html[:HEAD_CHARS])
    return match[1] if match else ""


def read_metas(html: str) -> list[tuple[str, str]]:
    """Return (name, content) of the `meta` elements that have both, in order; names are in lower case."""
    declarations: list[tuple[str, str]] = []
    for tag in _META.finditer(html[:HEAD_CHARS]):
        attributes = _read_attributes(tag[0])
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
        if name and attributes.get("content"):
            declarations.append((name.lower(), markup.unescape(attributes["content"])))
    return declarations


def read_icon_url(html: str, url: str) -> str:
    """Return the URL of the icon that a document names; empty if it names none with an http or https URL."""
    for tag in _LINK.finditer(html[:HEAD_CHARS]):
        attributes = _read_attributes(tag[0])
        if "icon" in attributes.get("rel", "").lower().split() and attributes.get("href"):
            icon_url = urls.resolve(url, markup.unescape(attributes["href"]).strip())
            return icon_url if icon_url.startswith(("http://", "https://")) else ""
    return ""


def _read_attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag; names are in lower case, values are not unescaped."""
    return {
        name.lower(): double_quoted or single_quoted or unquoted
        for name, double_quoted, single_quoted, unquoted in _ATTRIBUTE.findall(tag)
    }
