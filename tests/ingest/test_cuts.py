"""Files cut, flipped and stretched: every byte is in a record that is handed out, or in a drop that says where."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from tests.ingest.containers import CONTAINERS, Account, Container, account
from tests.shared import cases
from webemu.ingest.records import Record, Skip

CUTS = cases(30, 200)
TINY = 64
"""The size below which a cut file does not always show its format."""
SPANS = ("warc", "warc.gz", "warc.zst", "warc.lz4", "arc", "jsonl.zst")
"""Containers whose records lie apart, so that a drop can say which bytes of the file it means."""
CAPTURES = ("response", "conversion")


def key(record: Record) -> tuple[str | None, bytes]:
    return record.get("WARC-Target-URI"), record.block


def captures(result: Account) -> list[Record]:
    return [one for one in result.records if one.type in CAPTURES]


def sound_captures(name: str, folder: Path) -> list[tuple[str | None, bytes]]:
    container = CONTAINERS[name]
    result = account(container.data, folder, container.name)
    assert (result.kind, result.skips, len(captures(result))) == (container.kind, [], 12)
    return [key(one) for one in captures(result)]


def places(size: int, count: int, seed: str) -> list[int]:
    rng = random.Random(seed)
    ends = [size - n for n in range(1, 13)]
    return sorted({*ends, *rng.sample(range(1, size), min(count - len(ends), size - 1))})


def check_cut(result: Account, keep: int, container: Container, sound: list[tuple[str | None, bytes]]) -> None:
    """All records before the cut are there; of what stands after the last of them something is said."""
    got = captures(result)
    for record, (url, block) in zip(got, sound, strict=False):
        assert record.get("WARC-Target-URI") == url
        assert record.block == block or (record is got[-1] and is_marked_part(record, block))
    for skip in result.skips:
        assert skip.offset >= 0
        assert skip.bytes >= 0
    ends = [end for end in container.ends if end <= keep]
    assert len(result.records) >= len(ends)
    if keep in container.ends and container.kind != "wacz":
        assert (len(result.records), result.skips) == (len(ends), [])
        return
    is_all_there = bool(got) and not got[-1].get("WARC-Truncated") and len(result.records) > len(ends)
    if result.kind in ("warc", "arc", "jsonl") and is_all_there:
        return  # only the line ends after the last record are gone
    if result.kind in ("cassette", "service-log") and keep == len(container.data) - 1:
        return
    assert result.skips, "nothing is said"
    if len(result.records) == len(ends) and container.kind in SPANS:
        assert covers(result.skips, max(ends, default=0), keep)
    assert any(skip.bytes + skip.lost_bytes for skip in result.skips) or is_all_there or len(got) == len(sound)
    assert result.kind == container.kind or keep < TINY or not result.records


def is_marked_part(record: Record, block: bytes) -> bool:
    return record.get("WARC-Truncated") == "unspecified" and block.startswith(record.block)


def covers(skips: list[Skip], start: int, end: int) -> bool:
    """True if the ranges of skips hold all bytes from start to end."""
    at = start
    for skip in sorted(skips, key=lambda skip: skip.offset):
        if skip.offset <= at:
            at = max(at, skip.offset + skip.bytes)
    return at >= end


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_cut_file_is_accounted_for_to_its_last_byte(name: str, tmp_path: Path) -> None:
    container, sound = CONTAINERS[name], sound_captures(name, tmp_path)
    for keep in places(len(container.data), CUTS, name):
        result = account(container.data[:keep], tmp_path, container.name)
        try:
            check_cut(result, keep, container, sound)
        except AssertionError as error:
            raise AssertionError(f"cut at {keep} of {len(container.data)}: {result.kind} {result.skips}") from error


DAMAGES = cases(10, 60)
UNCHECKED = (
    "warc", "arc", "warc.lz4", "warc.lz4 in one frame", "warc.zst", "warc.zst with a dictionary", "jsonl", "jsonl.zst",
    "har", "parquet", "cassette", "service-log", "service-log.zst",
)  # fmt: skip
"""Containers without checksums: a flipped byte of a payload goes in unseen."""


def damaged(data: bytes, seed: str) -> tuple[bytes, int, int]:
    """Bytes with one flaw, and the range of them that it touches: flips, bytes put in, bytes taken out."""
    rng = random.Random(seed)
    at, length = rng.randrange(len(data)), rng.choice((1, 4, 40, 700))
    match rng.randrange(4):
        case 0:
            flaw = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at : at + length])
        case 1:
            flaw = rng.randbytes(length)
        case 2:
            return data[:at] + rng.randbytes(length) + data[at:], at, at
        case _:
            flaw = b""
    return data[:at] + flaw + data[at + length :], at, min(at + length, len(data))


@pytest.mark.parametrize("name", CONTAINERS)
def test_damage_costs_what_it_touches_and_is_named(name: str, tmp_path: Path) -> None:
    container, sound = CONTAINERS[name], sound_captures(name, tmp_path)
    for number in range(DAMAGES):
        data, start, end = damaged(container.data, f"{name} {number}")
        result = account(data, tmp_path, container.name)
        got = {key(one) for one in captures(result)}
        lost = [one for one in sound if one not in got]
        where = f"{number}: {start} to {end} of {len(container.data)}, {len(lost)} lost: {result.kind} {result.skips}"
        assert not lost or result.skips or name in UNCHECKED, where
        if container.ends and container.kind != "unreadable":
            starts = (0, *container.ends)
            # Of rows that stand in frames the one behind loses the line end before it.
            reach = end + 200_000 * (name == "jsonl.zst")
            touched = [n for n, (a, b) in enumerate(pairwise(starts)) if a <= reach and start <= b]
            first = 0 if len(container.ends) == len(sound) else 1
            allowed = {sound[n - first][0] for n in touched if 0 <= n - first < len(sound)}
            assert start < starts[1] or {url for url, _ in lost} <= allowed, where
