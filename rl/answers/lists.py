"""Lists: the parts of an accepted answer that names several things, in any order."""

from __future__ import annotations

import re

from webemu.rl.answers.dates import find_days
from webemu.rl.answers.folding import split_words
from webemu.rl.answers.measures import find_measures
from webemu.rl.answers.mention import Reading, Span
from webemu.rl.answers.regions import level_of

_SEPARATOR = re.compile(r"\s*;\s*|\s*,\s*(?:and|und|et|y)\s+|\s*,\s+|\s+(?:and|und|et|y|sowie)\s+", re.IGNORECASE)
_ONE_NAME = frozenset("sons son company co brothers bros daughters partners associates inc ltd sister sisters".split())
MAX_PARTS = 20
"""Largest number of parts."""


def split_list(gold: str, question: str) -> tuple[str, ...]:
    """Return the parts of a list; empty for a single thing, such as a firm, a place with its country, or a sentence."""
    if len(gold) > 400 or find_days(gold):
        return ()
    # "2 hours and 30 minutes" is one time.
    measures = find_measures(gold)
    if len(measures) == 1 and measures[0].start == 0 and measures[0].end == len(gold):
        return ()
    parts = [part.strip() for part in _SEPARATOR.split(gold) if part.strip()]
    if not 2 <= len(parts) <= MAX_PARTS or any(len(split_words(part)) > 6 or not split_words(part) for part in parts):
        return ()
    if any(word.plain in _ONE_NAME for part in parts[1:] for word in split_words(part)) or re.search(r"\d,\d{3}", gold):
        return ()
    is_pair = len(parts) == 2 and "," in gold
    if is_pair and (
        level_of(parts[1]) or len(split_words(parts[1])) == sum(len(w.text) == 1 for w in split_words(parts[1]))
    ):
        return ()
    # "the editor, a nurse" describes one person.
    if any(re.match(r"(?:the|a|an|which|who|it|is)\b", part) for part in parts[1:]) and is_pair:
        return ()
    if parts[0].split()[0].casefold() in ("between", "from", "neither", "either"):
        return ()
    return tuple(re.sub(r"(?i)^(?:both|and)\s+", "", part) for part in parts)


def join_readings(readings: list[Reading]) -> Reading:
    """Return one reading of a list out of those of its parts: what is a hit for one part is no rival for another."""
    hits = [Span(hit.start, hit.end, part) for part, reading in enumerate(readings) for hit in reading.hits]
    # The longer of two overlapping hits counts.
    hits.sort(key=lambda mention: (-(mention.end - mention.start), mention.start))
    distinct_hits: list[Span] = []
    for hit in hits:
        if not any(mention.start < hit.end and hit.start < mention.end for mention in distinct_hits):
            distinct_hits.append(hit)
    rivals = {
        (rival.start, rival.end): rival
        for reading in readings
        for rival in reading.rivals
        if not any(hit.start < rival.end and rival.start < hit.end for hit in distinct_hits)
    }
    return Reading(tuple(sorted(distinct_hits, key=lambda mention: mention.start)), tuple(rivals.values()))
