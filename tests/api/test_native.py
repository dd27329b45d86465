"""The wire format of docs/api.md, to the byte: golden files, windows, batches."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from tests.api.conftest import SmallWorld, asking
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.services.native_api import NativeRoute
from webemu.api.services.openapi import ROUTES
from webemu.emulator.config import Config
from webemu.emulator.types import Page, PageRequest

Ask = Callable[..., httpx.Response]
Golden = Callable[[str, Any], None]
GETS = {
    "search": "/v1/search?q=river+port",
    "search_page": "/v1/search?q=one+two+three+four+five&page=2&size=2&as_of=2024-11",
    "search_nothing": "/v1/search?q=",
    "fetch_text": "/v1/fetch?url=https://a.example/x",
    "fetch_redirected": "/v1/fetch?url=https://a.example/old&start=13&length=30",
    "fetch_lines": "/v1/fetch?url=https://a.example/x&line=2&lines=2",
    "fetch_markdown": "/v1/fetch?url=https://a.example/x&format=markdown&length=0",
    "fetch_html": "/v1/fetch?url=https://a.example/x&format=html&at=2024",
    "fetch_links": "/v1/fetch?url=https://a.example/x&format=links",
    "find": "/v1/find?url=https://a.example/x&pattern=the&limit=1",
    "health": "/health",
}
POSTS = {
    "searches": ("/v1/search", {"queries": ["b", {"q": "a b c", "page": 2, "size": 2, "as_of": None}, 7], "size": 1}),
    "fetches": ("/v1/fetch", {"urls": ["https://a.example/x", {"url": "gone", "at": "2024"}, {}], "length": 9}),
}


@pytest.mark.parametrize("name", GETS)
def test_answers_are_as_they_were(ask: Ask, golden: Golden, name: str) -> None:
    answer = ask("GET", GETS[name])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-webemu-snapshot"] == answer.json()["snapshot"]
    golden(name, answer.json())


@pytest.mark.parametrize("name", POSTS)
def test_batches_are_as_they_were(ask: Ask, golden: Golden, name: str) -> None:
    path, body = POSTS[name]
    golden(name, ask("POST", path, json=body).json())


def test_raw_is_the_payload_and_its_headers(ask: Ask, golden: Golden) -> None:
    answer = ask("GET", "/v1/fetch?url=https://a.example/old&format=raw")
    assert answer.content == b"\x1f\x8b\x00payload"
    golden("fetch_raw_headers", [[name.decode(), value.decode("latin-1")] for name, value in answer.headers.raw])


def test_texts_are_escaped_wherever_they_are_pasted(ask: Ask) -> None:
    text = 'a "b" \\ \n\x00 🚢 </script>'
    answer = ask("GET", "/v1/search", params={"q": text}).json()
    assert answer["query"] == text
    assert answer["results"][0]["title"] == 'Port "0"'
    assert answer["results"][0]["snippet"] == "Fähre\n"


def test_stats_hold_the_world_and_the_process(ask: Ask) -> None:
    for path in ("/v1/search?q=a", "/v1/search?q=a", "/v1/search", "/nowhere"):
        ask("GET", path)
    stats = ask("GET", "/v1/stats").json()
    assert stats["collection"] == "small"
    assert stats["process"]["requests"] == {"/v1/search": {"200": 2, "400": 1}, "other": {"404": 1}}
    assert (stats["process"]["cache"]["hits"], stats["process"]["cache"]["entries"]) == (1, 1)


def test_a_cached_answer_is_the_same_bytes(ask: Ask, small: Any) -> None:
    first, second = (ask("GET", "/v1/search?q=river+port&size=3") for _ in range(2))
    assert first.content == second.content
    assert first.headers == second.headers
    assert len(small.searched) == 1


def read_on(ask: Ask, text: str, by: str, cursor: str, options: str) -> str:
    read, place = "", 0
    while place is not None:
        answer = ask("GET", f"/v1/fetch?url=x&{by}={place}&{options}").json()
        assert answer["length"] == len(answer["content"])
        assert text[answer["start"] : answer["start"] + answer["length"]] == answer["content"]
        read += answer["content"]
        place = answer[cursor]
    return read


@pytest.mark.parametrize("length", [1, 7, 20, 200])
def test_reading_on_by_characters_gives_the_whole_page(ask: Ask, page_text: str, length: int) -> None:
    assert read_on(ask, page_text, "start", "next", f"length={length}") == page_text


@pytest.mark.parametrize("lines", [1, 2, 3, 100])
def test_reading_on_by_lines_gives_the_whole_page(ask: Ask, page_text: str, lines: int) -> None:
    assert read_on(ask, page_text, "line", "next_line", f"lines={lines}") == page_text


def test_a_window_beyond_the_end_is_empty(ask: Ask, page_text: str) -> None:
    for beyond in ("start=999999999", "line=999999999"):
        answer = ask("GET", f"/v1/fetch?url=x&{beyond}").json()
        assert (answer["content"], answer["next"], answer["next_line"]) == ("", None, None)
        assert answer["total"] == answer["start"] == len(page_text)


def test_a_batch_keeps_its_order_and_asks_equal_queries_once(ask: Ask, small: Any) -> None:
    queries = [f"word {number % 700}" for number in range(1024)]
    answers = ask("POST", "/v1/search", json={"queries": queries, "size": 2}).json()["answers"]
    assert [answer["query"] for answer in answers] == queries
    assert len(small.searched) == 700


def test_a_member_answers_as_get_does(ask: Ask) -> None:
    batch = ask("POST", "/v1/search", json={"queries": [{"q": "a b c", "size": 2}]}).content
    single = ask("GET", "/v1/search?q=a+b+c&size=2").content
    assert batch == b'{"snapshot":"5d0c0ffee5d0c0ff","answers":[' + single + b"]}"


def test_head_has_the_length_of_get_and_no_body(ask: Ask) -> None:
    for path in ("/v1/search?q=a", "/v1/fetch?url=x", "/health", "/v1/fetch?url=x&format=raw"):
        head, get = ask("HEAD", path), ask("GET", path)
        assert head.content == b""
        assert int(head.headers["content-length"]) == len(get.content)


def test_the_documentation_describes_what_is_answered(ask: Ask) -> None:
    document = ask("GET", "/openapi.json").json()
    schemas = document["components"]["schemas"]
    pairs: list[tuple[str, httpx.Response]] = [
        ("SearchAnswer", ask("GET", "/v1/search?q=a")),
        ("FetchAnswer", ask("GET", "/v1/fetch?url=x")),
        ("FindAnswer", ask("GET", "/v1/find?url=x&pattern=a")),
        ("SearchAnswers", ask("POST", "/v1/search", json={"queries": []})),
        ("FetchAnswers", ask("POST", "/v1/fetch", json={"urls": []})),
        ("ErrorAnswer", ask("GET", "/v1/search")),
        ("Health", ask("GET", "/health")),
        ("Stats", ask("GET", "/v1/stats")),
    ]
    for name in ("relaxed", "corrected"):
        assert schemas["SearchAnswer"]["properties"].pop(name), "present where the query was changed"
    for name, answer in pairs:
        assert list(schemas[name]["properties"]) == list(answer.json()) or name == "Stats"
        assert set(schemas[name]["properties"]) == set(answer.json())
    assert list(schemas["Process"]["properties"]) == list(pairs[-1][1].json()["process"])
    assert schemas["Result"]["required"] == list(pairs[0][1].json()["results"][0])


def test_the_documentation_loads_nothing_from_elsewhere(ask: Ask) -> None:
    reference = ask("GET", "/docs")
    assert "default-src 'none'" in reference.headers["Content-Security-Policy"]
    assert not re.search(r'(?:href|src)="(?!/|#)', reference.text)
    assert all(f">{dialect.service}</a>" in reference.text for dialect in DIALECTS)
    assert "<code>/s/SESSION</code>" in reference.text
    assert "`" not in reference.text
    page = ask("GET", "/docs/try").text
    assert "http:" not in page
    assert "https:" not in page
    for file in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f"/docs/files/{file}" in page
        assert ask("GET", f"/docs/files/{file}").status_code == 200


def test_what_is_asked_again_while_it_is_made_is_made_once(tmp_path: Path) -> None:
    class Slow(SmallWorld):
        fetches: ClassVar[list[PageRequest]] = []

        def fetch(self, request: PageRequest, wait: bool = True) -> Page:
            self.fetches.append(request)
            time.sleep(0.3)
            return super().fetch(request)

    app = create_app(Config(root=tmp_path), Slow())

    async def ask(client: httpx.AsyncClient) -> bytes:
        return (await client.get("/v1/fetch?url=https://a.example/&format=links")).content

    async def all_at_once() -> list[bytes]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://webemu") as client:
            leaving = asyncio.ensure_future(ask(client))
            asking = [asyncio.ensure_future(ask(client)) for _ in range(7)]
            await asyncio.sleep(0.1)
            leaving.cancel()  # the others still want it
            return await asyncio.gather(*asking)

    answers = asyncio.run(all_at_once())
    assert len(set(answers)) == 1
    assert b'"content"' in answers[0]
    assert len(Slow.fetches) == 1


def test_answers_are_in_gzip_only_where_that_is_set_and_asked(tmp_path: Path) -> None:
    def got(compress: int, accepted: str) -> tuple[bytes, httpx.Headers]:
        app = create_app(Config(root=tmp_path, compress=compress), SmallWorld())
        answer = asking(app)("GET", "/v1/fetch?url=https://a.example/x", headers={"accept-encoding": accepted})
        return answer.content, answer.headers

    plain, headers = got(0, "gzip")
    assert "content-encoding" not in headers
    for compress, accepted, coded in ((100, "br, gzip", True), (100, "gzip;q=0", False), (9999, "gzip", False)):
        body, headers = got(compress, accepted)
        assert body == plain
        assert (headers.get("content-encoding") == "gzip") == coded
        assert int(headers["content-length"]) < len(plain) if coded else int(headers["content-length"]) == len(plain)
        assert ("vary" in headers) == (compress == 100)


def test_every_documented_route_is_a_route_of_fastapi(app: App) -> None:
    paths = {route.path_format for route in app.fastapi.routes if isinstance(route, NativeRoute)}
    assert {route.path for route in ROUTES} <= paths


def test_a_path_matches_exactly(ask: Ask) -> None:
    for path in ("/health/", "/health%0A", "/v1/search/"):
        assert ask("GET", path).json()["error"]["reason"] == "no-such-route"
    assert ask("GET", "/docs/").headers["location"] == "http://webemu/docs"
