"""Write the fetches as WARC files the way Common Crawl does.

One gzip member per record: a warcinfo, then request, response (or revisit) and metadata of each fetch. Bodies are
stored without content coding, and the headers that described the coding are renamed to `X-Crawler-*`. There are three
subsets, each with a list of its paths.

Ids and digests come from what is recorded, dates from the fetches: the same fetches give the same bytes (for one
version of zlib).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import uuid
from base64 import b32encode
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from io import BytesIO
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from webemu.worlds.crawl import CRAWL_END, CRAWL_NAME, CRAWL_START, REASON_PHRASES, CrawlFetch, Subset
from webemu.worlds.seeded_random import seeded_rng, stable_hash
from webemu.worlds.web import HttpResponse

MAX_FETCHES_PER_FILE = 1_250
"""Largest number of fetches in one file."""
PATH_LIST_NAMES: dict[Subset, str] = {"warc": "warc", "crawldiagnostics": "non200responses", "robotstxt": "robotstxt"}
"""Name of the list of paths of each subset, as Common Crawl names it."""
IDENTICAL_PAYLOAD_PROFILE = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
"""WARC revisit profile (WARC 1.0): the payload has the same digest as an earlier capture."""
NOT_MODIFIED_PROFILE = "http://netpreserve.org/warc/1.0/revisit/server-not-modified"
"""WARC revisit profile (WARC 1.0): the server answered 304 Not Modified."""
CLD2_NAMES = {
    "en": ("eng", "ENGLISH"), "de": ("deu", "GERMAN"), "fr": ("fra", "FRENCH"), "es": ("spa", "SPANISH"),
    "ru": ("rus", "RUSSIAN"), "ja": ("jpn", "Japanese"), "zh": ("zho", "Chinese"),
}  # fmt: skip
"""ISO 639-3 code and name of each language, as the language detector CLD2 reports them."""
Headers = list[tuple[str, str]]
"""Header names and values, in order."""
Progress = Callable[[int, int], None]
"""Called with (captures written, all captures) after each capture."""


def write_crawl(out: Path, seed: int, fetches: list[CrawlFetch], progress: Progress | None) -> list[Path]:
    """Write all fetches below `out`/crawl-data and return the paths of the WARC files."""
    warc_paths: list[Path] = []
    counter = count(1)

    def on_fetch() -> None:
        if progress:
            progress(next(counter), len(fetches))

    for subset, name in PATH_LIST_NAMES.items():
        subset_fetches = sorted(
            (fetch for fetch in fetches if fetch.subset == subset),
            key=lambda fetch: (stable_hash(seed, fetch.url, fetch.captured_at), fetch.url),
        )
        # Fetches are sorted by a hash first, so that each file holds a random mix of hosts.
        file_count = max(1, -(-len(subset_fetches) // MAX_FETCHES_PER_FILE))  # rounded up
        paths = []
        for n in range(file_count):
            paths.append(
                f"crawl-data/{CRAWL_NAME}/segments/{int(CRAWL_START.timestamp())}.{n}/{subset}/"
                f"{CRAWL_NAME}-{CRAWL_START:%Y%m%d%H%M%S}-{CRAWL_END:%Y%m%d%H%M%S}-{n:05d}.warc.gz"
            )
            _write_file(
                out / paths[-1],
                seed,
                sorted(subset_fetches[n::file_count], key=lambda fetch: (fetch.captured_at, fetch.url)),
                on_fetch,
            )
        listing = "".join(f"{path}\n" for path in paths).encode()
        (out / f"crawl-data/{CRAWL_NAME}/{name}.paths.gz").write_bytes(gzip.compress(listing, mtime=0))
        warc_paths += [out / path for path in paths]
    return warc_paths


def _write_file(path: Path, seed: int, fetches: list[CrawlFetch], on_fetch: Callable[[], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    warcinfo_id = _make_record_id(seed, path.name)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="WARC/1.0")
        fields = {
            "isPartOf": CRAWL_NAME, "publisher": "webemu", "software": "webemu generate",
            "description": f"A web that does not exist, seed {seed}", "format": "WARC File Format 1.1",
        }  # fmt: skip
        head = [("WARC-Date", _format_warc_date(CRAWL_START)), ("WARC-Filename", path.name)]
        writer.write_record(
            _make_record("warcinfo", warcinfo_id, head, _encode_fields(fields), "application/warc-fields")
        )
        for fetch in fetches:
            _write_fetch(writer, seed, fetch, warcinfo_id)
            on_fetch()


def _write_fetch(writer: WARCWriter, seed: int, fetch: CrawlFetch, warcinfo_id: str) -> None:
    """Write the request, the response or revisit, and the metadata of one fetch."""
    http_response = fetch.get_response()
    request_id, response_id, metadata_id = (
        _make_record_id(seed, fetch.url, fetch.captured_at, part) for part in ("request", "", "metadata")
    )
    common_headers = [
        ("WARC-Date", _format_warc_date(fetch.captured_at)),
        ("WARC-Warcinfo-ID", warcinfo_id),
        ("WARC-Target-URI", fetch.url),
    ]
    # TEST-NET-1 of RFC 5737, which nobody owns.
    address = ("WARC-IP-Address", f"192.0.2.{1 + stable_hash(fetch.site.host) % 254}")
    request_headers = _make_http_headers(f"GET {_request_target(fetch.url)} HTTP/1.1", _request_headers(fetch))
    writer.write_record(
        _make_record(
            "request", request_id, [*common_headers, address], b"", "application/http; msgtype=request", request_headers
        )
    )
    record_headers = [*common_headers, address, ("WARC-Concurrent-To", request_id), *_protocol_headers(fetch)]
    writer.write_record(_make_response_record(seed, fetch, http_response, response_id, record_headers))
    metadata_headers = [*common_headers, ("WARC-Concurrent-To", response_id)]
    metadata_fields = {
        "fetchTimeMs": str(seeded_rng(seed, fetch.url).randint(40, 900)),
        **_detected_fields(fetch, http_response),
    }
    body = _encode_fields(metadata_fields)
    writer.write_record(_make_record("metadata", metadata_id, metadata_headers, body, "application/warc-fields"))


def _make_response_record(
    seed: int, fetch: CrawlFetch, http_response: HttpResponse, record_id: str, headers: Headers
) -> ArcWarcRecord:
    """Return the response of a fetch: a revisit without a body if an earlier fetch got the same."""
    status_line = f"HTTP/1.1 {http_response.status} {REASON_PHRASES.get(http_response.status, 'OK')}"
    http_headers = _make_http_headers(status_line, _response_headers(fetch, http_response))
    if fetch.original is None:
        kind, body = "response", http_response.body
        payload_headers = [
            ("WARC-Payload-Digest", _sha1_digest(http_response.body)),
            ("WARC-Identified-Payload-Type", _payload_type(http_response)),
        ]
    else:
        kind, body = "revisit", b""
        payload_headers = _revisit_headers(seed, fetch.original, http_response)
    media_type = "application/http; msgtype=response"
    return _make_record(kind, record_id, [*headers, *payload_headers], body, media_type, http_headers)


def _make_record(
    kind: str,
    record_id: str,
    headers: Headers,
    payload: bytes,
    content_type: str,
    http_headers: StatusAndHeaders | None = None,
) -> ArcWarcRecord:
    fields = StatusAndHeaders("", [("WARC-Type", kind), ("WARC-Record-ID", record_id), *headers], protocol="WARC/1.0")
    record = ArcWarcRecord("warc", kind, fields, BytesIO(payload), http_headers, content_type, len(payload))
    record.payload_length = len(payload)
    return record


def _make_http_headers(start_line: str, headers: Headers) -> StatusAndHeaders:
    protocol, _, status_line = start_line.partition(" ")
    return StatusAndHeaders(status_line, headers, protocol=protocol, is_http_request=not protocol.startswith("HTTP/"))


def _request_headers(fetch: CrawlFetch) -> Headers:
    headers = [("User-Agent", "CCBot/2.0 (https://commoncrawl.org/faq/)"), ("Accept-Encoding", "br,gzip"),
               ("Host", urlsplit(fetch.url).netloc), ("Connection", "Keep-Alive")]  # fmt: skip
    if fetch.original and fetch.subset == "crawldiagnostics":
        headers.append(("If-Modified-Since", _format_http_date(fetch.original.captured_at)))
    return headers


def _response_headers(fetch: CrawlFetch, http_response: HttpResponse) -> Headers:
    """Return the response headers as the crawler records them."""
    site, length = fetch.site, str(len(http_response.body))
    headers = [("Date", _format_http_date(fetch.captured_at)), ("Server", site.server)]
    if http_response.status == 304:
        return headers
    if http_response.content_type:
        headers.append(("Content-Type", http_response.content_type))
    if http_response.location:
        headers.append(("Location", http_response.location))
    if http_response.last_modified:
        headers.append(
            (
                "Last-Modified",
                _format_http_date(datetime.fromisoformat(f"{http_response.last_modified}T07:00:00+00:00")),
            )
        )
    if site.kind == "shop":
        headers += [("Set-Cookie", "basket=empty; Path=/"), ("Set-Cookie", "seen=1; Path=/; SameSite=Lax")]
    if site.server in ("nginx", "cloudflare") and http_response.status == 200:
        headers += [("X-Crawler-Transfer-Encoding", "chunked"), ("X-Crawler-Content-Encoding", "gzip")]
    headers.append(("Content-Length", length))
    if site.server == "cloudflare":  # HTTP/2 has header names in lower case, and the crawler keeps them so
        return [(name if name.startswith("X-Crawler") else name.lower(), value) for name, value in headers]
    return headers


def _protocol_headers(fetch: CrawlFetch) -> Headers:
    if not fetch.url.startswith("https:"):
        return [("WARC-Protocol", "http/1.1")]
    http_version = "h2" if fetch.site.server == "cloudflare" else "http/1.1"
    return [
        ("WARC-Protocol", http_version),
        ("WARC-Protocol", "tls/1.3"),
        ("WARC-Cipher-Suite", "TLS_AES_128_GCM_SHA256"),
    ]


def _revisit_headers(seed: int, original: CrawlFetch, http_response: HttpResponse) -> Headers:
    """Return the headers by which a revisit record names the capture that it repeats."""
    headers = [
        ("WARC-Profile", NOT_MODIFIED_PROFILE if http_response.status == 304 else IDENTICAL_PAYLOAD_PROFILE),
        ("WARC-Refers-To", _make_record_id(seed, original.url, original.captured_at, "")),
        ("WARC-Refers-To-Target-URI", original.url), ("WARC-Refers-To-Date", _format_warc_date(original.captured_at)),
    ]  # fmt: skip
    return (
        headers
        if http_response.status == 304
        else [*headers, ("WARC-Payload-Digest", _sha1_digest(http_response.body))]
    )


def _detected_fields(fetch: CrawlFetch, http_response: HttpResponse) -> dict[str, str]:
    """Return the metadata fields with the detected charset and languages; empty for responses that are not HTML."""
    if not http_response.body or not http_response.content_type.startswith("text/html"):
        return {}
    code, name = CLD2_NAMES[fetch.language]
    language = {"code": fetch.language, "code-iso-639-3": code, "text-covered": 0.99, "score": 1200.0, "name": name}
    languages = {"reliable": True, "text-bytes": len(http_response.body) // 2, "languages": [language]}
    return {"charset-detected": fetch.charset.upper(), "languages-cld2": json.dumps(languages, separators=(",", ":"))}


def _payload_type(http_response: HttpResponse) -> str:
    return http_response.content_type.partition(";")[0] or "application/octet-stream"


def _encode_fields(fields: dict[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode() + b"\r\n"


def _request_target(url: str) -> str:
    """Return the request target of a URL: path and query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _sha1_digest(body: bytes) -> str:
    """Return the payload digest in the form of WARC: `sha1:` and base 32."""
    return "sha1:" + b32encode(hashlib.sha1(body).digest()).decode()


def _make_record_id(*parts: object) -> str:
    """Return a record id that depends on the arguments alone."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()
    return f"<urn:uuid:{uuid.UUID(bytes=digest, version=4)}>"


def _format_warc_date(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)
