"""No text that an agent reads names this server or its crawl, whatever it asks for and whatever fails."""

import asyncio
import re
from contextlib import AsyncExitStack
from random import Random

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from tests.errors import OWN_WORDS
from tests.shared import THIRD
from webemu.api.app import App, create_app
from webemu.api.audit.asking import ask, open_session
from webemu.api.audit.requests import Draw, list_templates
from webemu.emulator.config import Config

WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."
PAGES = [
    CaptureSpec("https://open.example/", html("Open harbour", WORDS)),
    CaptureSpec("https://open.example/nets", html("Nets", WORDS, "Nets are mended in winter.")),
]
NATIVE = {"search", "suggest", "fetch", "find", "results", "view", "own pages"}
"""Our own API and pages for people: they say what they are."""
ARCHIVES = {"replay", "cdx", "list of crawls", "crawls", "records", "parts of records"}
"""Wayback Machine and Common Crawl, which speak of captures and crawls themselves."""
FIELDS = re.compile(r'"(dateLastCrawled|crawls|crawl_usage|crawl)"|/v\d/crawl/')
"""Fields and paths that the real services have."""
DRAWS = {
    "found": Draw("harbour", "https://open.example/", "20240101000000", prefix="har"),
    "empty": Draw("zyzzogeton", "https://open.example/", "20240101000000", prefix="zyz"),
    "missing page": Draw("harbour", "https://open.example/gone", "20240101000000", prefix="har"),
    "missing site": Draw("zyzzogeton", "https://nowhere.example/x", "20240101000000", prefix="zyz"),
}
POLICIES: dict[str, dict[str, object]] = {
    "none": {},
    "blocked": {"blocked": {"domains": ["open.example"]}},
    "failing": {"weather": {"errors": 1.0}},
    "dead links": {"weather": {"dead_links": 1.0}},
    "spent": {"budget": {"searches": 0, "fetches": 0}},
    "past": {"as_of": "2001-01-01"},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("unnamed")
    ingest(root / "c", write(root / "a.warc.gz", PAGES))
    return create_app(Config(root=root, collection="c"))


def list_named(app: App) -> tuple[int, list[str]]:
    """Return how many answers were read, and those that name what they should not."""

    async def walk() -> tuple[int, list[str]]:
        count, named = 0, []
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(app.fastapi.router.lifespan_context(app.fastapi))
            for policy_name, policy in POLICIES.items():
                session = await open_session(app, policy) if policy else ""
                for draw_name, draw in DRAWS.items():
                    for template in list_templates()[::THIRD]:
                        request = template.fill(draw, Random(1))
                        if request is None or template.door in NATIVE:
                            continue
                        answer = await ask(app, request, session)
                        # The host that the request was sent to is not ours: an agent has another one there.
                        text = FIELDS.sub("", answer.body.decode("latin-1").replace("http://webemu", ""))
                        words = re.compile("webemu|emulat", re.I) if template.door in ARCHIVES else OWN_WORDS
                        count += 1
                        if match := words.search(text):
                            around = text[max(0, match.start() - 60) : match.end() + 60]
                            named.append(f"{policy_name}, {draw_name}: {request.method} {request.url[:80]}: {around}")
        return count, named

    return asyncio.run(walk())


def test_no_answer_of_a_service_or_of_the_web_names_the_emulator(app: App) -> None:
    count, named = list_named(app)
    assert count > 10_000 / THIRD
    assert named == []
