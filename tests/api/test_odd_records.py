"""Records of odd dates, digests and addresses, kept at ingest, are served by a real server in every view and door."""

import hashlib
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.api.test_machine_paths import Server, serving
from tests.crawls import ingest
from tests.ingest import flawed

BODY = b"<title>Boats</title><p>Boats and nets of the harbour town, in enough words to be a page of its own.</p>"
HTTP = flawed.HTTP[:-2] + b"Date: Fri, 29 Nov 2024 08:30:00 GMT\r\n\r\n"
DIGEST = hashlib.sha256(BODY).hexdigest()
DATES = {
    "clueweb": "2008-10-294T05:21:46-0700",
    "leap": "2016-12-31T23:59:60Z",
    "offset": "2024-11-30T12:00:00+25:00",
    "late": "9999-12-31T23:59:59Z",
    "early": "0001-01-01T00:00:00Z",
    "never": "soon",
}
STAMPS = {
    "clueweb": "20081020122146",
    "leap": "20170101000000",
    "offset": "20241129083000",
    "late": "99991231235959",
    "early": "00010101000000",
    "never": "20241129083000",
}
ODD = "http://odd.example/%C3%BF%C3%BE"
VIEWS = ("text", "html", "markdown", "links", "raw")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("odd")
    pages = [
        flawed.response(f"http://{name}.example/", BODY, HTTP).replace(b"2024-11-30T12:00:00Z", date.encode())
        for name, date in DATES.items()
    ]
    pages.append(flawed.response("http://undated.example/", BODY).replace(b"WARC-Date: 2024-11-30T12:00:00Z\r\n", b""))
    pages.append(flawed.response("http://odd.example/QQ", BODY).replace(b"QQ", b"\xff\xfe"))
    digest = (("WARC-Payload-Digest", f"sha256:{DIGEST}"),)
    pages.append(flawed.response("http://first.example/", BODY, headers=digest))
    (folder / "odd.warc").write_bytes(b"".join(pages))
    again = (
        [("WARC-Payload-Digest", f"sha-256:{DIGEST}")],
        [
            ("WARC-Payload-Digest", "sha1:" + "A" * 32),
            ("WARC-Refers-To-Target-URI", "http://first.example/"),
            ("WARC-Refers-To-Date", "2024-11-30T12:00:00Z"),
        ],
    )
    revisits = [
        flawed.response(f"http://again{number}.example/", b"", headers=tuple(fields)).replace(
            b": response", b": revisit", 1
        )
        for number, fields in enumerate(again)
    ]
    (folder / "again.warc.gz").write_bytes(flawed.packed(*revisits))
    report = ingest(folder / "root" / "c", folder / "odd.warc", folder / "again.warc.gz")
    assert report.drops == {"bad-date": 3, "no-date": 1}
    with serving(folder / "root") as running:
        yield running


HOSTS = (*(f"http://{name}.example/" for name in (*DATES, "undated", "first", "again0", "again1")), ODD)


@pytest.mark.parametrize("url", HOSTS)
def test_every_view_is_served(server: Server, url: str) -> None:
    for view in VIEWS:
        answer = server.ask("GET", f"/v1/fetch?format={view}&url={quote(url, safe='')}")
        assert answer.status_code == 200, (view, answer.text)
        assert "Boats and nets" in answer.text
        if view == "raw":
            assert answer.content == BODY


@pytest.mark.parametrize("url", HOSTS)
def test_every_door_serves_it(server: Server, url: str) -> None:
    assert server.proxied(url).content == BODY
    where = quote(url, safe="")
    for path in (f"/web/2024id_/{url}", f"/web/2024/{url}", f"/view?url={where}&as=text", f"/jina/{url}"):
        answer = server.ask("GET", path)
        assert (answer.status_code, "Boats and nets" in answer.text) == (200, True), (path, answer.text[:500])
    body = {"url": url, "formats": ["markdown", "rawHtml"]}
    answer = server.ask("POST", "/firecrawl/v1/scrape", json=body, headers={"Authorization": "Bearer k"})
    assert (answer.status_code, "Boats and nets" in answer.text) == (200, True), answer.text
    for path in (f"/web/timemap/link/{url}", f"/web/timemap/json/{url}", f"/wayback/available?url={where}"):
        assert server.ask("GET", path).status_code == 200, path
    for path in ("/cdx/search/cdx?url={}", "/cdx/search/cdx?url={}&output=json&resolveRevisits=true"):
        answer = server.ask("GET", path.format(where))
        assert (answer.status_code, len(answer.text.strip()) > 0) == (200, True), answer.text


@pytest.mark.parametrize("name", STAMPS)
def test_the_time_of_a_capture_is_that_of_its_record(server: Server, name: str) -> None:
    assert STAMPS[name] in server.ask("GET", f"/cdx/search/cdx?url={name}.example").text


def test_lists_of_all_captures_hold_them(server: Server) -> None:
    for path in ("/collinfo.json", "/v1/stats", "/v1/search?q=harbour&size=50", "/dashboard"):
        assert server.ask("GET", path).status_code == 200, path
    for crawl in server.ask("GET", "/collinfo.json").json():
        answer = server.ask("GET", f"/{crawl['id']}-index?url=*.example&output=json")
        assert answer.status_code < 500, answer.text
