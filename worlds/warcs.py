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
from pathlib import Path
from urllib.parse import urlsplit

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from webemu.worlds.crawl import BEGIN, END, NAME, REASONS, Subset, Visit
from webemu.worlds.seeded_random import dice, number
from webemu.worlds.web import Answer

PER_FILE = 1_250
"""Largest number of fetches in one file."""
LISTS: dict[Subset, str] = {"warc": "warc", "crawldiagnostics": "non200responses", "robotstxt": "robotstxt"}
"""Name of the list of paths of each subset, as Common Crawl names it."""
SAME = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
"""WARC revisit profile (WARC 1.0): the payload has the same digest as an earlier capture."""
UNCHANGED = "http://netpreserve.org/warc/1.0/revisit/server-not-modified"
"""WARC revisit profile (WARC 1.0): the server answered 304 Not Modified."""
CLD2 = {
    "en": ("eng", "ENGLISH"), "de": ("deu", "GERMAN"), "fr": ("fra", "FRENCH"), "es": ("spa", "SPANISH"),
    "ru": ("rus", "RUSSIAN"), "ja": ("jpn", "Japanese"), "zh": ("zho", "Chinese"),
}  # fmt: skip
"""ISO 639-3 code and name of each language, as the language detector CLD2 reports them."""
Headers = list[tuple[str, str]]
"""Header names and values, in order."""


def write_crawl(out: Path, seed: int, visits: list[Visit], progress: Callable[[int], None]) -> list[Path]:
    """Write all fetches below `out`/crawl-data and return the paths of the WARC files.

    `progress` is called with 1 after each fetch.
    """
    written: list[Path] = []
    for subset, name in LISTS.items():
        mine = sorted((v for v in visits if v.subset == subset), key=lambda v: (number(seed, v.url, v.moment), v.url))
        # Fetches are sorted by a hash first, so that each file holds a random mix of hosts.
        files = max(1, -(-len(mine) // PER_FILE))  # rounded up
        paths = []
        for n in range(files):
            paths.append(
                f"crawl-data/{NAME}/segments/{int(BEGIN.timestamp())}.{n}/{subset}/"
                f"{NAME}-{BEGIN:%Y%m%d%H%M%S}-{END:%Y%m%d%H%M%S}-{n:05d}.warc.gz"
            )
            _write_file(out / paths[-1], seed, sorted(mine[n::files], key=lambda v: (v.moment, v.url)), progress)
        listing = "".join(f"{path}\n" for path in paths).encode()
        (out / f"crawl-data/{NAME}/{name}.paths.gz").write_bytes(gzip.compress(listing, mtime=0))
        written += [out / path for path in paths]
    return written


def _write_file(path: Path, seed: int, visits: list[Visit], progress: Callable[[int], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    info = _id(seed, path.name)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="WARC/1.0")
        fields = {
            "isPartOf": NAME, "publisher": "webemu", "software": "webemu generate",
            "description": f"A web that does not exist, seed {seed}", "format": "WARC File Format 1.1",
        }  # fmt: skip
        head = [("WARC-Date", _time(BEGIN)), ("WARC-Filename", path.name)]
        writer.write_record(_record("warcinfo", info, head, _fields(fields), "application/warc-fields"))
        for visit in visits:
            _write_visit(writer, seed, visit, info)
            progress(1)


def _write_visit(writer: WARCWriter, seed: int, visit: Visit, info: str) -> None:
    answer = visit.fetch()
    request, response, metadata = (_id(seed, visit.url, visit.moment, part) for part in ("request", "", "metadata"))
    common = [("WARC-Date", _time(visit.moment)), ("WARC-Warcinfo-ID", info), ("WARC-Target-URI", visit.url)]
    address = (
        "WARC-IP-Address",
        f"192.0.2.{1 + number(visit.site.host) % 254}",
    )  # TEST-NET-1 of RFC 5737, which nobody owns
    asked = _http(f"GET {_target(visit.url)} HTTP/1.1", _request_headers(visit))
    writer.write_record(
        _record("request", request, [*common, address], b"", "application/http; msgtype=request", asked)
    )
    head = [*common, address, ("WARC-Concurrent-To", request), *_protocol(visit)]
    status = _http(f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'OK')}", _headers(visit, answer))
    if visit.repeats is None:
        head += [("WARC-Payload-Digest", _digest(answer.body)), ("WARC-Identified-Payload-Type", _kind(answer))]
        writer.write_record(
            _record("response", response, head, answer.body, "application/http; msgtype=response", status)
        )
    else:
        head += _reference(seed, visit.repeats, answer)
        writer.write_record(_record("revisit", response, head, b"", "application/http; msgtype=response", status))
    about = {"fetchTimeMs": str(dice(seed, visit.url).randint(40, 900)), **_detected(visit, answer)}
    writer.write_record(
        _record(
            "metadata", metadata, [*common, ("WARC-Concurrent-To", response)], _fields(about), "application/warc-fields"
        )
    )


def _record(
    kind: str, name: str, headers: Headers, payload: bytes, content_type: str, http: StatusAndHeaders | None = None
) -> ArcWarcRecord:
    fields = StatusAndHeaders("", [("WARC-Type", kind), ("WARC-Record-ID", name), *headers], protocol="WARC/1.0")
    record = ArcWarcRecord("warc", kind, fields, BytesIO(payload), http, content_type, len(payload))
    record.payload_length = len(payload)
    return record


def _http(line: str, headers: Headers) -> StatusAndHeaders:
    protocol, _, rest = line.partition(" ")
    return StatusAndHeaders(rest, headers, protocol=protocol, is_http_request=not protocol.startswith("HTTP/"))


def _request_headers(visit: Visit) -> Headers:
    headers = [("User-Agent", "CCBot/2.0 (https://commoncrawl.org/faq/)"), ("Accept-Encoding", "br,gzip"),
               ("Host", urlsplit(visit.url).netloc), ("Connection", "Keep-Alive")]  # fmt: skip
    if visit.repeats and visit.subset == "crawldiagnostics":
        headers.append(("If-Modified-Since", _http_date(visit.repeats.moment)))
    return headers


def _headers(visit: Visit, answer: Answer) -> Headers:
    """Return the response headers as the crawler records them."""
    site, length = visit.site, str(len(answer.body))
    headers = [("Date", _http_date(visit.moment)), ("Server", site.server)]
    if answer.status == 304:
        return headers
    if answer.content_type:
        headers.append(("Content-Type", answer.content_type))
    if answer.location:
        headers.append(("Location", answer.location))
    if answer.modified:
        headers.append(("Last-Modified", _http_date(datetime.fromisoformat(f"{answer.modified}T07:00:00+00:00"))))
    if site.kind == "shop":
        headers += [("Set-Cookie", "basket=empty; Path=/"), ("Set-Cookie", "seen=1; Path=/; SameSite=Lax")]
    if site.server in ("nginx", "cloudflare") and answer.status == 200:
        headers += [("X-Crawler-Transfer-Encoding", "chunked"), ("X-Crawler-Content-Encoding", "gzip")]
    headers.append(("Content-Length", length))
    if site.server == "cloudflare":  # HTTP/2 has header names in lower case, and the crawler keeps them so
        return [(name if name.startswith("X-Crawler") else name.lower(), value) for name, value in headers]
    return headers


def _protocol(visit: Visit) -> Headers:
    if not visit.url.startswith("https:"):
        return [("WARC-Protocol", "http/1.1")]
    http = "h2" if visit.site.server == "cloudflare" else "http/1.1"
    return [("WARC-Protocol", http), ("WARC-Protocol", "tls/1.3"), ("WARC-Cipher-Suite", "TLS_AES_128_GCM_SHA256")]


def _reference(seed: int, first: Visit, answer: Answer) -> Headers:
    """Return the headers by which a revisit record names the capture that it repeats."""
    headers = [
        ("WARC-Profile", UNCHANGED if answer.status == 304 else SAME),
        ("WARC-Refers-To", _id(seed, first.url, first.moment, "")),
        ("WARC-Refers-To-Target-URI", first.url), ("WARC-Refers-To-Date", _time(first.moment)),
    ]  # fmt: skip
    return headers if answer.status == 304 else [*headers, ("WARC-Payload-Digest", _digest(answer.body))]


def _detected(visit: Visit, answer: Answer) -> dict[str, str]:
    """Return the metadata fields with the detected charset and languages; empty for responses that are not HTML."""
    if not answer.body or not answer.content_type.startswith("text/html"):
        return {}
    code, name = CLD2[visit.language]
    found = {"code": visit.language, "code-iso-639-3": code, "text-covered": 0.99, "score": 1200.0, "name": name}
    languages = {"reliable": True, "text-bytes": len(answer.body) // 2, "languages": [found]}
    return {"charset-detected": visit.charset.upper(), "languages-cld2": json.dumps(languages, separators=(",", ":"))}


def _kind(answer: Answer) -> str:
    return answer.content_type.partition(";")[0] or "application/octet-stream"


def _fields(fields: dict[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode() + b"\r\n"


def _target(url: str) -> str:
    """Return the request target of a URL: path and query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _digest(body: bytes) -> str:
    """Return the payload digest in the form of WARC: `sha1:` and base 32."""
    return "sha1:" + b32encode(hashlib.sha1(body).digest()).decode()


def _id(*about: object) -> str:
    """Return a record id that depends on the arguments alone."""
    made = hashlib.blake2b("\x1f".join(map(str, about)).encode(), digest_size=16).digest()
    return f"<urn:uuid:{uuid.UUID(bytes=made, version=4)}>"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)
