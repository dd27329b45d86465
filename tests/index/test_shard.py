"""The sources that share a shard are decided by the set of sources alone."""

import random

from webemu.index.rank import Weights
from webemu.index.shard import group_sources, shard_id

SOURCES = {random.Random(n).getrandbits(63): 30 + n for n in range(40)}


def test_every_source_is_in_one_shard_of_bounded_size() -> None:
    groups = group_sources(SOURCES, limit=200)
    assert sorted(source for group in groups for source in group) == sorted(SOURCES)
    assert all(len(group) == 1 or sum(SOURCES[s] for s in group) <= 200 for group in groups)


def test_order_of_arrival_does_not_matter() -> None:
    shuffled = dict(random.Random(5).sample(sorted(SOURCES.items()), len(SOURCES)))
    assert group_sources(shuffled, limit=200) == group_sources(SOURCES, limit=200)


def test_a_new_source_changes_one_group() -> None:
    before = set(group_sources(SOURCES, limit=200))
    after = set(group_sources({**SOURCES, 2**62 + 12345: 10}, limit=200))
    assert len(before - after) <= 1


def test_a_large_source_stands_alone() -> None:
    assert sorted(group_sources({1: 10_000, 2: 5}, limit=100)) == [(1,), (2,)]


def test_a_shard_is_named_by_its_sources_their_links_and_what_is_indexed_of_them() -> None:
    def named(*contents: tuple[int, ...], weights: Weights = Weights()) -> str:
        return shard_id(contents, weights)

    assert named((1, 7, 0), (2, 8, 0)) == named((1, 7, 0), (2, 8, 0), weights=Weights(named=9.0))
    other_names = [named((1, 7, 0), other) for other in ((2, 8, 0), (3, 8, 0), (2, 9, 0), (2, 8, 1))]
    assert len({*other_names, named((1, 7, 0), (2, 8, 0), weights=Weights(anchors=0))}) == 5


def test_a_small_source_leaves_the_shards_of_large_ones_as_they_are() -> None:
    large = {number << 40: 20_000 for number in range(1, 9)}
    before = set(group_sources(large))
    after = set(group_sources({**large, (3 << 40) + 1: 3}))
    assert after - before == {((3 << 40) + 1,)}
