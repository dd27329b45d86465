"""Which sources share a shard depends on the set of sources alone."""

import random

from index.shard import plan, shard_id

SOURCES = {random.Random(n).getrandbits(63): 30 + n for n in range(40)}


def test_every_source_is_in_one_shard_of_bounded_size() -> None:
    groups = plan(SOURCES, limit=200)
    assert sorted(source for group in groups for source in group) == sorted(SOURCES)
    assert all(len(group) == 1 or sum(SOURCES[s] for s in group) <= 200 for group in groups)


def test_order_of_arrival_does_not_matter() -> None:
    shuffled = dict(random.Random(5).sample(sorted(SOURCES.items()), len(SOURCES)))
    assert plan(shuffled, limit=200) == plan(SOURCES, limit=200)


def test_a_new_source_changes_one_group() -> None:
    before = set(plan(SOURCES, limit=200))
    after = set(plan({**SOURCES, 2**62 + 12345: 10}, limit=200))
    assert len(before - after) <= 1


def test_a_large_source_stands_alone() -> None:
    assert plan({1: 10_000, 2: 5}, limit=100) == [(1,), (2,)]


def test_a_shard_is_named_by_its_sources() -> None:
    assert shard_id([(1, 7), (2, 8)]) == shard_id([(1, 7), (2, 8)])
    assert len({shard_id([(1, 7), (n, content)]) for n, content in ((2, 8), (3, 8), (2, 9))}) == 3
