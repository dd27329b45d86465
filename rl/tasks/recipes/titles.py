"""What a page is called in a question: its title without the name of the site, if that tells it from its neighbours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from webemu.emulator import urls
from webemu.rl.verify import normalise

SHARED = 3
"""An ending of so many titles of a host is the name of the site; a beginning of a fifth of them."""
_PARTS = re.compile(r"\s+[-–—|·•»«:]{1,2}\s+|\s*(?:::|\||»)\s*|:\s+|\s+(?=\((?:[^()]|\([^()]*\))*\)$)")
"""Between what titles share and what they do not; also before a bracket at the end."""
_GENERIC = frozenset(
    "home|homepage|home page|index|overview|introduction|untitled|welcome|contents|table of contents|search|login"
    "|log in|sign in|register|about|about us|contact|contact us|error|page not found|not found|404 not found|forbidden"
    "|redirecting|untitled document|main page|summary|description|documentation|reference|modules|classes|files|news"
    "|blog|archive|archives|articles|getting started|examples|example|test|welcome page|document|title|notes|blank"
    "|preface|foreword|glossary|bibliography|appendix|frequently asked questions|faq|help|menu|map|sitemap|site map"
    "|copyright|license|licence|credits|authors|members|all classes|index of|test page|example domain".split("|")
)
_CHANGES = re.compile(
    r"change ?log|release[- ]notes|what.?s new|\bchanges (?:in|since|to)|news for|history of changes|\brelease \d"
    r"|version history|licen[sc]e|copyright|terms (?:of|and)|privacy|legal notice|\bGPL\b|cookie|acknowledg",
    re.IGNORECASE,
)
MOST = 100


def heads(titles: Mapping[str, int], host: str) -> dict[str, str]:
    """Each title of a host without what it shares with others, where what is left is a name."""
    cut = {title: _PARTS.split(" ".join(title.split())) for title in titles}
    several = [parts for parts in cut.values() if len(parts) > 1]
    ends, starts = Counter(parts[-1] for parts in several), Counter(parts[0] for parts in several)
    most = max(SHARED, len(cut) // 5)
    last = {end for end, count in ends.items() if count >= SHARED or _is_site(end, host)}
    first = {start for start, count in starts.items() if count >= most or _is_site(start, host)}
    return {title: _head(" ".join(title.split()), parts, first, last) for title, parts in cut.items()}


def _is_site(name: str, host: str) -> bool:
    """Whether a part of a title is the site's name, by its address."""
    own, words = _squeezed(urls.split_domain(host)[0].partition(".")[0]), name.split()
    begins = any(_squeezed("".join(words[:count])) == own for count in (len(words), len(words) - 1) if count > 0)
    return begins or (len(name) > 3 and _squeezed(name) in _squeezed(host))


def _squeezed(name: str) -> str:
    return re.sub(r"^the\b|[\W_]", "", name.lower())


def _head(title: str, parts: list[str], first: set[str], last: set[str]) -> str:
    start, end = 0, len(title)
    if len(parts) > 1 and parts[-1] in last:
        end = title.rindex(parts[-1])
    elif len(parts) > 1 and parts[0] in first:
        start = len(parts[0])
    return title[start:end].strip(" \t-–—|·•»«:")


def trouble(head: str, url: str) -> str:
    """Why a page cannot be asked about under this name; empty if it can."""
    if not 3 <= len(head) <= MOST or not re.search(r"[^\W\d_]{2}", head) or '"' in head:
        return "no usable title"
    if normalise(head) in _GENERIC or head.lower() in _GENERIC or re.search(r"\.(?:html?|php|aspx?)$|^https?:", head):
        return "generic title"
    return "changes or legal text" if _CHANGES.search(f"{head} {url}") else ""
