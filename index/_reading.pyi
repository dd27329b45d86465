from collections.abc import Sequence

def agreements(
    records: Sequence[memoryview],
    terms: Sequence[tuple[tuple[int, ...], float]],
    pairs: Sequence[tuple[bytes, ...]],
    /,
) -> list[tuple[float, float, float]]: ...
def shown(record: memoryview, hashes: Sequence[int], within: int, /) -> tuple[bytes, bytes, bytes, int]: ...
def current(rows: memoryview, ranked: Sequence[tuple[float, int]], /) -> list[tuple[tuple[float, int], int]]: ...
