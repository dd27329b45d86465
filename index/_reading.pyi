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
def encode_counts(terms: str, /) -> bytes: ...
def complete_scores(
    files: Sequence[tuple[memoryview, memoryview]],
    bases: Sequence[int],
    ranked: Sequence[tuple[float, int]],
    terms: Sequence[tuple[int, float]],
    average: float,
    /,
) -> list[tuple[float, int]]: ...
