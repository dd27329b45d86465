"""Fuses two rankings: the BM25 score as a share of the best one, plus the cosine.

It combines scores (Bruch, Gai and Ingber 2023) and not ranks (reciprocal rank fusion, Cormack, Clarke and Büttcher
2009): ranks lose how far the first is ahead of the second, so that vectors push down a page that has all the words.
`docs/dense.md` has the figures of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator.ports import ScoredDoc


def fuse_scores(lexical: Sequence[ScoredDoc], cosines: Sequence[ScoredDoc], order: Sequence[int]) -> list[ScoredDoc]:
    """Return all entries of both rankings by the sum of their scores, ties by order.

    `cosines` must contain every page of `lexical`.
    """
    best_score = lexical[0][0] if lexical else 1.0
    scores = {doc: cosine for cosine, doc in cosines}
    for score, doc in lexical:
        scores[doc] = scores.get(doc, 0.0) + score / best_score
    return sorted(((score, doc) for doc, score in scores.items()), key=lambda entry: (-entry[0], order[entry[1]]))
