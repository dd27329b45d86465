"""Scores given texts for a query: BM25 (Robertson and Zaragoza 2009) with inverse document frequencies of the index.

For services that rerank texts that a client sends. The index ranks the search itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

_K1, _B = 1.2, 0.75


def score_texts(frequencies: Mapping[str, int], texts: Sequence[Sequence[str]], documents: int) -> list[float]:
    """Return the BM25 score of each text.

    `frequencies` are the page frequencies of the query's terms in an index of `documents` pages; texts are lists of
    terms.
    """
    mean = sum(map(len, texts)) / len(texts) if texts else 0.0
    idf = {term: _inverse_document_frequency(frequency, documents) for term, frequency in frequencies.items()}
    return [_bm25(idf, terms, mean) for terms in texts]


def _inverse_document_frequency(frequency: int, documents: int) -> float:
    """Return the inverse document frequency of a term, as in BM25."""
    return log(1 + (max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def _bm25(idf: Mapping[str, float], terms: Sequence[str], mean: float) -> float:
    """Return the BM25 score of one text; `mean` is the mean length of all texts."""
    counts = Counter(terms)
    norm = _K1 * (1 - _B + _B * len(terms) / mean) if mean else _K1
    return sum(weight * counts[term] * (_K1 + 1) / (counts[term] + norm) for term, weight in idf.items())
