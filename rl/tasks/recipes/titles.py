"""Names of pages in questions: the title without the site's name, if this distinguishes it from its neighbours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from webemu.emulator import urls
from webemu.rl.verify import normalise

MIN_SHARED = 3
"""Number of a host's titles with the same ending from which it counts as the site's name. For beginnings it is a
fifth.
"""
_SEPARATOR = re.compile(r"\s+[-–—|·•»«:]{1,2}\s+|\s*(?:::|\||»)\s*|:\s+|\s+(?=\((?:[^()]|\([^()]*\))*\)$)")
"""Separators between the site's name and the rest of a title; also the space before a final parenthesis."""
_GENERIC = frozenset(
    "home|homepage|home page|index|overview|introduction|untitled|welcome|contents|table of contents|search|login"
    "|log in|sign in|register|about|about us|contact|contact us|error|page not found|not found|404 not found|forbidden"
    "|redirecting|untitled document|main page|summary|description|documentation|reference|modules|classes|files|news"
    "|blog|archive|archives|articles|getting started|examples|example|test|welcome page|document|title|notes|blank"
    "|preface|foreword|glossary|bibliography|appendix|frequently asked questions|faq|help|menu|map|sitemap|site map"
    "|copyright|license|licence|credits|authors|members|all classes|index of|test page|example domain".split("|")
)
# Change logs and legal texts: their sentences are the same everywhere.
_CHANGES_OR_LEGAL = re.compile(
    r"change ?log|release[- ]notes|what.?s new|\bchanges (?:in|since|to)|news for|history of changes|\brelease \d"
    r"|version history|licen[sc]e|copyright|terms (?:of|and)|privacy|legal notice|\bGPL\b|cookie|acknowledg",
    re.IGNORECASE,
)
LEGAL = "changes or legal text"
"""Reason for skipping change logs and legal texts."""
MAX_CHARACTERS = 100
"""Largest number of characters of a name."""


def shorten_titles(titles: Mapping[str, int], host: str) -> dict[str, str]:
    """Return each title of a host without the parts that it shares with other titles. `titles` has all titles of the
    host.
    """
    parts_by_title = {title: _SEPARATOR.split(" ".join(title.split())) for title in titles}
    split_titles = [parts for parts in parts_by_title.values() if len(parts) > 1]
    ending_counts, beginning_counts = (
        Counter(parts[-1] for parts in split_titles),
        Counter(parts[0] for parts in split_titles),
    )
    min_beginnings = max(MIN_SHARED, len(parts_by_title) // 5)
    site_endings = {end for end, count in ending_counts.items() if count >= MIN_SHARED or _is_site_name(end, host)}
    site_beginnings = {
        start for start, count in beginning_counts.items() if count >= min_beginnings or _is_site_name(start, host)
    }
    return {
        title: _strip_site_name(" ".join(title.split()), parts, site_beginnings, site_endings)
        for title, parts in parts_by_title.items()
    }


def _is_site_name(name: str, host: str) -> bool:
    """True if a part of a title is the site's name, judging by the host."""
    domain_name, words = _squeeze(urls.split_domain(host)[0].partition(".")[0]), name.split()
    starts_with_domain = any(
        _squeeze("".join(words[:count])) == domain_name for count in (len(words), len(words) - 1) if count > 0
    )
    return starts_with_domain or (len(name) > 3 and _squeeze(name) in _squeeze(host))


def _squeeze(name: str) -> str:
    """Return the name in lower case without "the", spaces and punctuation."""
    return re.sub(r"^the\b|[\W_]", "", name.lower())


def _strip_site_name(title: str, parts: list[str], site_beginnings: set[str], site_endings: set[str]) -> str:
    """Return the title without its first or last part, if that is the site's name."""
    start, end = 0, len(title)
    if len(parts) > 1 and parts[-1] in site_endings:
        end = title.rindex(parts[-1])
    # Only one end is cut: a title of two shared parts would leave nothing.
    elif len(parts) > 1 and parts[0] in site_beginnings:
        start = len(parts[0])
    return title[start:end].strip(" \t-–—|·•»«:")


def rejection_reason(short_title: str, url: str) -> str:
    """Return why a page cannot be asked about under this name; empty if it can."""
    if not 3 <= len(short_title) <= MAX_CHARACTERS or not re.search(r"[^\W\d_]{2}", short_title) or '"' in short_title:
        return "no usable title"
    if (
        normalise(short_title) in _GENERIC
        or short_title.lower() in _GENERIC
        or re.search(r"\.(?:html?|php|aspx?)$|^https?:", short_title)
    ):
        return "generic title"
    return LEGAL if _CHANGES_OR_LEGAL.search(f"{short_title} {url}") else ""
