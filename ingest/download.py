"""Downloads over HTTP, complete or not at all: resumed after a break, checked, then moved to their final name."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from webemu.emulator.errors import SourceError
from webemu.ingest.readers.gzip_members import Member
from webemu.ingest.readers.heads import MalformedRecord

Progress = Callable[[int, int], None]
"""Callback that receives (bytes so far, total bytes or 0 if unknown)."""

_MAX_FAILURES = 8
"""Consecutive failures, without a byte gained, after which a file is given up."""
_MAX_FIRST_FAILURES = 3
"""Failures after which a machine is given up that never answered: its name is wrong, or there is no network."""
_MAX_WAIT_SECONDS = 120.0
"""Longest wait between two attempts, in seconds."""
_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 509})
"""Status codes after which another attempt may succeed."""
_STEP_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """Version of the remote file that a part belongs to. Stored as JSON next to the part."""

    url: str
    validator: str = ""
    """Strong ETag or Last-Modified; without one a part cannot be continued."""
    size: int = 0
    """Bytes of the remote file; 0 if the server did not say."""


class RetryableError(Exception):
    """Raised if an attempt failed and another may succeed. `after`: seconds that the server asked to wait."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


def fetch(
    url: str,
    destination: Path,
    progress: Progress | None = None,
    *,
    is_first_contact: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Download to `destination`, continuing `<destination>.part` if the server allows it.

    With `is_first_contact`, a machine that cannot be reached is given up soon. Raises SourceError if the server refuses
    the file or keeps failing; the part is kept for the next run.

        fetch("https://example.org/a.warc.gz", Path("a.warc.gz"))
    """
    part = destination.with_name(destination.name + ".part")
    destination.parent.mkdir(parents=True, exist_ok=True)
    timeout = httpx.Timeout(30.0, read=60.0)
    failures, is_second_look = 0, False
    # No content coding: offsets and lengths must be those of the file.
    with httpx.Client(follow_redirects=True, timeout=timeout, headers={"Accept-Encoding": "identity"}) as client:
        while True:
            before = _read_part_size(part)
            try:
                _try_download(client, url, part, progress)
            except (RetryableError, httpx.TransportError) as error:
                failures = 0 if _read_part_size(part) > before else failures + 1
                if failures >= choose_patience(error, is_first_contact and not _read_part_size(part)):
                    raise describe_failure(url, error, failures) from error
                pause(choose_wait(failures, getattr(error, "after", None)))
                continue
            if is_second_look or ends_with_whole_member(part):
                break
            # The file is cut although its size is right: a second download tells a bad copy from a bad original.
            is_second_look = True
            _remove_part(part)
    _build_note_path(part).unlink(missing_ok=True)
    part.replace(destination)


def choose_patience(error: Exception, is_first_contact: bool) -> int:
    """Return the number of consecutive failures, of which this is the last, after which to give up."""
    return _MAX_FIRST_FAILURES if is_first_contact and isinstance(error, httpx.ConnectError) else _MAX_FAILURES


def describe_failure(url: str, error: Exception, failures: int) -> SourceError:
    """Return the error for a file that keeps failing."""
    why = str(error) or type(error).__name__
    return SourceError(
        f"{url}: {why}, {failures} times in a row",
        action="check the address and the network, then run the same command to continue",
    )


def _try_download(client: httpx.Client, url: str, part: Path, progress: Progress | None) -> None:
    """Make one request. Return once the part is as long as the remote file; raise RetryableError if it is not."""
    version, part_bytes = _load_version(part, url), _read_part_size(part)
    if version.size and part_bytes == version.size:
        return
    headers = {}
    if part_bytes and version.validator:
        # If-Range: the server sends the rest only if the file is unchanged, else all of it.
        headers = {"Range": f"bytes={part_bytes}-", "If-Range": version.validator}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:  # range not satisfiable: the remote file became shorter
            _remove_part(part)
            raise RetryableError("the part is longer than the file")
        check_status(url, response)
        if response.status_code == 206 and not _continues_part(response, part_bytes, version):
            _remove_part(part)
            raise RetryableError("the file changed")
        if response.status_code != 206:
            part_bytes, version = 0, _read_version(url, response)
            _build_note_path(part).write_text(json.dumps(asdict(version)))
        _append_body(response, part, part_bytes, version, progress)
    if version.size and _read_part_size(part) != version.size:
        if _read_part_size(part) > version.size:
            _remove_part(part)
        raise RetryableError(f"received {_read_part_size(part)} of {version.size} bytes")


def check_status(url: str, response: httpx.Response) -> None:
    """Raise RetryableError or SourceError unless the response has content."""
    status = response.status_code
    if status in _RETRIED_STATUSES:
        raise RetryableError(f"HTTP {status}", _parse_retry_after(response.headers.get("Retry-After", "")))
    if status not in (200, 206):
        raise SourceError(f"{url}: HTTP {status} {response.reason_phrase}", action="check the URL")


def _read_version(url: str, response: httpx.Response) -> RemoteVersion:
    """Return the version of the remote file that a complete response belongs to."""
    tag = response.headers.get("ETag", "")
    validator = response.headers.get("Last-Modified", "") if not tag or tag.startswith("W/") else tag
    length = response.headers.get("Content-Length", "")
    is_plain = not response.headers.get("Content-Encoding", "")
    return RemoteVersion(url, validator, int(length) if length.isdigit() and is_plain else 0)


def _continues_part(response: httpx.Response, part_bytes: int, version: RemoteVersion) -> bool:
    """True if a 206 response continues the part."""
    byte_range, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    is_same = not version.size or total in ("*", str(version.size))
    return is_same and byte_range.partition("-")[0] == str(part_bytes)


def _append_body(
    response: httpx.Response, part: Path, part_bytes: int, version: RemoteVersion, progress: Progress | None
) -> None:
    """Append the body of a response to the part, which has `part_bytes` bytes, and sync it to disk."""
    with part.open("r+b" if part_bytes else "wb") as file:
        file.seek(part_bytes)
        # Write chunks as they come: gathered into larger ones, those before a break would be lost.
        for chunk in response.iter_raw():
            file.write(chunk)
            part_bytes += len(chunk)
            if progress is not None:
                progress(part_bytes, version.size)
        file.flush()
        os.fsync(file.fileno())


def _parse_retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After in either form (RFC 9110 section 10.2.3), or None."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def choose_wait(failures: int, asked_seconds: float | None) -> float:
    """Return the seconds to wait before the next attempt: as the server asked, else doubled after each failure."""
    return min(_MAX_WAIT_SECONDS, 0.5 * 2.0**failures if asked_seconds is None else asked_seconds)


def _read_part_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _build_note_path(part: Path) -> Path:
    """Return the path of the JSON file that describes a part."""
    return part.with_name(part.name + ".json")


def _load_version(part: Path, url: str) -> RemoteVersion:
    """Return the version that the part belongs to; an empty one if its description is missing or damaged."""
    try:
        version = RemoteVersion(**json.loads(_build_note_path(part).read_text()))
    except (OSError, ValueError, TypeError):
        return RemoteVersion(url)
    return version if version.url == url else RemoteVersion(url)


def _remove_part(part: Path) -> None:
    """Remove a part and its description."""
    part.unlink(missing_ok=True)
    _build_note_path(part).unlink(missing_ok=True)


def ends_with_whole_member(path: Path) -> bool:
    """True if a gzip file ends with a complete member; True for any other file."""
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        if os.pread(fd, 2, 0) != b"\x1f\x8b":
            return True
        end = size
        while end > 0:
            start = max(0, end - _STEP_BYTES)
            window = os.pread(fd, end - start + 2, start)
            position = window.rfind(b"\x1f\x8b\x08")
            while position >= 0:
                if _member_reaches_end(fd, start + position, size):
                    return True
                position = window.rfind(b"\x1f\x8b\x08", 0, position + 2)
            end = start
    return False


def _member_reaches_end(fd: int, offset: int, size: int) -> bool:
    """True if a complete member begins at the offset and ends at the end of the file."""
    member = Member(fd, offset)
    try:
        member.drain()
    except (zlib.error, MalformedRecord):
        return False
    return member.is_whole and member.end == size
