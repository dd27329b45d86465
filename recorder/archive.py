"""Writes exchanges to a WARC/1.1 file (ISO 28500) through warcio: a response, and the request that it answers.

Keys and cookies of the request are replaced (`webemu.emulator.exchange_keys`); what the server answered is kept as it
was. Every exchange is on the disk before the next one is written, so that a kill loses at most the one being written.
"""

from __future__ import annotations

import os
from base64 import b32encode
from datetime import UTC, datetime
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from warcio.warcwriter import WARCWriter

from webemu.emulator.exchange_keys import RECORDING_HEADER, redact_body, redact_headers, redact_url
from webemu.emulator.urls import normalize

SPOOL_BYTES = 1 << 20
"""Bytes of a response that are held in memory while it arrives; larger ones are in a temporary file."""
_HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade"))
_RENAMED = frozenset((b"transfer-encoding",))
"""Headers that are not true of what is stored; they get a prefix, as in Common Crawl."""
Headers = list[tuple[bytes, bytes]]


class RecordedRequest(NamedTuple):
    """A request as it was sent."""

    method: str
    url: str
    headers: Headers
    body: bytes
    time: datetime
    """Time at which it was sent, in UTC."""


class ResponseCopy:
    """Copy of a response that is taken while it passes. Close it at the end."""

    def __init__(self, status: int, reason: bytes, headers: Headers, protocol: str) -> None:
        self.protocol = protocol
        self.block: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115  # closed by close()
        """HTTP head and body."""
        self._digest = sha1()
        self.bytes = 0
        """Bytes of the body so far."""
        head = b"HTTP/1.1 %d %b\r\n" % (status, reason)
        for name, value in headers:
            if name.lower() not in _HOP_BY_HOP:
                prefix = b"X-Crawler-" if name.lower() in _RENAMED else b""
                head += b"%b%b: %b\r\n" % (prefix, name, value)
        self.block.write(head + b"\r\n")

    def add(self, part: bytes) -> None:
        """Add a part of the body."""
        self.block.write(part)
        self._digest.update(part)
        self.bytes += len(part)

    @property
    def payload_digest(self) -> str:
        """Digest of the body, as WARC records state it."""
        return "sha1:" + b32encode(self._digest.digest()).decode()

    def close(self) -> None:
        """Release the memory or the temporary file."""
        self.block.close()


class Archive:
    """A WARC file that is being written. Not safe for threads: call it from one at a time."""

    def __init__(self, path: Path) -> None:
        """Begin the file. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("xb")
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        info = {"software": "webemu record", "format": "WARC File Format 1.1", "isPartOf": path.name.partition(".")[0]}
        self._writer.write_record(self._writer.create_warcinfo_record(path.name, info))
        self._sync()

    def write(self, request: RecordedRequest, response: ResponseCopy) -> None:
        """Write one exchange. Raises OSError."""
        url = redact_url(normalize(request.url))
        date = request.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        common = {"WARC-Date": date, "WARC-Protocol": response.protocol}
        response.block.seek(0)
        response_record = self._writer.create_warc_record(
            url,
            "response",
            payload=response.block,
            warc_content_type="application/http; msgtype=response",
            warc_headers_dict={**common, "WARC-Payload-Digest": response.payload_digest},
        )
        request_record = self._writer.create_warc_record(
            url,
            "request",
            payload=BytesIO(render_request(request)),
            warc_content_type="application/http; msgtype=request",
            warc_headers_dict={**common, RECORDING_HEADER: "1"},
        )
        self._writer.write_request_response_pair(request_record, response_record)
        self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def render_request(request: RecordedRequest) -> bytes:
    """Return a request as HTTP/1.1 with `REDACTED` in place of secrets."""
    url = redact_url(normalize(request.url))
    target = "/" + url.partition("://")[2].partition("/")[2]
    content_type = next((value for name, value in request.headers if name.lower() == b"content-type"), b"")
    body = redact_body(request.body, content_type.decode("latin-1").lower())
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), target.encode("ascii", "replace"))]
    for name, value in redact_headers(request.headers):
        is_length = name.lower() == b"content-length"
        lines.append(b"%b: %b" % (name, b"%d" % len(body) if is_length else value))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
