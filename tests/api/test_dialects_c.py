"""Readers and retrieval servers: what goes over the wire, against golden files; trainers' own requests."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.api.http.request import Request
from webemu.emulator.config import Config
from webemu.emulator.errors import (
    BadRequest,
    EmulatorError,
    NotCaptured,
    Overloaded,
    PayloadError,
    ServiceRefusal,
    ViewUnavailable,
)
from webemu.emulator.session import Session
from webemu.emulator.world import World
from webemu.index.open import open_world

PORT = "https://www.aldmere.example/"
HISTORY = [
    f"In {year} the council of Aldmere widened quay number {year - 1880} and paid for it with the toll of the river."
    for year in range(1887, 1917)
]
META = (
    '<meta name="description" content="All of the port &amp; more"><meta property="article:published_time" '
    'content="2023-05-01T00:00:00Z">'
)
BODY = (
    '<a href="/harbour">The harbour</a> and <a href="/harbour">again</a>.',
    '<img src="/quay.png" alt="A quay"> <img src="/sail.png"> <span class="note">Mind the step.</span>',
    '<a href="mailto:port@aldmere.example">Mail</a>',
)
RECORDS = [
    CaptureSpec(PORT, html("Port of Aldmere", "The lighthouse of Aldmere is of chalk.", *BODY, head=META), 2),
    CaptureSpec(
        f"{PORT}harbour", html("Harbour", *HISTORY), 3, headers=(("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"),)
    ),
    CaptureSpec(f"{PORT}ships?b=2&a=1", html("Ships", "A ship called lantern."), 4),
    CaptureSpec(f"{PORT}old", "", 5, "301 Moved Permanently", headers=(("Location", "/harbour"),)),
    CaptureSpec(f"{PORT}away", "", 5, "301 Moved Permanently", headers=(("Location", "https://nowhere.example/"),)),
    CaptureSpec(f"{PORT}gone", html("Gone", "It is gone."), 5, "404 Not Found"),
    CaptureSpec(f"{PORT}quay.png", b"\x89PNG\r\n\x1a\n-quay", 5, mime="image/png"),
    CaptureSpec(f"{PORT}plain", "Plain words of the chalk.", 5, mime="text/plain"),
    CaptureSpec("https://bare.example/", html("Bare", "No page is missing here."), 6),
    CaptureSpec("https://en.wiki.example/w/index.php?title=Aldmere", html("Aldmere", "A town on the Ouse."), 7),
]
PASSAGES = [
    {"id": "0", "contents": '"Evan Morris"\nEvan Morris was a lawyer of Aldmere. He built the opera house.'},
    {"id": "1", "contents": '"Opera"\nThe opera of Aldmere opened in 1901. It burnt down.'},
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("port")
    write(root / "port.warc.gz", RECORDS)
    (root / "wiki-18.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PASSAGES))
    ingest(root / "default", root / "port.warc.gz", root / "wiki-18.jsonl")
    return open_world(root / "default")


Ask = Callable[..., httpx.Response]


def asking(app: App, base: str = "http://webemu") -> Ask:
    def ask(method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            door = app if base == "http://webemu" else app.doors.web
            transport = httpx.ASGITransport(app=door, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    return ask


@pytest.fixture(scope="module")
def app(world: World, tmp_path_factory: pytest.TempPathFactory) -> App:
    return create_app(Config(root=tmp_path_factory.mktemp("none")), world=world)


@pytest.fixture(scope="module")
def ask(app: App) -> Ask:
    return asking(app)


JSON = {"Accept": "application/json"}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "search_r1_retrieve": (
        "POST",
        "/retrieve",
        {"json": {"queries": ["opera", "zzyzzyx", "opera"], "topk": 2, "return_scores": True}},
    ),
    "search_r1_skyrl": ("POST", "/retrieve", {"json": {"query": "opera", "topk": 1, "return_scores": True}}),
    "search_r1_unnested": ("POST", "/retrieve", {"json": {"queries": ["lantern"], "topk": None}}),
    "search_r1_reranked": (
        "POST",
        "/search-r1/retrieve",
        {"json": {"queries": ["opera"], "topk_retrieval": 2, "topk_rerank": 1, "return_scores": True}},
    ),
    "search_r1_reranked_bare": ("POST", "/retrieve", {"json": {"queries": ["opera"], "topk_rerank": 2}}),
    "search_r1_rerank": (
        "POST",
        "/rerank",
        {
            "json": {
                "queries": ["opera of Aldmere", "ships"],
                "documents": [[{"document": one} for one in PASSAGES], [PASSAGES[0]]],
                "rerank_topk": 2,
                "return_scores": True,
            }
        },
    ),
    "search_r1_missing": ("POST", "/retrieve", {"json": {"topk": 3}}),
    "search_r1_no_json": ("POST", "/retrieve", {"content": b"{"}),
    "asearcher_retrieve": ("POST", "/asearcher/retrieve", {"json": {"queries": ["opera"], "return_scores": False}}),
    "asearcher_access": (
        "POST",
        "/access",
        {
            "json": {
                "urls": [
                    f"{PORT}plain",
                    f"{PORT}lost",
                    f"{PORT}quay.png",
                    "https://wiki-18.invalid/1",
                    "https://en.wiki.example/w/index.php/Aldmere",
                ]
            }
        },
    ),
    "browsecomp_plus_retrieve": ("POST", "/browsecomp-plus/retrieve", {"json": {"query": "lantern"}}),
    "openresearcher_about": ("GET", "/openresearcher/", {}),
    "openresearcher_search": ("POST", "/search", {"json": {"query": "opera", "topn": 1}}),
    "openresearcher_content": ("POST", "/get_content", {"json": {"url": f"{PORT}plain"}}),
    "openresearcher_missing": ("POST", "/get_content", {"json": {"url": f"{PORT}lost"}}),
    "deepresearchgym_health": ("GET", "/deepresearchgym/health", {}),
    "deepresearchgym_shards": ("GET", "/deepresearchgym/search?query=opera&num_of_shards=5", {}),
    "deepresearchgym_no_query": ("GET", "/deepresearchgym/search?k=3", {}),
    "deepresearchgym_missing": ("GET", f"/deepresearchgym/fetch?url={PORT}lost", {}),
    "nemo_gym_search": ("POST", "/search", {"json": {"query": "lantern"}}),
    "nemo_gym_browse": ("POST", "/browse", {"json": {"url": f"{PORT}plain"}}),
    "nemo_gym_browse_missing": ("POST", "/browse", {"json": {"url": f"{PORT}lost"}}),
    "nemo_gym_web_search": ("POST", "/web_search", {"json": {"query": "opera"}}),
    "nemo_gym_web_search_empty": ("POST", "/web_search", {"json": {"query": "zzyzzyx"}}),
    "nemo_gym_web_search_none": ("POST", "/web_search", {"json": {}}),
    "nemo_gym_web_search_long": ("POST", "/web_search", {"json": {"query": "x" * 401}}),
    "nemo_gym_find": ("POST", "/find_in_page", {"json": {"url": f"{PORT}harbour", "query": "quay in 1901"}}),
    "nemo_gym_find_missing": ("POST", "/find_in_page", {"json": {"url": f"{PORT}lost", "query": "quay"}}),
    "nemo_gym_scroll": ("POST", "/scroll_page", {"json": {"url": f"{PORT}harbour", "start_index": 20, "n": 30}}),
    "nemo_gym_scroll_none": ("POST", "/scroll_page", {"json": {}}),
    "jina_index": ("GET", "/jina/", {}),
    "jina_text": ("GET", f"/jina/{PORT}", {}),
    "jina_json": ("GET", f"/jina/{PORT}", {"headers": JSON}),
    "jina_stream": ("GET", f"/jina/{PORT}plain", {"headers": {"Accept": "text/event-stream"}}),
    "jina_query": ("GET", f"/jina/{PORT}ships?b=2&a=1", {}),
    "jina_posted": ("POST", "/jina/", {"json": {"url": f"{PORT}plain"}}),
    "jina_form": ("POST", "/jina/", {"data": {"url": f"{PORT}plain", "respondWith": "text"}}),
    "jina_html_sent": ("POST", "/jina/", {"json": {"html": "<title>Mine</title><p>My <b>own</b> page."}}),
    "jina_html": ("GET", f"/jina/{PORT}", {"headers": {"X-Return-Format": "html", **JSON}}),
    "jina_as_text": ("GET", f"/jina/{PORT}", {"headers": {"X-Return-Format": "text"}}),
    "jina_selected": (
        "GET",
        f"/jina/{PORT}",
        {"headers": {"X-Target-Selector": "p", "X-Remove-Selector": ".note, a"}},
    ),
    "jina_not_selected": ("GET", f"/jina/{PORT}", {"headers": {"X-Target-Selector": "#nothing"}}),
    "jina_summaries": (
        "GET",
        f"/jina/{PORT}",
        {"headers": {"X-With-Links-Summary": "true", "X-With-Images-Summary": "true"}},
    ),
    "jina_all_links": ("GET", f"/jina/{PORT}", {"headers": {"X-With-Links-Summary": "all", **JSON}}),
    "jina_bare": ("GET", f"/jina/{PORT}", {"headers": {"X-Retain-Images": "none", "X-Retain-Links": "text"}}),
    "jina_alt": ("GET", f"/jina/{PORT}", {"headers": {"X-Retain-Images": "alt", "X-Retain-Links": "none"}}),
    "jina_budget": ("GET", f"/jina/{PORT}harbour", {"headers": {"X-Token-Budget": "10"}}),
    "jina_bad_tokens": ("GET", f"/jina/{PORT}harbour", {"headers": {"X-Max-Tokens": "7"}}),
    "jina_gone": ("GET", f"/jina/{PORT}gone", {"headers": JSON}),
    "jina_lost": ("GET", f"/jina/{PORT}lost", {}),
    "jina_lost_elsewhere": ("GET", "/jina/https://bare.example/lost", {}),
    "jina_away": ("GET", f"/jina/{PORT}away", {}),
    "jina_no_such_host": ("GET", "/jina/https://nowhere.example/a", {}),
    "jina_no_such_host_text": ("GET", "/jina/https://nowhere.example/a", {"headers": {"Accept": "text/plain"}}),
    "jina_picture": ("GET", f"/jina/{PORT}quay.png", {}),
    "jina_screenshot": ("GET", f"/jina/{PORT}", {"headers": {"X-Return-Format": "screenshot"}}),
    "jina_compound": ("GET", f"/jina/{PORT}", {"headers": {"X-Respond-With": "markdown+html"}}),
    "jina_compound_json": ("GET", f"/jina/{PORT}plain", {"headers": {"X-Respond-With": "markdown+text", **JSON}}),
    "jina_circular": ("GET", "/jina/https://s.jina.ai/a", {}),
    "jina_search_text": ("GET", "/jina-search/opera%20Aldmere?num=2", {}),
    "jina_search_json": ("POST", "/jina-search/", {"json": {"q": "opera", "num": 1}, "headers": JSON}),
    "jina_search_bare": (
        "GET",
        "/jina-search/?q=lantern&site=aldmere.example",
        {"headers": {"X-Respond-With": "no-content", **JSON}},
    ),
    "jina_search_nothing": ("GET", "/jina-search/search?q=zzyzzyx", {}),
}


def summarize(answer: httpx.Response) -> dict[str, Any]:
    """Status, type and body, readable in a diff."""
    kind = answer.headers["content-type"]
    body = answer.json() if kind == "application/json" else answer.text.split("\n")
    return {"status": answer.status_code, "type": kind, "body": body}


@pytest.mark.parametrize("name", CASES)
def test_the_wire_format_is_the_golden_one(name: str, ask: Ask, golden: Callable[[str, Any], None]) -> None:
    method, path, options = CASES[name]
    golden(name, summarize(ask(method, path, **options)))


def named(name: str) -> Dialect:
    return next(dialect for dialect in DIALECTS if dialect.name == name)


LOCAL_CASES = (
    "search-r1",
    "asearcher",
    "browsecomp-plus",
    "openresearcher",
    "deepresearchgym",
    "nemo-gym",
    "jina",
    "jina-search",
)
ERRORS: dict[str, EmulatorError] = {
    "bad_key": ServiceRefusal("no such key", reason="bad-key", status=401),
    "rate_limited": ServiceRefusal("slow down", reason="rate-limited", status=429),
    "out_of_budget": ServiceRefusal("nothing left", reason="out-of-budget", status=429),
    "bad_request": BadRequest("what?", reason="bad-query"),
    "not_captured": NotCaptured("https://a.example/ was not captured"),
    "no_view": ViewUnavailable("a picture has no text"),
    "bomb": PayloadError("it unpacks to over 1 GB", reason="payload-too-large"),
    "no_route": ServiceRefusal("no /x", reason="no-such-route", status=404),
    "overloaded": Overloaded("too much waits"),
}


@pytest.mark.parametrize("name", LOCAL_CASES)
def test_errors_are_in_the_words_of_the_service(name: str, golden: Callable[[str, Any], None]) -> None:
    request = Request("POST", "http", "webemu", "webemu", "/", "", {}, Session())
    errors = {}
    for kind, error in ERRORS.items():
        reply = named(name).render_error(error, request)
        headers = {key.decode(): value.decode() for key, value in reply.headers if key.lower() == b"retry-after"}
        errors[kind] = {"status": reply.status, "body": json.loads(reply.body), **headers}
    golden(f"{name.replace('-', '_')}_errors", errors)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/jina/https://bare.example/", {"Authorization": "Bearer {}"}),
        ("/jina-search/chalk", {"Authorization": "Bearer {}"}),
        ("/deepresearchgym/search?query=chalk", {"x-api-key": "{}"}),
    ],
)
def test_a_key_that_is_not_configured_is_refused(
    path: str, headers: dict[str, str], world: World, tmp_path: Path
) -> None:
    ask = asking(create_app(Config(root=tmp_path, api_keys="good"), world=world))
    statuses = [
        ask("GET", path, headers={name: value.format(key) for name, value in headers.items()}).status_code
        for key in ("good", "bad")
    ]
    assert (statuses, ask("GET", path).status_code) == ([200, 401], 401)


def test_servers_without_keys_stay_open_where_others_have_keys(world: World, tmp_path: Path) -> None:
    ask = asking(create_app(Config(root=tmp_path, api_keys="good"), world=world))
    assert ask("POST", "/retrieve", json={"queries": ["opera"]}).status_code == 200
    assert ask("POST", "/access", json={"urls": []}).status_code == 200


def passages_to_string(results: list[dict[str, Any]]) -> str:
    """Format passages as the clients of Search-R1 and verl do."""
    text = ""
    for place, entry in enumerate(results):
        title, *lines = entry["document"]["contents"].split("\n")
        text += f"Doc {place + 1}(Title: {title}) {chr(10).join(lines)}\n"
    return text


def test_search_r1_reads_titles_and_texts(ask: Ask) -> None:
    payload = {"queries": ["lawyer Evan Morris", "chalk lighthouse"], "topk": 1, "return_scores": True}
    first, second = ask("POST", "/retrieve", json=payload).json()["result"]
    assert passages_to_string(first) == (
        'Doc 1(Title: "Evan Morris") Evan Morris was a lawyer of Aldmere. He built the opera house.\n'
    )
    assert passages_to_string(second).startswith(
        'Doc 1(Title: "Port of Aldmere") The lighthouse of Aldmere is of chalk.'
    )


def test_skyrl_asks_with_one_query_and_reads_a_list_of_lists(ask: Ask) -> None:
    answer = ask("POST", "/retrieve", json={"query": "lantern", "topk": 3, "return_scores": True}).json()
    docs = "".join(f"Doc {i + 1}: {one['document']['contents'].strip()}\n" for i, one in enumerate(answer["result"][0]))
    assert docs == 'Doc 1: "Ships"\nA ship called lantern.\n'


def test_slime_and_asearcher_read_documents_without_nesting(ask: Ask) -> None:
    answer = ask("POST", "/retrieve", json={"queries": ["lantern"], "topk": 3, "return_scores": False}).json()
    [document] = answer["result"][0]
    assert (document["title"], document["text"]) == ("Ships", "A ship called lantern.")
    assert (document["contents"], document["url"]) == ('"Ships"\nA ship called lantern.', f"{PORT}ships?b=2&a=1")


def test_browsecomp_plus_reads_one_flat_list(ask: Ask) -> None:
    [hit] = ask("POST", "/browsecomp-plus/retrieve", json={"query": "widened quay"}).json()["result"]
    assert hit["docid"] == f"{PORT}harbour"
    text = hit["document"]["text"]
    assert text.startswith(HISTORY[0])
    assert 1900 < len(text) <= 2048


@pytest.mark.parametrize("count", [2560, 4096])
def test_a_whole_batch_is_one_request(count: int, ask: Ask) -> None:
    queries = [f"quay {year}" for year in range(count // 2)] + ["opera"] * (count - count // 2)
    result = ask("POST", "/retrieve", json={"queries": queries, "topk": 3, "return_scores": True}).json()["result"]
    alone = ask("POST", "/retrieve", json={"query": "opera", "topk": 3, "return_scores": True}).json()["result"][0]
    assert len(result) == count
    assert alone
    assert all(one == alone for one in result[count // 2 :])
    assert (
        result[7]
        == ask("POST", "/retrieve", json={"query": "quay 7", "topk": 3, "return_scores": True}).json()["result"][0]
    )


def test_the_empty_batch_and_the_text_that_should_be_a_list(ask: Ask) -> None:
    assert ask("POST", "/retrieve", json={"queries": []}).json() == {"result": []}
    assert len(ask("POST", "/retrieve", json={"queries": "opera"}).json()["result"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"queries": [1]},
        {"queries": {"a": 1}},
        {"queries": ["x"] * 16_385},
        {"queries": ["x"], "topk": "many"},
        [],
    ],
)
def test_what_is_no_batch_is_422(body: Any, ask: Ask) -> None:
    answer = ask("POST", "/retrieve", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][0] == "body"


@pytest.mark.parametrize("documents", [None, "x", [[1], [2]], [["x"], [{"contents": 1}]], [[]]])
def test_what_cannot_be_reranked_is_422(documents: Any, ask: Ask) -> None:
    answer = ask("POST", "/rerank", json={"queries": ["a", "b"], "documents": documents})
    assert answer.status_code == 422


def test_reranking_puts_the_answer_first_and_leaves_none_out(ask: Ask) -> None:
    documents = [["x\nnothing", "y\nthe opera", "z\nopera opera"]]
    [ranked] = ask("POST", "/rerank", json={"queries": ["opera"], "documents": documents}).json()["result"]
    assert ranked == ["(Title: z) opera opera", "(Title: y) the opera", "(Title: x) nothing"]


def test_deepresearchgym_packs_documents(ask: Ask) -> None:
    answer = ask("GET", "/deepresearchgym/search?query=opera&k=2&with_distance=true").json()
    document = json.loads(b64decode(answer["results"][0]))
    assert list(document) == ["URL", "url_hash", "Language", "ClueWeb22-ID", "Clean-Text"]
    assert len(answer["distances"]) == 2
    assert answer["outlinks"] is None
    fine = json.loads(b64decode(ask("GET", "/fineweb/search?query=lantern").json()["results"][0]))
    assert fine == {
        "text": "A ship called lantern.",
        "id": "",
        "dump": "",
        "url": f"{PORT}ships?b=2&a=1",
        "date": "2024-01-04T12:00:00Z",
        "file_path": "port.warc.gz",
    }
    assert ask("GET", f"/fetch?url={PORT}plain").text == "Plain words of the chalk."


def test_services_answer_by_name(app: App) -> None:
    reader, search = asking(app, "https://r.jina.ai"), asking(app, "https://s.jina.ai")
    plain = reader("GET", f"/{PORT}plain").text
    assert plain.startswith(f"Title: \n\nURL Source: {PORT}plain\n\nMarkdown Content:\nPlain")
    for repeated in (
        f"/https://r.jina.ai/{PORT}plain",
        f"/https://{PORT}plain",
        "/https%3A%2F%2Fwww.aldmere.example%2Fplain",
    ):
        assert reader("GET", repeated).text == plain
    assert search("GET", "/lantern").text.startswith("[1] Title: Ships\n[1] URL Source: ")
    gym = asking(app, "https://clueweb22.us")
    assert len(gym("GET", "/search?query=opera&k=10").json()["results"]) == 2


def test_a_page_that_was_not_captured_is_marked(ask: Ask) -> None:
    answer = ask("GET", "/jina/https://nowhere.example/")
    assert (answer.status_code, answer.headers["x-webemu-reason"]) == (400, "bad-url")
    assert "x-webemu-failure" not in answer.headers


def test_the_content_is_cut_to_the_tokens_asked_for(ask: Ask) -> None:
    answer = ask("GET", f"/jina/{PORT}harbour", headers={"X-Max-Tokens": "500", **JSON}).json()
    assert len(answer["data"]["content"]) == 2000
    assert answer["data"]["usage"] == answer["meta"]["usage"] == {"tokens": 500}


def test_scrolling_leads_through_all_words(ask: Ask) -> None:
    def part(start: int) -> tuple[list[str], int]:
        answer = ask("POST", "/scroll_page", json={"url": f"{PORT}harbour", "start_index": start, "n": 100}).json()
        return answer["results_string"].partition("L0: ")[2].split(), answer["total_words"]

    words, total = part(0)
    while len(words) < total:
        words += part(len(words))[0]
    assert " ".join(words) == " ".join(HISTORY)
    assert part(total) == ([], total)


def test_a_reader_dates_a_page_as_searches_do(ask: Ask) -> None:
    """`Last-Modified` says when a file changed: as a date of publication a page would have two."""
    published = ask("GET", f"/jina/{PORT}", headers=JSON).json()["data"]
    assert published["publishedTime"].startswith("2023-05-01")
    assert "publishedTime" not in ask("GET", f"/jina/{PORT}harbour", headers=JSON).json()["data"]
    hits = ask("GET", "/brave/res/v1/web/search?q=chalk+lighthouse").json()["web"]["results"]
    assert {one["page_age"][:10] for one in hits if one["url"] == PORT} == {"2023-05-01"}


def test_jina_gives_all_of_the_elements_asked_for(ask: Ask) -> None:
    text = ask("GET", f"/jina/{PORT}", headers={"X-Target-Selector": "p, span"}).text
    assert "Mind the step." in text
    assert "The harbour" in text
