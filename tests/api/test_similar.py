"""`blocked.similar` over every door: copies, quotations and rewritings of a page are gone, its neighbours are not."""

import json
from urllib.parse import quote

import httpx
import pytest

from tests.api.test_disguises import Transport
from tests.crawls import CaptureSpec, html, ingest, write
from tests.emulator.test_similarity import ARTICLE
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.emulator.session import encode_inline_policy
from webemu.index.open import open_world

PAPER, MIRROR = "https://paper.example", "https://mirror.example"
MENU = "Home News Weather Sport Culture Shop Subscribe Contact Imprint Privacy Help Jobs Archive Letters Recipes"
SUBJECTS = ("school", "market", "bridge", "mill", "theatre", "library", "station", "tower")
STORIES = [
    f"{MENU} Quarlton: {subject} of the town was opened in {1900 + number}, after {number} years of work by "
    f"{number + 40} masons of the {subject} guild, and has been repaired by the families of the {subject} street."
    for number, subject in enumerate(SUBJECTS)
]
REWRITTEN = ARTICLE.replace("left", "departed from").replace("dusk", "nightfall").replace("lookout", "watchman")
HIDDEN_PAGES = {
    f"{PAPER}/maren": html("Quarlton: the Maren", MENU, ARTICLE),
    f"{MIRROR}/copy": html("Quarlton copied", "Another site with words of its own.", ARTICLE, MENU[::-1]),
    f"{MIRROR}/rewritten": html("Quarlton rewritten", REWRITTEN),
    f"{MIRROR}/data": html("Quarlton data", "It loads a story.") + f"<script>s = {json.dumps(ARTICLE)}</script>",
    f"{MIRROR}/comment": html("Quarlton comment", "A page without the story.") + f"<!-- {ARTICLE} -->",
}
SHOWN_PAGES = {
    f"{PAPER}/story/{number}": html(f"Quarlton story {number}", story) for number, story in enumerate(STORIES)
}
SHOWN_PAGES[f"{MIRROR}/phrase"] = html(
    "Quarlton phrase", "The ferry Maren left Tarrow Point at dusk, says a plaque. " + MENU
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> httpx.Client:
    root = tmp_path_factory.mktemp("similar")
    captures = [CaptureSpec(url, body, 2) for url, body in (HIDDEN_PAGES | SHOWN_PAGES).items()]
    write(root / "all.warc.gz", [*captures, CaptureSpec(f"{PAPER}/menu", html("Menu", MENU), 2)])
    ingest(root / "c", root / "all.warc.gz")
    app: App = create_app(Config(root=root, collection="c"), open_world(root / "c"))
    return httpx.Client(transport=Transport(app), base_url="http://webemu")


def open_session(client: httpx.Client, *similar: str) -> httpx.Response:
    return client.post("/v1/sessions", json={"task": "t", "blocked": {"similar": list(similar)}})


@pytest.mark.parametrize(
    "similar", [f"{PAPER}/maren", "http://www.paper.example/maren", ARTICLE], ids=["URL", "spelling", "text"]
)
def test_what_holds_most_of_a_text_is_gone_and_nothing_else(client: httpx.Client, similar: str) -> None:
    headers = {"X-Webemu-Session": open_session(client, similar).raise_for_status().json()["session"]}
    open_urls, found_urls = (
        {hit["url"] for hit in client.get("/v1/search?q=Quarlton", headers=more).raise_for_status().json()["results"]}
        for more in ({}, headers)
    )
    assert open_urls & HIDDEN_PAGES.keys()
    assert found_urls
    assert not found_urls & HIDDEN_PAGES.keys()
    for url in HIDDEN_PAGES:
        for path in (f"/v1/fetch?url={quote(url, safe='')}", f"/web/2024/{url}", f"/web/20240102000000id_/{url}"):
            assert client.get(path).status_code in (200, 302)
            assert client.get(path, headers=headers).status_code == 404, path
    for url in SHOWN_PAGES:
        assert client.get(f"/v1/fetch?url={quote(url, safe='')}", headers=headers).status_code == 200, url


@pytest.mark.parametrize(
    ("similar", "says"),
    [(f"{PAPER}/nowhere", "no page in the crawl"), (f"{PAPER}/menu", "of its own"), ("a few words", "fewer than 12")],
)
def test_a_rule_that_would_hide_nothing_is_refused(client: httpx.Client, similar: str, says: str) -> None:
    answer = open_session(client, similar)
    assert answer.status_code == 400
    assert "bad-policy" in answer.text
    assert says in answer.text


def test_a_policy_in_a_name_is_refused_likewise(client: httpx.Client) -> None:
    name = encode_inline_policy(json.dumps({"blocked": {"similar": [f"{PAPER}/nowhere"]}}).encode())
    answer = client.get("/v1/search?q=Quarlton", headers={"X-Webemu-Session": name})
    assert answer.status_code == 400, answer.text
    assert "Quarlton copied" not in answer.text
