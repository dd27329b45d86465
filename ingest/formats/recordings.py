"""Recordings of other tools: cassettes of vcrpy and VCR (YAML, JSON), logs of calls of search services (JSON lines).

Each exchange is copied as a WARC response and its request. The meaning of their members is in
`webemu.ingest.cassettes` and `webemu.ingest.service_logs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import yaml

from webemu.ingest import cassettes, service_logs
from webemu.ingest.exchange_records import build_warcinfo
from webemu.ingest.formats.format import CopyTarget, Format, Probe
from webemu.ingest.formats.members import write_records
from webemu.ingest.records import Skip
from webemu.ingest.rows import parse_lines
from webemu.ingest.unpack import GZIP, PLAIN, ZSTD, Packing

DAMAGED_CASSETTE, OVERSIZED = "damaged-cassette", "oversized-archive"
"""Reasons for which exchanges of a cassette are lost: it cannot be parsed or ends early, or is too large."""
MAX_BYTES = 1 << 27
"""Largest cassette in bytes: it is one document, which is read as a whole."""
_YAML_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:---[^\n]*\n|#[^\n]*\n|\s*\n)*(?:http_)?interactions:(?:\s|\Z)")
_VERSION_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:---[^\n]*\n|#[^\n]*\n|\s*\n)*version: 1\r?\ninteractions:(?:\s|\Z)")
JSON_CASSETTE_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"version":\s*1\s*,\s*)?"(?:http_)?interactions"\s*:\s*\['
)
"""Start of a cassette in JSON."""
SERVICE_LOG_START = re.compile(rb'\{.{0,65536}?"(?:searchParameters|response)"\s*:', re.DOTALL)
"""Start of a line of a log of calls, so far as it can be told before the line ends."""


def begins_service_log(probe: Probe) -> bool:
    """True if the first line is one of a log of calls."""
    line, end, _ = probe.text.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    try:
        return service_logs.is_service_log(orjson.loads(line))
    except orjson.JSONDecodeError:
        return not end and bool(SERVICE_LOG_START.match(line))


def _begins_cassette(probe: Probe) -> bool:
    return bool(
        _YAML_START.match(probe.start) or _VERSION_START.match(probe.start) or JSON_CASSETTE_START.match(probe.start)
    )


def _copy_cassette(path: Path, target: CopyTarget) -> list[Skip]:
    """Copy every exchange of a cassette."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        return [Skip(OVERSIZED, 0, size)]
    try:
        cassette = _parse(path.read_bytes())
    except (yaml.YAMLError, ValueError, RecursionError):
        cassette = None
    interactions = cassettes.find_interactions(cassette)
    if interactions is None:
        return [Skip(DAMAGED_CASSETTE, 0, size)]
    skips = _copy_records(path.name, cassettes.iter_records(interactions), target)
    return skips if cassettes.is_complete(cassette) else [*skips, Skip(DAMAGED_CASSETTE, 0, size)]


def _parse(content: bytes) -> Any:
    """Return the document of a cassette. Raises YAMLError, ValueError or RecursionError."""
    if JSON_CASSETTE_START.match(content):
        return orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    return yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _copy_log(path: Path, target: CopyTarget, *, packing: Packing) -> list[Skip]:
    """Copy every call of a log."""
    return _copy_records(path.name, service_logs.iter_records(parse_lines(packing.iter_content(path))), target)


def _copy_records(file_name: str, records: Iterator[bytes | Skip], target: CopyTarget) -> list[Skip]:
    """Write a warcinfo record and the records to a copy; return skips, summed up by reason."""
    return write_records(chain((build_warcinfo(file_name),), records), target.file)


CASSETTE = Format(
    name="cassette",
    title="VCR cassette",
    suffixes=(".yaml", ".yml", ".json"),
    packing=PLAIN,
    begins=_begins_cassette,
    copy_records=_copy_cassette,
    is_dump=True,
    drop_reasons=(DAMAGED_CASSETTE, OVERSIZED, *cassettes.REASONS),
)
SERVICE_LOG = Format(
    name="service-log",
    title="log of search calls",
    suffixes=(".jsonl", ".ndjson"),
    packing=PLAIN,
    begins=begins_service_log,
    copy_records=partial(_copy_log, packing=PLAIN),
    is_dump=True,
    drop_reasons=service_logs.REASONS,
)
SERVICE_LOG_GZ = Format(
    name="service-log.gz",
    title="log of search calls",
    suffixes=(".jsonl.gz", ".ndjson.gz"),
    packing=GZIP,
    begins=begins_service_log,
    copy_records=partial(_copy_log, packing=GZIP),
    is_dump=True,
    drop_reasons=(*GZIP.drop_reasons, *service_logs.REASONS),
)
SERVICE_LOG_ZST = Format(
    name="service-log.zst",
    title="log of search calls",
    suffixes=(".jsonl.zst", ".ndjson.zst"),
    packing=ZSTD,
    begins=begins_service_log,
    copy_records=partial(_copy_log, packing=ZSTD),
    is_dump=True,
    drop_reasons=(*ZSTD.drop_reasons, *service_logs.REASONS),
)
