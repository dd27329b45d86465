"""Finds what a query in prose does not want: what follows `except`, `other than`, `but not` or `instead of`.

In the second stage of ranking such words are no evidence: `firewall tools other than iptables` must not lift the page
titled iptables. They still find pages, since a page that answers often names what it is an alternative to. What
follows `without` stays evidence: `read a csv file without an index column` is a question about index columns.
"""

from __future__ import annotations

import re

_CUE = re.compile(
    r"(?:\b(?:except(?: for)?|excluding|other than|apart from|aside from|but not|instead of|rather than"
    r"|not (?:mention|mentioning|include|including|about))|(?<=[,(])(?: and)? ?not) "
)
"""Words before what people do not want, in lower case, since in titles they are no cue."""
_BOUNDARY = re.compile(
    r"[,;:?!()]|[.](?!\w)| (?:in|on|at|for|with|from|when|while|then|but|if|so|because|that|which|who|is|are|can) "
)
"""A mark or a word at which another part of the sentence begins."""
MAX_UNWANTED_WORDS = 3
"""Words after a cue that belong to it, at most."""


def drop_unwanted_words(words: str) -> str:
    """Return the words of a query, separated by single spaces, without those that it does not want.

    drop_unwanted_words("firewall tools other than iptables on Debian")  # "firewall tools  on Debian"
    """
    remaining, start = "", 0
    for cue in _CUE.finditer(words):
        if cue.start() < start:
            continue
        boundary = _BOUNDARY.search(words, cue.end())
        unwanted = words[cue.end() : boundary.start() if boundary else len(words)].split(" ")[:MAX_UNWANTED_WORDS]
        remaining += words[start : cue.start()]
        start = cue.end() + len(" ".join(unwanted))
    return remaining + words[start:]
