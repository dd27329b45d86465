"""Titles of a wiki: spelling, namespaces, paths, and page ids.

https://www.mediawiki.org/wiki/Manual:Page_title; namespaces by their English names (Manual:Namespace_constants).
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import parse_qs, quote, unquote

from webemu.emulator import urls

WIKI_PATH = "/wiki/"
"""Path under which wikis serve their pages."""
NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
    100: "Portal",
    101: "Portal talk",
    118: "Draft",
    119: "Draft talk",
    828: "Module",
    829: "Module talk",
}
"""English namespace names by number; the main namespace is the empty one."""
_ALIASES = {"wikipedia": 4, "wikipedia talk": 5, "image": 6, "image talk": 7}
_NAMESPACE_NUMBERS = {name.lower(): number for number, name in NAMESPACES.items() if name} | _ALIASES
_INVALID = re.compile(r"[\[\]{}|<>\x00-\x1f\x7f�]|%[0-9a-fA-F]{2}")
MAX_BYTES = 255
"""Longest title that MediaWiki accepts, in UTF-8 bytes."""


def normalize_title(title: str) -> str:
    """Return the title in normal form: single spaces for underscores, no fragment, the namespace in its own spelling.

    normalize_title("help: foo_bar#top")   # "Help:Foo bar"
    """
    title = " ".join(title.partition("#")[0].replace("_", " ").split()).lstrip(": ")
    name, colon, local_title = title.partition(":")
    number = _NAMESPACE_NUMBERS.get(name.strip().lower()) if colon else None
    if number is None or not local_title.strip():
        return title
    # Aliases such as Wikipedia: keep their own spelling; other prefixes take the canonical one.
    spelled_prefix = name[:1].upper() + name[1:].lower() if name.strip().lower() in _ALIASES else NAMESPACES[number]
    return f"{spelled_prefix.strip()}:{capitalize_title(local_title.strip())}"


def capitalize_title(title: str) -> str:
    """Return the title with a capital first letter, as most wikis demand; unchanged if the capital is two letters."""
    first = title[:1].upper()
    return first + title[1:] if len(first) == 1 else title


def title_error(title: str) -> str:
    """Return what is wrong with a title, in MediaWiki's words; empty if it is valid."""
    if not title:
        return "The requested page title is empty or contains only a namespace prefix."
    if match := _INVALID.search(title):
        return f'The requested page title contains invalid characters: "{match[0]}".'
    if len(title.encode("utf-8", "replace")) > MAX_BYTES:
        return f"The requested page title is too long. It must be no longer than {MAX_BYTES} bytes in UTF-8 encoding."
    return ""


def namespace_of(title: str) -> int:
    """Return the namespace number of a title, by its English prefix; 0 is the main namespace."""
    name, colon, _ = title.partition(":")
    return _NAMESPACE_NUMBERS.get(name.lower(), 0) if colon else 0


def title_path(title: str) -> str:
    """Return the URL path of a title, escaped as MediaWiki does (`wfUrlencode`)."""
    return WIKI_PATH + quote(title.replace(" ", "_"), safe=";@$!*(),/~:")


def title_of(url: str, host: str) -> str:
    """Return the title of a page by its URL, red links included; empty if the URL is no wiki page of the host."""
    parts = urls.split_url(url)
    if urls.host_of(url) != host:
        return ""
    is_red_link = "redlink=1" in parts.query
    if parts.path.startswith(WIKI_PATH) and (is_red_link or not parts.query):
        return normalize_title(unquote(parts.path[len(WIKI_PATH) :]))
    params = parse_qs(parts.query) if is_red_link else {}
    return normalize_title(params["title"][0]) if "title" in params else ""


def page_id(host: str, title: str) -> int:
    """Return the id of a page: a positive 31-bit hash of host and title, so it is the same in every snapshot."""
    return _stable_id(f"page {host} {title}")


def revision_id(host: str, digest: str) -> int:
    """Return the id of a revision: a positive 31-bit hash of host and payload digest."""
    return _stable_id(f"revision {host} {digest}")


def _stable_id(text: str) -> int:
    # 1 to 2**31 - 1: page ids are positive, and 0 means that there is none.
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=4).digest(), "big") % (2**31 - 1) + 1
