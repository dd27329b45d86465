"""A small crawl with a past, for the tests of the archives: two files, repeated captures, a revisit, a redirect."""

from base64 import b32encode
from functools import partial
from hashlib import sha1
from pathlib import Path

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.archives import routes
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.session import Session
from webemu.emulator.world import World
from webemu.index.open import open_world

HARBOUR = "https://www.harbour.example/"
BODY = html("Harbour", "The harbour of Aldmere.", '<a href="/ships?b=2&amp;a=1#top">Ships</a>')
DIGEST = b32encode(sha1(BODY.encode()).digest()).decode()
REVISIT = {
    "WARC-Refers-To-Target-URI": HARBOUR,
    "WARC-Refers-To-Date": "2024-01-01T12:00:00Z",
    "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
    "WARC-Payload-Digest": f"sha1:{DIGEST}",
}
SHEET = '@import "more.css"; body { background: url(/quay.png) } @font-face { font-family: f; src: url(f.woff2) }'
MARKED = (("ETag", '"1"'), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))
FIRST = [
    CaptureSpec(HARBOUR, BODY, 1, headers=MARKED),
    CaptureSpec(HARBOUR, "", 3, kind="revisit", warc=REVISIT),
    CaptureSpec("http://harbour.example/", "moved", 2, "301 Moved Permanently", headers=(("Location", HARBOUR),)),
    CaptureSpec("https://www.harbour.example/ships?a=1&b=2", html("Ships"), 4),
    CaptureSpec("https://www.harbour.example/site.css", SHEET, 4, mime="text/css"),
    CaptureSpec("https://www.harbour.example/quay.png", b"\x89PNG\r\n\x1a\n-quay", 4, mime="image/png"),
    CaptureSpec("https://www.harbour.example/gone", html("Gone"), 4, "404 Not Found"),
    CaptureSpec("https://fleet.harbour.example/", html("Fleet"), 5),
    CaptureSpec("https://harbour-view.example/", html("Another domain"), 5),
]
SECOND = [
    CaptureSpec(HARBOUR, html("Harbour", "Newer."), 20),
    CaptureSpec("https://harbour.example/dock", html("Dock"), 21),
]
FILES = ("one.warc.gz", "two.warc.gz")


def collection(root: Path, *more: CaptureSpec) -> Path:
    """The folder of a collection made of it."""
    for name, records in zip(FILES, ([*FIRST, *more], SECOND), strict=True):
        write(root / name, records)
    ingest(root / "default", *(root / name for name in FILES))
    return root / "default"


def world_of(root: Path, *more: CaptureSpec) -> World:
    return open_world(collection(root, *more))


def ask_archive(
    world: World, target: str, host: str = "web.archive.org", method: str = "GET", **headers: str
) -> Response:
    """The answer of an archive, without a socket."""
    path, _, query = target.partition("?")
    named = {name.lower().replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    reply = routes.HOSTS[host](world, Request(method, "https", host, host, path, query, named, Session()))
    assert reply is not None
    return reply


wayback = partial(ask_archive, host="web.archive.org")
index = partial(ask_archive, host="index.commoncrawl.org")
data = partial(ask_archive, host="data.commoncrawl.org")


def header(reply: Response, name: str) -> str:
    values = [value.decode() for field_name, value in reply.headers if field_name.lower() == name.lower().encode()]
    assert len(values) <= 1, values
    return values[0] if values else ""
