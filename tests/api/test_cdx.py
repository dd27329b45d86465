"""The CDX servers of both archives, without a socket: what a query selects, in which order, how it is written."""

import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.api.archived import DIGEST, HARBOUR, ask_archive, header, index, wayback, world_of
from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.archives import listing
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World
from webemu.index.open import open_world

CDX = "/cdx/search/cdx?url="
LONG = "https://long.example/" + "x" * 600


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(
        tmp_path_factory.mktemp("cdx"), CaptureSpec(LONG + "1", html("1")), CaptureSpec(LONG + "2", html("2"))
    )


def lines(world: World, query: str) -> list[str]:
    return wayback(world, CDX + query).body.decode().splitlines()


def times(world: World, query: str) -> list[str]:
    return [line.split()[1][6:8] for line in lines(world, query)]


def originals(world: World, query: str) -> set[str]:
    return set(lines(world, query + "&fl=original"))


def crawl(world: World) -> str:
    listed = json.loads(index(world, "/collinfo.json").body)
    return f"/{listed[0]['id']}-index?url="


def test_a_line_is_as_the_wayback_machine_writes_it(world: World) -> None:
    first, redirect, revisit, newest = lines(world, "harbour.example")
    assert first.rpartition(" ")[0] == f"example,harbour)/ 20240101120000 {HARBOUR} text/html 200 {DIGEST}"
    assert redirect.split()[1:5] == ["20240102120000", "http://harbour.example/", "text/html", "301"]
    assert revisit.split()[3:6] == ["warc/revisit", "-", DIGEST]
    assert newest.split()[1] == "20240120120000"
    table = json.loads(wayback(world, CDX + "harbour.example&output=json").body)
    assert table[0] == ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    assert [" ".join(row) for row in table[1:]] == [first, redirect, revisit, newest]


def test_nothing_is_no_lines(world: World) -> None:
    assert (wayback(world, CDX + "nowhere.example").status, lines(world, "nowhere.example")) == (200, [])
    assert json.loads(wayback(world, CDX + "nowhere.example&output=json").body) == []


def test_scopes(world: World) -> None:
    of_host = {
        HARBOUR,
        "http://harbour.example/",
        "https://harbour.example/dock",
        *(f"https://www.harbour.example/{path}" for path in ("gone", "quay.png", "ships?a=1&b=2", "site.css")),
    }
    assert originals(world, "harbour.example/s*") == {f"{HARBOUR}ships?a=1&b=2", f"{HARBOUR}site.css"}
    assert originals(world, "harbour.example/ships/*") == set()
    assert originals(world, "harbour.example/anything&matchType=host") == of_host
    assert originals(world, "harbour.example/*") == of_host
    assert originals(world, "*.harbour.example") == of_host | {"https://fleet.harbour.example/"}
    assert originals(world, "harbour.example&matchType=domain") == originals(world, "*.harbour.example")
    assert originals(world, "*.example") > originals(world, "*.harbour.example") | {"https://harbour-view.example/"}


def test_keys_longer_than_the_stores(world: World) -> None:
    assert originals(world, LONG + "2") == {LONG + "2"}
    assert originals(world, LONG + "*") == {LONG + "1", LONG + "2"}


def test_times_orders_and_ends(world: World) -> None:
    here = "harbour.example"
    assert times(world, f"{here}&from=20240102&to=20240103") == ["02", "03"]
    assert times(world, f"{here}&to=2023") == []
    assert times(world, f"{here}&limit=2&offset=1") == ["02", "03"]
    assert times(world, f"{here}&limit=-2") == ["03", "20"]
    assert times(world, f"{here}&fastLatest=true") == ["20"]
    assert times(world, f"{here}&sort=reverse") == ["20", "03", "02", "01"]
    assert times(world, f"{here}&sort=reverse&limit=2&offset=1") == ["03", "02"]
    assert times(world, f"{here}&sort=closest&closest=20240103&limit=3") == ["02", "03", "01"]


def test_filters_and_collapsing(world: World) -> None:
    here = "harbour.example"
    assert times(world, f"{here}&filter=statuscode:200") == ["01", "20"]
    assert times(world, f"{here}&filter=!statuscode:200&filter=!mimetype:warc/.*") == ["02"]
    assert times(world, f"{here}&filter=statuscode:20") == []
    assert times(world, f"{here}&filter=1:2024012.*") == ["20"]
    assert times(world, f"{here}&collapse=timestamp:7") == ["01", "20"]
    assert len(lines(world, f"{here}/*&collapse=urlkey")) == 6
    assert len(lines(world, f"{here}&collapse=digest")) == 4


def test_counters_and_originals(world: World) -> None:
    table = json.loads(
        wayback(
            world, CDX + "harbour.example&output=json&collapse=timestamp:7&showSkipCount=true&lastSkipTimestamp=1"
        ).body
    )
    assert table[0][-2:] == ["skipcount", "endtimestamp"]
    assert [row[-2:] for row in table[1:]] == [["2", "20240103120000"], ["0", "20240120120000"]]
    assert [line.split()[-1] for line in lines(world, "harbour.example&showDupeCount=true")] == ["0", "0", "1", "0"]
    plain, _, revisit, _ = lines(world, "harbour.example&resolveRevisits=true")
    assert plain.split()[-3:] == ["-", "-", "-"]
    assert (revisit.split()[3:5], revisit.split()[-3]) == (["text/html", "200"], plain.split()[6])


def test_a_resume_key_goes_on_where_it_stopped(world: World) -> None:
    all_lines, query, key = lines(world, "*.example"), "*.example&limit=3&showResumeKey=true", ""
    collected: list[str] = []
    for _ in range(len(all_lines)):
        part = lines(world, query + (f"&resumeKey={quote(key)}" if key else ""))
        key = part.pop() if len(part) > 3 else ""
        collected += [line for line in part if line]
        if not key:
            break
    assert collected == all_lines
    table = json.loads(wayback(world, CDX + "*.example&limit=1&showResumeKey=true&output=json").body)
    assert (table[2], len(table[3])) == ([], 1)


def test_pages_are_the_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "BLOCK", 2)
    all_lines, scope = lines(world, "*.example"), "example&matchType=domain&pageSize=2"
    count = int(lines(world, f"{scope}&showNumPages=true")[0])
    assert count == -(-len(all_lines) // 4)
    assert [line for page in range(count) for line in lines(world, f"{scope}&page={page}")] == lines(world, scope)
    with pytest.raises(BadRequest, match=f"Last Page is {count - 1}"):
        lines(world, f"{scope}&page={count}")


def test_a_small_limit_reads_little(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_READ", 5)
    assert len(lines(world, "*.example&limit=3")) == 3
    with pytest.raises(BadRequest, match="more than 5 captures"):
        lines(world, "*.example&limit=-1")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "x&matchType=some",
        "x&output=xml",
        "x&limit=many",
        "x&from=2024-01-01",
        "x&sort=closest",
        "x&filter=nosuch:1",
        "x&filter=statuscode:(",
        "x&filter=statuscode:" + "(a|b)" * 1000,
        "x&collapse=digest:first",
        "x&fl=nosuch",
        "x&resumeKey=nonsense",
        "x&page=9",
        "x&showNumPages=perhaps",
        "x" + "&filter=length:1" * 21,
    ],
)
def test_what_makes_no_sense_is_refused(world: World, query: str) -> None:
    with pytest.raises(BadRequest) as caught:
        wayback(world, CDX + query)
    assert caught.value.message
    if not any(word in query for word in ("resumeKey", "collapse", "output", "(")):
        refused = index(world, crawl(world) + query)
        assert (refused.status, list(json.loads(refused.body))) == (400, ["message"])


def test_a_pattern_made_to_take_for_ever_does_not(world: World) -> None:
    assert lines(world, "*.example&filter=original:(.*)*(.*)*(.*)*(.*)*!") == []


def test_common_crawl_lines(world: World) -> None:
    reply = index(world, crawl(world) + "harbour.example&output=json")
    first, _, revisit, _ = (json.loads(line) for line in reply.body.splitlines())
    assert header(reply, "Content-Type") == "text/x-ndjson"
    assert list(first) == [
        *("urlkey", "timestamp", "url", "mime", "mime-detected", "status", "digest", "length", "offset", "filename"),
        "encoding",
    ]
    assert all(isinstance(value, str) for value in first.values())
    assert (first["url"], first["status"], first["encoding"]) == (HARBOUR, "200", "UTF-8")
    assert (revisit["mime"], revisit["status"], revisit["digest"]) == ("warc/revisit", "304", first["digest"])
    text = index(world, crawl(world) + "harbour.example&limit=1").body.decode()
    key, time, fields = text.split(" ", 2)
    assert {"urlkey": key, "timestamp": time, **json.loads(fields)} == first
    plain = index(world, crawl(world) + "harbour.example/*&output=text&fl=timestamp,status&from=20240120").body
    assert plain == b"20240120120000 200\n20240121120000 200\n"


def test_common_crawl_filters(world: World) -> None:
    def days(query: str) -> list[str]:
        reply = index(world, crawl(world) + f"harbour.example&output=text&fl=timestamp{query}")
        return [line[6:8] for line in reply.body.decode().splitlines()] if reply.status == 200 else []

    assert days("&filter==status:200") == ["01", "20"]
    assert days("&filter=!=status:200") == ["02", "03"]
    assert days("&filter=status:0") == ["01", "02", "03", "20"]
    assert days("&filter=~timestamp:2024010") == ["01", "02", "03"]
    assert days("&filter=!~timestamp:.*01$") == ["01", "02", "03", "20"]
    assert days("&filter==statuscode:301") == ["02"]
    assert days("&sort=reverse&limit=1") == ["20"]
    assert days("&closest=20240119&limit=1") == ["20"]


def test_common_crawl_says_404_and_counts_pages(world: World) -> None:
    none = index(world, crawl(world) + "nowhere.example/*&output=json")
    assert (none.status, json.loads(none.body)) == (404, {"message": "No Captures found for: nowhere.example/*"})
    of_old = index(world, "/CC-MAIN-2001-01-index?url=harbour.example")
    assert of_old.status == 404
    pages = json.loads(index(world, crawl(world) + "*.example&showNumPages=true").body)
    assert pages == {"pages": 1, "pageSize": 5, "blocks": 1}
    assert index(world, crawl(world) + "*.example&page=1").status == 400


def test_crawls_are_known_by_their_ids(tmp_path: Path) -> None:
    named = CaptureSpec("", "isPartOf: CC-MAIN-2023-50\r\n", kind="warcinfo", mime="application/warc-fields")
    write(tmp_path / "a.warc.gz", [named, CaptureSpec(HARBOUR, html("Old"), 2)])
    write(tmp_path / "b.warc.gz", [CaptureSpec(HARBOUR, html("New"), 9)])
    ingest(tmp_path / "c", tmp_path / "a.warc.gz", tmp_path / "b.warc.gz")
    world = open_world(tmp_path / "c")
    listed = json.loads(index(world, "/collinfo.json").body)
    assert [one["id"] for one in listed[:2]] == ["CC-MAIN-2024-02", "CC-MAIN-2023-50"]
    assert len(listed) == len({one["id"] for one in listed}) == 60
    assert listed[0]["cdx-api"] == "https://index.commoncrawl.org/CC-MAIN-2024-02-index"
    for crawl, name in (("2023-50", "a"), ("2024-02", "b")):
        entry = json.loads(index(world, f"/CC-MAIN-{crawl}-index?url={HARBOUR}&output=json").body)
        assert entry["filename"] == f"crawl-data/CC-MAIN-{crawl}/{name}.warc.gz"


@pytest.mark.skipif("WEBEMU_SHARED" not in os.environ, reason="WEBEMU_SHARED names no folder with real archives")
def test_lines_equal_those_of_pywb(tmp_path: Path) -> None:
    sample = Path("webrecorder+pywb") / "sample_archive"
    shared = Path(os.environ["WEBEMU_SHARED"]) / "data" / "warc"
    ingest(tmp_path / "c", shared / sample / "warcs" / "iana.warc.gz")
    fields = "urlkey,timestamp,original,mimetype,statuscode,digest,length,offset"
    own_lines = ask_archive(open_world(tmp_path / "c"), f"{CDX}*.org&fl={fields}").body.decode().splitlines()
    pywb_lines = (shared / "_indexes" / sample / "cdx" / "iana.cdx").read_text().splitlines()[1:]
    expected = [" ".join([*row[:6], row[8], row[9]]) for row in (line.split(" ") for line in pywb_lines)]
    assert len(expected) > 100
    assert sorted(own_lines) == sorted(line for line in expected if line.startswith("org,"))
