"""Replay, Memento, availability and the files of Common Crawl, asked without a socket."""

import gzip
import io
import json
import re
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.api.archived import BODY, FILES, HARBOUR, SHEET, data, header, index, wayback, world_of
from tests.crawls import CaptureSpec, html
from webemu.api.archives import crawl_data
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World

SELF = "https://web.archive.org"
HOSTILE = html(
    "Hostile",
    '<script>location = "http://spy.example/"</script>',
    '<a href="http://spy.example/&quot;&gt;<script>">x</a>',
    '<iframe src="//spy.example/frame"></iframe>',
)
ODD = "http://odd.example/</code><script>alert(1)</script>"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="module")
def world(root: Path) -> World:
    hostile = CaptureSpec("http://hostile.example/", HOSTILE, headers=(("Content-Security-Policy", "script-src *"),))
    page = gzip.compress(html("Packed", '<a href="/far">far</a>').encode(), mtime=0)
    packed = CaptureSpec("http://packed.example/", page, headers=(("Content-Encoding", "gzip"),))
    font = CaptureSpec("http://packed.example/f.woff2", b"wOF2", mime="font/woff2")
    return world_of(root, hostile, packed, font)


def test_raw_bytes_and_the_origins_headers(world: World) -> None:
    reply = wayback(world, f"/web/20240101120000id_/{HARBOUR}")
    assert (reply.status, reply.body.decode()) == (200, BODY)
    assert header(reply, "Content-Type") == header(reply, "X-Archive-Orig-Content-Type") == "text/html; charset=utf-8"
    assert header(reply, "X-Archive-Orig-ETag") == '"1"'
    assert [value for name, value in reply.headers if name == b"X-Archive-Orig-Set-Cookie"] == [b"a=1", b"b=2"]
    assert not header(reply, "Set-Cookie")
    assert header(reply, "Memento-Datetime") == "Mon, 01 Jan 2024 12:00:00 GMT"


def test_a_page_leads_into_the_archive(world: World) -> None:
    for kind in ("", "if_"):
        body = wayback(world, f"/web/20240101120000{kind}/{HARBOUR}").body.decode()
        assert f'href="/web/20240101120000/{HARBOUR}ships?b=2&amp;a=1#top"' in body
        assert "The harbour of Aldmere." in body


def test_a_sheet_leads_into_the_archive(world: World) -> None:
    reply = wayback(world, f"/web/20240104120000cs_/{HARBOUR}site.css")
    assert header(reply, "Content-Type") == "text/css; charset=utf-8"
    assert re.findall(r'"(.*?)"', reply.body.decode()) == [
        f"/web/20240104120000{kind}/{HARBOUR}{name}"
        for kind, name in (("cs_", "more.css"), ("im_", "quay.png"), ("im_", "f.woff2"))
    ]
    assert wayback(world, f"/web/20240104120000id_/{HARBOUR}site.css").body.decode() == SHEET


def test_a_picture_is_the_same_under_any_modifier(world: World) -> None:
    for kind in ("", "id_", "im_", "if_", "oe_", "zz_"):
        reply = wayback(world, f"/web/20240104120000{kind}/{HARBOUR}quay.png")
        assert (reply.body, header(reply, "Content-Type")) == (b"\x89PNG\r\n\x1a\n-quay", "image/png")
    part = wayback(world, f"/web/20240104120000im_/{HARBOUR}quay.png", range="bytes=1-3")
    assert (part.status, part.body) == (206, b"PNG")


def test_what_was_packed_is_unpacked(world: World) -> None:
    raw = wayback(world, "/web/20240101120000id_/http://packed.example/", accept_encoding="gzip")
    assert (header(raw, "Content-Encoding"), gzip.decompress(raw.body)[:9]) == ("gzip", b"<!doctype")
    page = wayback(world, "/web/20240101120000/http://packed.example/", accept_encoding="gzip")
    assert not header(page, "Content-Encoding")
    assert b'href="/web/20240101120000/http://packed.example/far"' in page.body


@pytest.mark.parametrize(
    ("requested_at", "nearest_at"),
    [
        ("2024010112000", "20240101120000"),
        ("2024", "20240101120000"),
        ("20240103", "20240103120000"),
        ("20240119", "20240120120000"),
        ("19991399", "20240101120000"),
        ("0", "20240101120000"),
        ("99999999999999", "20240120120000"),
    ],
)
def test_another_time_leads_to_the_nearest_capture(world: World, requested_at: str, nearest_at: str) -> None:
    reply = wayback(world, f"/web/{requested_at}id_/{HARBOUR}")
    assert (reply.status, header(reply, "Location")) == (302, f"/web/{nearest_at}id_/{HARBOUR}")


def test_a_revisit_has_its_own_time_and_the_body_it_repeats(world: World) -> None:
    reply = wayback(world, f"/web/20240103120000id_/{HARBOUR}")
    assert (reply.status, reply.body.decode()) == (200, BODY)
    assert header(reply, "Memento-Datetime") == "Wed, 03 Jan 2024 12:00:00 GMT"


@pytest.mark.parametrize("kind", ["", "id_"])
def test_a_redirect_stays_in_the_archive(world: World, kind: str) -> None:
    reply = wayback(world, f"/web/20240102120000{kind}/http://harbour.example/")
    assert (reply.status, header(reply, "Location")) == (302, f"/web/20240102120000{kind}/{HARBOUR}")
    assert header(reply, "X-Archive-Orig-Location") == HARBOUR


def test_an_error_page_is_a_capture(world: World) -> None:
    reply = wayback(world, f"/web/20240104120000/{HARBOUR}gone")
    assert (reply.status, header(reply, "Memento-Datetime")) == (404, "Thu, 04 Jan 2024 12:00:00 GMT")


@pytest.mark.parametrize("url", ["http://nowhere.example/", ODD, "timemap/link/http://nowhere.example/", "x" * 5000])
def test_what_was_not_archived_is_404(world: World, url: str) -> None:
    reply = wayback(world, f"/web/2024/{url}")
    assert (reply.status, header(reply, "Content-Type")) == (404, "text/html; charset=utf-8")
    assert b"has not archived that URL" in reply.body
    assert b"<script" not in reply.body
    assert not header(reply, "Memento-Datetime")


def test_addresses_as_clients_write_them(world: World) -> None:
    for url in (HARBOUR, "www.harbour.example", "https%3A//www.harbour.example/", "https:/www.harbour.example/"):
        assert wayback(world, f"/web/20240101120000id_/{url}").body.decode() == BODY
    ships = wayback(world, f"/web/20240104120000id_/{HARBOUR}ships?a=1&b=2")
    assert ships.body.decode() == html("Ships")


def test_links_of_a_memento(world: World) -> None:
    reply = wayback(world, f"/web/20240103120000/{HARBOUR}")
    links = {role: url for url, role in re.findall(r'<([^>]*)>; rel="([^"]*)"', header(reply, "Link"))}
    assert links == {
        "original": HARBOUR,
        "timemap": f"{SELF}/web/timemap/link/{HARBOUR}",
        "timegate": f"{SELF}/web/{HARBOUR}",
        "first prev memento": f"{SELF}/web/20240101120000/{HARBOUR}",
        "memento": f"{SELF}/web/20240103120000/{HARBOUR}",
        "last next memento": f"{SELF}/web/20240120120000/{HARBOUR}",
    }


def test_a_timegate_leads_to_the_date(world: World) -> None:
    for date, nearest_at in (
        ("Wed, 03 Jan 2024 11:00:00 GMT", "20240103120000"),
        ("Wed, 03 Jan 1990 11:00:00 GMT", "20240101120000"),
        ("", "20240120120000"),
    ):
        reply = wayback(world, f"/web/{HARBOUR}", accept_datetime=date)
        assert (reply.status, header(reply, "Location")) == (302, f"/web/{nearest_at}/{HARBOUR}")
        assert header(reply, "Vary") == "accept-datetime"
        assert 'rel="original"' in header(reply, "Link")
    with pytest.raises(BadRequest):
        wayback(world, f"/web/{HARBOUR}", accept_datetime="yesterday")


def test_timemaps(world: World) -> None:
    reply = wayback(world, f"/web/timemap/link/{HARBOUR}")
    assert header(reply, "Content-Type") == "application/link-format"
    lines = reply.body.decode().split(",\n")
    assert [re.findall('rel="(.*?)"', line)[0] for line in lines] == [
        *("original", "self", "timegate", "first memento", "memento", "last memento")
    ]
    assert 'from="Mon, 01 Jan 2024 12:00:00 GMT"; until="Sat, 20 Jan 2024 12:00:00 GMT"' in lines[1]
    for path in (f"json/{HARBOUR}ships?a=1&b=2", "json?url=www.harbour.example/ships%3Fa=1%26b=2"):
        table = json.loads(wayback(world, f"/web/timemap/{path}").body)
        assert [row[:3] for row in table] == [
            ["urlkey", "timestamp", "original"],
            ["example,harbour)/ships?a=1&b=2", "20240104120000", f"{HARBOUR}ships?a=1&b=2"],
        ]


def test_all_captures_on_one_page(world: World) -> None:
    reply = wayback(world, f"/web/*/{HARBOUR}")
    assert re.findall('href="(.*?)"', reply.body.decode()) == [
        f"/web/202401{day}120000/{HARBOUR}" for day in ("20", "03", "01")
    ]


def test_a_hostile_page_is_sealed(world: World) -> None:
    for kind in ("", "id_"):
        reply = wayback(world, f"/web/20240101120000{kind}/http://hostile.example/")
        policy = header(reply, "Content-Security-Policy").split("; ")
        assert {"script-src 'none'", "default-src 'self' data: 'unsafe-inline'"} < set(policy)
        assert policy[0].split()[0] == "sandbox"
        assert not {"allow-scripts", "allow-same-origin"} & set(policy[0].split())
        assert header(reply, "X-Content-Type-Options") == "nosniff"
    page = wayback(world, "/web/20240101120000/http://hostile.example/").body.decode()
    assert re.findall(r'(?:href|src)="(?!/web/20240101120000)', page) == []
    assert header(wayback(world, "/web/20240101120000/http://packed.example/f.woff2"), "Access-Control-Allow-Origin")


def test_availability(world: World) -> None:
    def availability(query: str, host: str = "archive.org") -> dict[str, object]:
        return dict(json.loads(wayback(world, f"/wayback/available?{query}", host=host).body))

    closest = {
        "status": "200",
        "available": True,
        "url": f"{SELF}/web/20240103120000/{HARBOUR}",
        "timestamp": "20240103120000",
    }
    query_string = "url=www.harbour.example&timestamp=20240104"
    assert availability(query_string) == {
        "url": "www.harbour.example",
        "archived_snapshots": {"closest": closest},
        "timestamp": "20240104",
    }
    assert availability(query_string, "web.archive.org") == availability(query_string)
    assert availability("url=nowhere.example") == {"url": "nowhere.example", "archived_snapshots": {}}
    called = wayback(world, f"/wayback/available?{query_string}&callback=a.b")
    assert called.body.startswith(b'a.b({"url"')
    for query in ("", "url=x&timestamp=now", "url=x&callback=alert(1)//"):
        with pytest.raises(BadRequest):
            availability(query)


def test_other_pages_of_the_archives_hosts_are_404(world: World) -> None:
    assert wayback(world, "/nothing").status == index(world, "/nothing").status == data(world, "/nothing").status == 404


def test_the_index_leads_to_the_records(world: World, root: Path) -> None:
    crawl = json.loads(index(world, "/collinfo.json").body)[0]["id"]
    entries = index(world, f"/{crawl}-index?url=*.example&output=json").body.splitlines()
    assert len(entries) > 10
    for line in map(json.loads, entries):
        start, end = int(line["offset"]), int(line["offset"]) + int(line["length"])
        reply = data(world, "/" + line["filename"], range=f"bytes={start}-{end - 1}")
        file = (root / Path(line["filename"]).name).read_bytes()
        assert (reply.status, reply.body) == (206, file[start:end])
        assert header(reply, "Content-Range") == f"bytes {start}-{end - 1}/{len(file)}"
        (record,) = list(ArchiveIterator(io.BytesIO(reply.body)))
        assert record.rec_headers["WARC-Target-URI"] == line["url"]


def test_files_whole_and_listed(world: World, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = json.loads(index(world, "/collinfo.json").body)[0]["id"]
    paths = gzip.decompress(data(world, f"/crawl-data/{crawl}/warc.paths.gz").body).decode().splitlines()
    assert paths == [f"crawl-data/{crawl}/{name}" for name in FILES]
    file = (root / FILES[0]).read_bytes()
    assert data(world, "/" + paths[0]).body == file
    head = data(world, "/" + paths[0], method="HEAD")
    assert (head.status, header(head, "Content-Length"), head.body) == (200, str(len(file)), b"")
    assert data(world, "/" + paths[0], range="bytes=-10").body == file[-10:]
    assert data(world, "/" + paths[0], range=f"bytes={len(file)}-").status == 416
    assert data(world, "/crawl-data/nothing.warc.gz").status == 404
    monkeypatch.setattr(crawl_data, "MAX_PIECE", 100)
    assert data(world, "/" + paths[0]).status == 403
    assert data(world, "/" + paths[0], range="bytes=0-99").body == file[:100]
