"""WACZ files (version 1.1.1): a zip whose WARC files stand below `archive/`. All of them are copied."""

from __future__ import annotations

from pathlib import Path

from webemu.emulator.errors import SourceError
from webemu.ingest import zips
from webemu.ingest.formats.format import CopyTarget, Format, Probe
from webemu.ingest.formats.warc import WARC, WARC_GZ
from webemu.ingest.records import Skip
from webemu.ingest.unpack import GZIP, OVERSIZED, PLAIN

_SUFFIX = ".wacz"
_DAMAGED, _TRUNCATED = "damaged-zip", "truncated-zip"
MAX_UNPACKED = 4 << 30
"""Bytes that the files of a WACZ may unpack to."""
_MAX_RATIO = 200
"""Times the size of the WACZ that its files may unpack to, if that is more than `MAX_UNPACKED`."""


def _begins_wacz(probe: Probe) -> bool:
    """True for a zip that holds WARC files, or any file if it is named like a WACZ."""
    path = probe.file.path
    is_named = path.name.lower().endswith(_SUFFIX)
    if not is_named and not probe.start.startswith(b"PK\x03\x04"):
        return False
    entries = zips.read_zip(path).entries
    return bool(entries) and (is_named or any(zips.is_archive(entry.name) for entry in entries))


def _copy_wacz(path: Path, target: CopyTarget) -> list[Skip]:
    """Copy all WARC files of a WACZ (section 5.2.1), in the order of their names."""
    contents = zips.read_zip(path)
    entries = [entry for entry in contents.entries if zips.is_archive(entry.name)]
    size = path.stat().st_size
    end = max((entry.end for entry in contents.entries), default=0)
    skips = [] if contents.is_whole else [Skip(_DAMAGED, end, size - end)]
    skips += [Skip(_DAMAGED, 0, 0) for name in contents.missing_names if zips.is_archive(name)]
    if not entries and not skips:
        raise SourceError(f"{path} holds no archive/*.warc.gz", action="check that it is a WACZ and not empty")
    inner, remaining_bytes = target.scratch_folder / "inner", max(MAX_UNPACKED, _MAX_RATIO * size)
    for entry in entries:
        if skip := _extract_entry(path, entry, inner, remaining_bytes):
            skips.append(skip)
        remaining_bytes -= inner.stat().st_size
        if inner.stat().st_size:
            skips += _choose_inner_format(inner, entry.name, target).copy_records(inner, target)
    return skips


def _choose_inner_format(inner: Path, name: str, target: CopyTarget) -> Format:
    """Return the format of a file in a WACZ. A damaged one is taken for a WARC, and so is a WACZ, which is not opened.

    `name` is the one that it has in the WACZ.
    """
    inner_format = target.detect(inner)
    if inner_format is None or inner_format is WACZ:
        return WARC_GZ if name.endswith(".gz") else WARC
    return inner_format


def _extract_entry(path: Path, entry: zips.ZipEntry, target: Path, limit: int) -> Skip | None:
    """Write one file of a zip; what was read before damage stays. Return the skip for what is lost, or None."""
    size = entry.end - entry.offset
    with target.open("wb") as file:
        try:
            for chunk in zips.iter_content(path, entry):
                file.write(chunk)
                if file.tell() > limit:
                    return Skip(OVERSIZED, entry.offset, size)
        except zips.DamagedEntry:
            reason = _TRUNCATED if entry.is_cut else _DAMAGED
            return Skip(reason, entry.offset, 0 if file.tell() else size)
    return None


WACZ = Format(
    name="wacz",
    title="WACZ",
    suffixes=(_SUFFIX,),
    packing=PLAIN,
    begins=_begins_wacz,
    copy_records=_copy_wacz,
    drop_reasons=(_DAMAGED, _TRUNCATED, *GZIP.drop_reasons, OVERSIZED),
)
