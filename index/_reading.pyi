from collections.abc import Sequence

def match_features(
    records: Sequence[memoryview],
    terms: Sequence[tuple[tuple[int, ...], float]],
    pairs: Sequence[tuple[bytes, ...]],
    /,
) -> list[tuple[float, float, float, int]]: ...
def result_fields(
    record: memoryview, hashes: Sequence[int], passage_mask: int, /
) -> tuple[bytes, bytes, bytes, int]: ...
def choose_fragments(
    record: memoryview, snippet: bytes, words: Sequence[tuple[tuple[bytes, ...], int]], kind: int, limit: int, /
) -> bytes: ...
def drop_duplicates(
    rows: memoryview, ranked: Sequence[tuple[float, int]], /
) -> list[tuple[tuple[float, int], int]]: ...
