"""The web's answers to what was not captured as asked: near misses, sessions, made sitemaps."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from xml.etree import ElementTree

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import create_app
from webemu.api.services import sitemap
from webemu.emulator.config import Config
from webemu.emulator.session import encode_inline_policy
from webemu.index.open import open_world

SITE = "https://a.example"
CAPTURES = [
    CaptureSpec(f"{SITE}/", html("Old"), 1),
    CaptureSpec(f"{SITE}/", html("New"), 20),
    CaptureSpec(f"{SITE}/docs/index.html", html("Docs"), 2),
    CaptureSpec(f"{SITE}/shop/?id=7", html("Shop"), 2),
    CaptureSpec(f"{SITE}/tea%20pot", html("Pot"), 3),
    CaptureSpec(f"{SITE}/style.css?v=3", "p{}", 3, mime="text/css"),
    CaptureSpec(f"{SITE}/gone", html("Gone"), 3, "404 Not Found"),
    CaptureSpec(f"{SITE}/old", "", 3, "301 Moved", headers=(("Location", f"{SITE}/old/"),)),
    CaptureSpec("https://b.example/x?a=1&b=2", html("B & <b>"), 4),
    CaptureSpec("https://web.archive.org/web/about", html("About the archive"), 5),
    CaptureSpec("https://b.example/sitemap.xml", "<mine/>", 4, mime="text/xml"),
]
Get = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def get(tmp_path_factory: pytest.TempPathFactory) -> Get:
    root = tmp_path_factory.mktemp("web")
    write(root / "a.warc.gz", CAPTURES)
    ingest(root / "c", root / "a.warc.gz")
    app = create_app(Config(root=root, collection="c"), open_world(root / "c"))

    def get(url: str, method: str = "GET", **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app.doors.web)
            async with httpx.AsyncClient(transport=transport) as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(method, url, headers=named)

        return asyncio.run(send())

    return get


@pytest.mark.parametrize(
    ("requested_path", "answered"),
    [
        ("/docs/", "/docs/index.html"),
        ("/docs", "/docs/index.html"),
        ("/index.php", "/"),
        ("/?utm_source=x&utm_medium=y", "/"),
        ("/shop/?id=7&fbclid=abc&_=1700000000", "/shop/?id=7"),
        ("/shop/index.html?id=7", "/shop/?id=7"),
        ("/style.css?v=99", "/style.css?v=3"),
        ("/style.css", "/style.css?v=3"),
        ("/TEA%20POT", "/tea%20pot"),
        ("/tea%20pot#lid", "/tea%20pot"),
    ],
)
def test_a_near_miss_finds_the_page(get: Get, requested_path: str, answered: str) -> None:
    for origin in (SITE, "http://a.example", "https://www.a.example"):
        reply = get(origin + requested_path)
        assert (reply.status_code, reply.headers.get("x-webemu-url")) == (200, SITE + answered)


@pytest.mark.parametrize("requested_path", ["/shop/?id=8", "/shop/?id=8&utm_source=x", "/docs/other.html", "/old/"])
def test_what_is_another_page_is_not_found(get: Get, requested_path: str) -> None:
    reply = get(SITE + requested_path)
    assert (reply.status_code, reply.headers["x-webemu-reason"]) == (404, "url-not-captured")
    assert "Gone" in reply.text


def test_a_session_sees_its_day_and_no_marks(get: Get) -> None:
    assert "New" in get(f"{SITE}/").text
    assert "Old" in get(f"{SITE}/", X_Webemu_Session="r1;at=2024-01-02").text
    basic = "Basic " + b64encode(b"r1;at=2024-01-02;marks=off:any").decode()
    reply = get(f"{SITE}/", Proxy_Authorization=basic)
    assert "Old" in reply.text
    assert [name for name in reply.headers if name.startswith("x-webemu")] == []
    assert "New" in get(f"{SITE}/", Proxy_Authorization=basic, Accept_Datetime="Sun, 21 Jan 2024 00:00:00 GMT").text


def test_a_rule_that_is_none_is_named(get: Get) -> None:
    reply = get(f"{SITE}/", X_Webemu_Session="r1;speed=9")
    assert (reply.status_code, reply.headers["x-webemu-reason"]) == (400, "bad-session")


def locations(reply: httpx.Response) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(reply.text).iter() if element.tag.endswith("loc")]


def test_a_sitemap_is_made_of_the_pages_where_none_was_captured(get: Get) -> None:
    reply = get(f"{SITE}/sitemap.xml")
    assert (reply.status_code, reply.headers["x-webemu-made"]) == (200, "sitemap")
    assert locations(reply) == [f"{SITE}/", f"{SITE}/docs/index.html", f"{SITE}/shop/?id=7", f"{SITE}/tea%20pot"]
    assert "<lastmod>2024-01-20</lastmod>" in reply.text
    assert get("https://b.example/sitemap.xml").text == "<mine/>"
    assert get("https://c.example/sitemap.xml").status_code == 502


def test_a_large_sitemap_is_an_index_of_parts(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_URLS_PER_FILE", 3)
    parts = locations(get(f"{SITE}/sitemap.xml"))
    assert parts == [f"{SITE}/sitemap-1.xml", f"{SITE}/sitemap-2.xml"]
    assert [len(locations(get(part))) for part in parts] == [3, 1]
    assert get(f"{SITE}/sitemap-3.xml").status_code == 404
    assert get(f"{SITE}/sitemap-0.xml").status_code == 404


@pytest.mark.parametrize("path", ["/robots.txt", "/favicon.ico", "/.well-known/security.txt"])
def test_what_a_site_has_not_is_its_404(get: Get, path: str) -> None:
    assert get(SITE + path).status_code == 404
    assert get("https://b.example" + path).status_code == 404


def test_other_methods_are_refused(get: Get) -> None:
    reply = get(f"{SITE}/", "POST")
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD")
    assert get(f"{SITE}/", "HEAD").headers["content-length"] == str(len(html("New")))


def test_what_was_captured_of_a_service_is_answered_as_it_was(get: Get) -> None:
    assert "About the archive" in get("https://web.archive.org/web/about").text
    assert get("https://web.archive.org/web/2024/https://a.example/").status_code == 302
    assert get("https://web.archive.org/elsewhere").headers["x-webemu-reason"] == "url-not-captured"


def test_an_injected_reset_ends_the_request_without_a_socket_too(get: Get) -> None:
    """It is the weather of the session, and must not look like a failure of the server."""
    name = encode_inline_policy(b'{"weather": {"resets": 1}}')
    credentials = b64encode(f"{name}:".encode()).decode()
    with pytest.raises(ConnectionResetError, match="weather"):
        get(f"{SITE}/docs/index.html", Proxy_Authorization=f"Basic {credentials}")
