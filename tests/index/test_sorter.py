"""Pairs in the order of their keys."""

from __future__ import annotations

import random

import duckdb
import pytest

from webemu.index import sorter
from webemu.index.sorter import PairSorter


@pytest.mark.parametrize("at_once", [3, 100_000])
def test_pairs_come_by_key_and_then_as_they_were_given(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorter, "BATCH_PAIRS", at_once)
    dice = random.Random(1)
    pairs = [(dice.randbytes(dice.randint(1, 3)), b"%d" % number) for number in range(400)]
    pairs += [(b"\0", b""), (b"\xff\xff", b"last"), (b"\0", b"again")]
    with duckdb.connect() as db:
        filled = PairSorter(db)
        for key, value in pairs:
            filled.add(key, value)
        assert list(filled) == sorted(pairs, key=lambda pair: pair[0])


def test_nothing_is_nothing() -> None:
    with duckdb.connect() as db:
        assert list(PairSorter(db)) == []
