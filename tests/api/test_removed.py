"""No door of the server shows what `webemu remove` took out, by whatever way it is asked for."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from tests.in_process import in_process
from webemu.api.app import App, create_app
from webemu.api.archives.crawls import find_crawls
from webemu.api.archives.timestamps import format_timestamp
from webemu.api.audit.asking import ask, open_session
from webemu.api.audit.requests import AuditRequest, Draw, list_templates
from webemu.api.audit.signs import readable_text
from webemu.emulator.config import Config
from webemu.emulator.world import World
from webemu.index.manifest import current_id
from webemu.index.open import open_world
from webemu.index.removal.rules import Kind, parse_rule
from webemu.index.removal.take import remove

SECRET = "quibbledock"
"""A word that only the removed page says, and that no request does."""
WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."
REMOVED_URL = "https://gone.example/wiki/harbour"
PAGES = [
    CaptureSpec("https://open.example/", html("Open harbour", WORDS, f'<a href="{REMOVED_URL}">fine harbour</a>')),
    CaptureSpec(REMOVED_URL, html(f"Chandlery {SECRET}", WORDS, f"The chandlery of the {SECRET} is told here."), 3),
    CaptureSpec("https://gone.example/other", html(f"Other {SECRET}", WORDS, f"More {SECRET}, a chandlery."), 4),
]


def draws_of(world: World) -> list[Draw]:
    """Ways to ask for the removed page: by its words, addresses, title and place in the archive."""
    crawls, (capture,) = find_crawls(world), world.captures(REMOVED_URL)
    file, offset, length = capture.record
    place = {"crawl": crawls.crawl_by_path[file], "file": crawls.name_by_path[file]}
    stamp, span = format_timestamp(capture.time), f"{offset}-{offset + length - 1}"
    return [
        Draw("chandlery", REMOVED_URL, stamp, span=span, prefix="chan", **place),
        Draw("chandlery told here", "https://gone.example/", stamp, span=f"0-{10**6}", prefix="other", **place),
    ]


def requests_of(draws: list[Draw]) -> list[AuditRequest]:
    filled = [template.fill(draw, Random(1)) for template in list_templates() for draw in draws]
    return [request for request in filled if request is not None]


def showing(app: App, requests: list[AuditRequest], policy: dict[str, object] | None = None) -> list[AuditRequest]:
    """The requests whose answers say the secret word."""

    async def walk() -> list[AuditRequest]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(app.fastapi.router.lifespan_context(app.fastapi))
            session = await open_session(app, policy) if policy else ""
            return [
                request for request in requests if SECRET in readable_text(await ask(app, request, session)).lower()
            ]

    return asyncio.run(walk())


@pytest.mark.parametrize(
    "rules",
    [[("host", "gone.example")], [("url", REMOVED_URL), ("prefix", "http://gone.example/other")]],
    ids=["host", "urls"],
)
def test_no_door_shows_what_was_removed(tmp_path: Path, rules: list[tuple[Kind, str]]) -> None:
    collection = tmp_path / "c"
    ingest(collection, write(tmp_path / "a.warc.gz", PAGES))
    world = open_world(collection)
    requests = requests_of(draws_of(world))
    assert len(requests) > 200
    before = create_app(Config(root=tmp_path, collection="c"), world)
    assert len({request.door for request in showing(before, requests)}) > 20
    with in_process():
        remove(collection, [parse_rule(kind, value, "opt-out", "2024-01-01") for kind, value in rules])
        build_snapshot(collection)
    after = create_app(Config(root=tmp_path, collection="c"))
    assert showing(after, requests) == []


def test_a_session_on_an_older_snapshot_is_refused(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    ingest(collection, write(tmp_path / "a.warc.gz", PAGES))
    old = current_id(collection)
    with in_process():
        remove(collection, [parse_rule("host", "gone.example", "opt-out", "2024-01-01")])
        build_snapshot(collection)
    app = create_app(Config(root=tmp_path, collection="c"))
    with pytest.raises(Exception, match="removed since"):
        showing(app, [], {"snapshot": old})
