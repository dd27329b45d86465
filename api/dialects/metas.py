"""Declarations in the head of an HTML document: language, `meta` elements, icon.

Services return them beside a page's text. They are read with regular expressions, because parsing the whole document
would cost more than the rest of the response. `webemu.ingest.extract.metadata` reads what the catalog keeps at ingestion.
"""

from __future__ import annotations

import html as markup
import re

from webemu.emulator import urls

HEAD = 1 << 16
"""Number of characters at the start of a document in which declarations are looked for."""
_META = re.compile(r"<meta\s[^<>]{1,4000}>", re.IGNORECASE)
_LINK = re.compile(r"<link\s[^<>]{1,4000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:.-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LANGUAGE = re.compile(r"""<html\s[^<>]{0,2000}?\blang\s*=\s*["']?([\w-]{1,20})""", re.IGNORECASE)


def language(html: str) -> str:
    """Return the language tag of a document; empty if it names none."""
    found = _LANGUAGE.search(html[:HEAD])
    return found[1] if found else ""


def metas(html: str) -> list[tuple[str, str]]:
    """Return (name, content) of the `meta` elements that have both, in order; names are in lower case."""
    found: list[tuple[str, str]] = []
    for tag in _META.finditer(html[:HEAD]):
        pairs = _attributes(tag[0])
        name = pairs.get("property") or pairs.get("name") or pairs.get("itemprop")
        if name and pairs.get("content"):
            found.append((name.lower(), markup.unescape(pairs["content"])))
    return found


def icon(html: str, url: str) -> str:
    """Return the URL of the icon that a document names; empty if it names none with an http or https URL."""
    for tag in _LINK.finditer(html[:HEAD]):
        pairs = _attributes(tag[0])
        if "icon" in pairs.get("rel", "").lower().split() and pairs.get("href"):
            found = urls.resolve(url, markup.unescape(pairs["href"]).strip())
            return found if found.startswith(("http://", "https://")) else ""
    return ""


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag; names are in lower case, values are not unescaped."""
    return {name.lower(): first or second or third for name, first, second, third in _ATTRIBUTE.findall(tag)}
