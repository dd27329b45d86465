"""Lengths of snippets: how many characters of a page a search result shows, and at which ends they are cut."""

from __future__ import annotations

from webemu.emulator.types import Hit

try:
    from webemu.index._reading import widen_snippet
except ImportError:  # no compiler where it was installed
    from webemu.index.record_reader import widen_snippet

__all__ = ["widen_hit"]


def widen_hit(hit: Hit, record: memoryview, characters: int) -> Hit:
    """Return a hit whose snippet has whole sentences around the passage that was chosen, at most so many characters."""
    return hit._replace(snippet_json=widen_snippet(record, hit.snippet_json, characters))
