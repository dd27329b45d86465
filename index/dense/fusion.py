"""Two rankings as one: what the words give a page, as a share of what they give the best one, plus its cosine.

A combination of scores (Bruch, Gai and Ingber 2023) and not of places (reciprocal rank fusion, Cormack, Clarke and
Büttcher 2009): places forget how far the first is ahead of the second, and so let the vectors push a page down that has
all the words. `docs/dense.md` has the figures of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator.ports import Entry


def fused(worded: Sequence[Entry], cosines: Sequence[Entry], order: Sequence[int]) -> list[Entry]:
    """All that is in either, by the sum, then order; `cosines` has all that `worded` has."""
    best = worded[0][0] if worded else 1.0
    scores = {doc: cosine for cosine, doc in cosines}
    for score, doc in worded:
        scores[doc] = scores.get(doc, 0.0) + score / best
    return sorted(((score, doc) for doc, score in scores.items()), key=lambda entry: (-entry[0], order[entry[1]]))
