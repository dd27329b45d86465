"""A day in the past: nothing that was captured later shows, not even by the words of later links."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.api.leaking import BLOCKED, CLEAN, OPEN, SOURCE, TOKEN, WIKI, Probe, article, shows
from tests.api.test_listener_rules import HERE, all_probes, ask_all
from tests.crawls import CaptureSpec, html, ingest, write
from tests.shared import THIRD
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.index.open import open_world

CUTOFF = "2024-01-20"
LATER = 28
LINK_WORDS = f"champion {TOKEN} vexmoor"
"""Words that only later links say, of pages that were captured before."""
LINKS = "".join(
    f'<p><a href="{url}">{LINK_WORDS}</a> <a href="{url}">brackle {number} 2031</a>'
    for number, url in enumerate((f"{OPEN}/", "https://other.example/harbour", f"{WIKI}/wiki/Harbour"))
)
LATE = [
    *(replace(one, day=LATER) for one in (*BLOCKED, SOURCE)),
    CaptureSpec("https://voices.example/", html("Voices", LINKS), LATER),
    CaptureSpec("https://voices2.example/", html("More voices", LINKS), LATER),
    CaptureSpec(f"{OPEN}/", html(f"Harbour {TOKEN}", f"The harbour bell, {TOKEN}, is told of here."), LATER),
    CaptureSpec(f"{WIKI}/wiki/Harbour", article("Harbour", f"A harbour bell, {TOKEN}, is told of here."), LATER),
    CaptureSpec("https://other.example/moved", "", LATER, "301 Moved", headers=(("Location", f"/{TOKEN}"),)),
]
"""Twenty ways in which what came later could show: pages, versions, hosts, titles, redirects, errors, link texts."""
BY_LINK_WORDS = [
    "vexmoor", "champion", f"champion {TOKEN}", '"champion quillmarble"', "+vexmoor", "+vexmoor harbour", "brackle",
    "vexmoor OR brackle", "(vexmoor OR brackle) champion", 'intext:vexmoor', "2030..2032", "Vexmoor harbour strict",
    "vexmor", "intext:vexmoor harbour",
]  # fmt: skip
"""Searches that only later links meet."""


def app_of(root: Path, *crawls: list[CaptureSpec]) -> App:
    files = [write(root / f"{number}.warc.gz", crawl) for number, crawl in enumerate(crawls)]
    ingest(root / "c", *files)
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


@pytest.fixture(scope="module")
def full_app(tmp_path_factory: pytest.TempPathFactory) -> App:
    return app_of(tmp_path_factory.mktemp("whole"), CLEAN, LATE)


@pytest.fixture(scope="module")
def early_app(tmp_path_factory: pytest.TempPathFactory) -> App:
    return app_of(tmp_path_factory.mktemp("early"), CLEAN)


@pytest.fixture(scope="module")
def session(full_app: App) -> dict[str, str]:
    reply = ask_all(full_app, [(Probe("", "POST", f"{HERE}/v1/sessions", {"as_of": CUTOFF}), {})])[0]
    return {"X-Webemu-Session": str(reply.json()["session"])}


def test_no_door_shows_what_was_captured_later(full_app: App, session: dict[str, str]) -> None:
    probes = [*all_probes(), Probe("collinfo", "GET", "https://index.commoncrawl.org/collinfo.json")]
    asked_now = ask_all(full_app, [(probe, {}) for probe in probes])
    assert sum(shows(probe, reply) for probe, reply in zip(probes, asked_now, strict=True)) > 300 / THIRD
    asked_then = ask_all(full_app, [(probe, session) for probe in probes])
    assert [probe for probe, reply in zip(probes, asked_then, strict=True) if shows(probe, reply)] == []


def search(app: App, text: str, headers: dict[str, str], **more: str) -> list[str]:
    url = str(httpx.URL(f"{HERE}/v1/search", params={"q": text, **more}))
    return [hit["url"] for hit in ask_all(app, [(Probe("", "GET", url), headers)])[0].json()["results"]]


@pytest.mark.parametrize("text", BY_LINK_WORDS)
def test_no_page_is_found_by_the_words_of_later_links(
    full_app: App, early_app: App, session: dict[str, str], text: str
) -> None:
    text, _, is_strict = text.partition(" strict")
    more = {"strict": "true"} if is_strict or text.startswith("+vexmoor h") else {}
    assert search(full_app, text, {}, **more)
    expected = search(early_app, text, {}, **more)
    assert search(full_app, text, session, **more) == expected
    assert search(full_app, text, {}, as_of=CUTOFF, **more) == expected


@pytest.mark.parametrize(
    "text", ["harbour", "harbour bell", '"harbour bell"', "town news", "ships +harbour", "intitle:harbour bell"]
)
def test_what_pages_say_themselves_is_found(full_app: App, early_app: App, session: dict[str, str], text: str) -> None:
    assert sorted(search(full_app, text, session)) == sorted(search(early_app, text, {})) != []


@pytest.mark.parametrize("engine", ["full", "plain", "weak"])
def test_no_engine_knows_later_links(full_app: App, session: dict[str, str], engine: str) -> None:
    for text in ("vexmoor", "brackle harbour", "harbour -vexmoor", "harbour -brackle"):
        then = search(full_app, text, session, engine=engine)
        assert (
            then
            == search(
                full_app,
                text.replace("-vexmoor", "").replace("-brackle", "").replace("brackle", ""),
                session,
                engine=engine,
            )
            or text == "vexmoor"
        )
        assert text != "vexmoor" or then == []


def test_the_front_page_counts_nothing_that_is_hidden(full_app: App, session: dict[str, str]) -> None:
    now, then = (ask_all(full_app, [(Probe("", "GET", f"{HERE}/"), headers)])[0].text for headers in ({}, session))
    assert "pages to search" in now
    assert "pages to search" not in then
    assert "2024" in then


def test_the_list_of_crawls_ends_at_the_cutoff(full_app: App, session: dict[str, str]) -> None:
    probe = Probe("", "GET", "https://index.commoncrawl.org/collinfo.json")
    now, then = (ask_all(full_app, [(probe, headers)])[0].json() for headers in ({}, session))
    assert max(crawl["to"] for crawl in now) > "2024-01-28"
    assert max(crawl["to"] for crawl in then) < "2024-01-21"
