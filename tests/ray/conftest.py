"""One Ray cluster for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.ray.nodes import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()
