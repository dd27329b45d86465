"""The server with a real browser: its own pages, and the web through the proxy door with styles and pictures.

Every request that Chromium makes is looked at: none may go anywhere else. With `WEBEMU_ARTIFACTS` screenshots are kept.
"""

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.crawls import CaptureSpec, html, ingest, write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")]
SHARED = os.environ.get("WEBEMU_SHARED")
REAL = (
    "webrecorder+pywb/sample_archive/warcs/iana.warc.gz",
    "openzim+warc2zim/tests/data/kiwix-with-redirects.warc.gz",
)
QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
    " --no-first-run --disable-quic"
)
EVIL = "<script>document.title='ran'</script>\"'><img src=x onerror=\"document.title='ran'\">"
ESCAPED_EVIL = EVIL.replace("&", "&amp;").replace("<", "&lt;")
EVIL_URL = "https://evil.example/\"onfocus=\"document.title='ran'\"autofocus=\"?<script>document.title='ran'</script>&x"
STYLE = "body{background:rgb(240,248,255)} .x{color:rgb(4,5,6)}"
DOT = b'<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><circle r="3"/></svg>'
SITE = "https://site.example"
WIKI = "https://en.openlexicon.org"


def crawl() -> list[CaptureSpec]:
    ports = [
        CaptureSpec(f"https://port{n % 9}.example/{n}", html(f"Harbour {n} - Atlas", f"The harbour {n} is old."))
        for n in range(40)
    ]
    links = (
        '<a href="javascript:document.title=\'ran\'">run</a><a href="data:text/html,<script>alert(1)</script>">d</a>'
    )
    look = '<link rel="stylesheet" href="/look.css">'
    news = [
        CaptureSpec("https://news.example/", html("News", f"This is the {name} edition."), day=day)
        for day, name in enumerate(("first", "second", "third"), 1)
    ]
    return [
        *ports,
        *news,
        CaptureSpec(
            "https://evil.example/", html(ESCAPED_EVIL, f"Piracy {ESCAPED_EVIL}", links), headers=(("X-Evil", EVIL),)
        ),
        CaptureSpec(EVIL_URL, html("Piracy too", f"More piracy {EVIL}", links), headers=(("X-Evil", EVIL),)),
        CaptureSpec(f"{SITE}/", html("Front", '<a class="x" href="/next">On</a><img src="/dot.svg">', head=look)),
        CaptureSpec(f"{SITE}/next", html("Second", "You are here")),
        CaptureSpec(f"{SITE}/look.css", STYLE, mime="text/css"),
        CaptureSpec(f"{SITE}/dot.svg", DOT, mime="image/svg+xml"),
    ]


@dataclass
class Serving:
    """A server, and a browser that trusts it."""

    port: int
    browser: Browser
    proxied: Browser

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class Watched:
    """A page, and all that it asked and complained of."""

    page: Page
    requested_urls: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requested_urls.append(request.url))
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(f"dialog: {dialog.message}"))

    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    root = tmp_path_factory.mktemp("browser")
    real = [Path(SHARED) / "data/warc" / name for name in REAL] if SHARED else []
    webemu = [sys.executable, "-m", "webemu.emulator.cli"]
    subprocess.run([*webemu, "generate", str(root / "web"), "--pages", "400", "--seed", "3", "-q"], check=True)
    ingest(root / "default", write(root / "a.warc.gz", crawl()), root / "web", *real)
    command = [*webemu, "serve", "--root", str(root), "--port", "0"]
    with ExitStack() as ends:
        process = ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        ends.callback(process.terminate)
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        playwright = ends.enter_context(sync_playwright())
        trusted = f"--ignore-certificate-errors-spki-list={fingerprint(port, root / 'ca/ca.pem')}"
        plain, proxied = start(playwright), start(playwright, trusted, proxy=f"http://127.0.0.1:{port}")
        for browser in (plain, proxied):
            ends.callback(browser.close)
        yield Serving(port, plain, proxied)


def start(playwright: Playwright, *arguments: str, proxy: str = "") -> Browser:
    assert CHROMIUM is not None
    return playwright.chromium.launch(
        executable_path=CHROMIUM, args=[*QUIET.split(), *arguments], proxy={"server": proxy} if proxy else None
    )


def fingerprint(port: int, authority: Path) -> str:
    """Hash of the one key that all certificates of a process have, seen in one that the authority vouches for."""
    context = ssl.create_default_context(cafile=str(authority))
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="site.example") as secured,
    ):
        certificate = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(hashlib.sha256(key).digest()).decode()


Look = Callable[..., Watched]


@pytest.fixture
def look(serving: Serving) -> Iterator[Look]:
    """`look(path)`: a new page of our own, in a window of its own."""
    with ExitStack() as ends:

        def open_page(path: str, proxied: bool = False) -> Watched:
            browser = serving.proxied if proxied else serving.browser
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            ends.callback(context.close)
            watched = Watched(context.new_page())
            watched.page.goto(path if "://" in path else serving.origin + path)
            return watched

        yield open_page


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[Watched, str], None]:
    folder = Path(os.environ.get("WEBEMU_ARTIFACTS") or tmp_path)

    def shoot(watched: Watched, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        assert watched.page.screenshot(path=folder / f"{name}.png").startswith(b"\x89PNG")

    return shoot


Keep = Callable[[Watched, str], None]


def test_a_person_searches_reads_and_goes_back(serving: Serving, look: Look, keep: Keep) -> None:
    watched = look("/")
    page = watched.page
    keep(watched, "home")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("harbours")
    page.keyboard.press("Enter")
    expect(page).to_have_title("harbours – webemu")
    expect(page.locator("ol.results > li")).to_have_count(10)
    expect(page.locator("mark").first).to_have_text("harbour")
    keep(watched, "results")
    first = page.locator(".results h2 a").first.inner_text()
    page.get_by_role("link", name="Next ›").click()
    expect(page.locator("ol.results")).to_have_attribute("start", "11")
    page.go_back()
    expect(page.locator(".results h2 a").first).to_have_text(first)
    page.locator(".results h2 a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(first)
    expect(page.locator(".tabs [aria-current]")).to_have_text("Text")
    expect(page.locator("pre")).to_contain_text("is old.")
    for tab in ("Markdown", "Links", "Headers"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.locator(".tabs [aria-current]")).to_have_text(tab)
    expect(page.locator(".status-line")).to_have_text("200 OK")
    keep(watched, "headers")
    assert watched.messages == []
    assert {url for url in watched.requested_urls if not url.startswith(serving.origin + "/")} == set()


def test_a_person_travels_through_captures_and_days(look: Look, keep: Keep) -> None:
    page = (watched := look("/view?url=https%3A%2F%2Fnews.example%2F")).page
    expect(page.locator("pre")).to_contain_text("third edition")
    slider = page.get_by_role("slider", name="Travel through the captures")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("pre")).to_contain_text("first edition")
    expect(page.locator(".travel output")).to_have_text("2024-01-01 12:00:00")
    keep(watched, "captures")
    page.goto(page.url.partition("/view")[0] + "/search?q=edition")
    page.get_by_text("Filters and time travel").click()
    page.get_by_label("Site").fill("news.example")
    page.get_by_label("The web as of").fill("2024-01-02")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".count")).to_have_text("1 page, as captured up to 2024-01-02")
    expect(page.locator(".snippet")).to_contain_text("second edition")
    assert watched.messages == []


def test_filters_are_taken_off_and_typing_errors_mended_by_a_click(look: Look) -> None:
    page = look("/search?q=harbuor+site:port1.example").page
    page.get_by_role("link", name="harbour site:port1.example", exact=True).click()
    expect(page.locator(".results h2")).to_have_count(5)
    page.get_by_title("Search without this filter").click()
    expect(page.get_by_role("searchbox")).to_have_value("harbour")


def test_a_browser_finds_the_suggestions_it_may_ask_for(look: Look) -> None:
    page = look("/").page
    description = page.locator('link[rel="search"]').evaluate("link => link.href")
    parts = page.request.get(description).text().split('template="')
    template = next(part.partition('"')[0] for part in parts if "/suggest" in part)
    assert page.request.get(template.replace("{searchTerms}", "harbour%203")).json()[1][:2] == [
        "Harbour 3",
        "Harbour 30",
    ]


VIEWS = ["/view?url=https%3A%2F%2Fevil.example%2F&as=" + tab for tab in ("text", "markdown", "links", "headers")]
PATHS = ["/", "/search?q=harbour+-fog+site:port1.example", "/search?q=qqqq", "/view", VIEWS[0], VIEWS[2], VIEWS[3]]


CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number)
  const part = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4
  const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b)
  const ground = node => {
    const colour = rgb(getComputedStyle(node).backgroundColor)
    return colour.length < 4 || colour[3] > 0 ? colour : ground(node.parentElement)
  }
  const speaks = node => [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())
  const isShown = node => !node.closest('.hidden, .skip, svg') && node.checkVisibility()
  const ratio = node => {
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))]
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
  }
  const words = [...document.querySelectorAll('body *')].filter(node => isShown(node) && speaks(node))
  return words.filter(node => ratio(node) < 4.5).map(node => [ratio(node), node.outerHTML.slice(0, 100)])
}"""
"""Texts whose contrast is below WCAG 2's AA, 4.5 to 1."""
PAPER = {"light": "rgb(252, 252, 250)", "dark": "rgb(19, 21, 22)"}


AXE_RUN = """axe.run(document, {iframes: false,
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"""


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe-playwright-python is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing_serious(serving: Serving, keep: Keep, scheme: str) -> None:
    """The checker is axe-core. Its script is evaluated in the page, whose policy would not let it in."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    views = [f"/view?url=https%3A%2F%2Fnews.example%2F&as={tab}" for tab in ("text", "page", "links", "headers")]
    findings = []
    for width in (390, 1280):
        context = serving.browser.new_context(
            viewport={"width": width, "height": 900},
            bypass_csp=True,
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        watched = Watched(context.new_page())
        for number, path in enumerate([*PATHS, *views, "/dashboard", "/docs"]):
            watched.page.goto(serving.origin + path)
            watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            keep(watched, f"page-{number}-{width}-{scheme}")
            watched.page.evaluate(axe)
            violations = watched.page.evaluate(AXE_RUN)["violations"]
            findings += [(path, width, one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in violations]
        context.close()
    assert [finding for finding in findings if finding[3] in ("serious", "critical")] == []


def test_narrow_and_wide_light_and_dark(serving: Serving, look: Look) -> None:
    watched = look("/")
    for path in PATHS:
        watched.page.goto(serving.origin + path)
        for scheme in ("light", "dark"):
            watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert watched.page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
            assert watched.page.evaluate(CONTRAST) == [], f"{path} {scheme}"
        for width in (360, 1280):
            watched.page.set_viewport_size({"width": width, "height": 740})
            assert watched.overflow() == 0, f"{path} {width}"


def test_the_keyboard_alone_is_enough(look: Look) -> None:
    page = look("/search?q=harbour").page
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Filters and time travel")
    assert page.locator(":focus").evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    expect(page.locator("article").first.locator(":focus")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".tabs [aria-current]")).to_have_text("Text")
    page.keyboard.press("/")
    expect(page.locator(":focus")).to_have_id("q")
    page.keyboard.type("a/b")
    expect(page.locator("#q")).to_have_value("a/b")


RUNS = "script ~ script, main script, main img, [onerror], [onfocus], a[href^='javascript:'], a[href^='data:']"


def test_hostile_pages_do_not_run(serving: Serving, look: Look) -> None:
    address = quote(EVIL_URL, safe="")
    views = [f"/view?url={address}&as={tab}" for tab in ("text", "markdown", "links", "headers")]
    wrong = [f"/view?url={quote(EVIL, safe='')}", f"/search?q={quote(EVIL, safe='')}&page={quote(EVIL, safe='')}"]
    watched = look("/")
    for path in ["/search?q=piracy", *VIEWS, *views, *wrong]:
        watched.page.goto(serving.origin + path)
        assert watched.page.title() != "ran", path
        assert watched.page.locator(RUNS).count() == 0, path
    assert {url for url in watched.requested_urls if not url.startswith(serving.origin + "/")} == set()
    assert [line for line in watched.messages if "Failed to load resource: the server responded with" not in line] == []


def test_the_page_itself_is_in_a_frame_where_nothing_runs(serving: Serving, look: Look, keep: Keep) -> None:
    watched = look(f"/view?url={quote(SITE, safe='')}&as=page")
    frame = watched.page.frame_locator("iframe")
    expect(frame.get_by_text("On", exact=True)).to_have_css("color", "rgb(4, 5, 6)")
    assert frame.locator("img").evaluate("image => image.naturalWidth") == 7
    keep(watched, "view")
    frame.get_by_text("On", exact=True).click()
    expect(frame.get_by_text("You are here")).to_be_visible()
    watched.page.goto(f"{serving.origin}/view?url={quote(EVIL_URL, safe='')}&as=page")
    expect(frame.get_by_text("More piracy")).to_be_visible()
    assert watched.page.frames[1].title() != "ran"
    assert all("Blocked script execution" in line or "404" in line for line in watched.messages), watched.messages
    assert {url for url in watched.requested_urls if not url.startswith(serving.origin + "/")} == set()


def test_the_dashboard_tells_what_happens_now(serving: Serving, look: Look, keep: Keep) -> None:
    watched = look("/dashboard")
    page = watched.page
    expect(page.locator("#state")).to_have_text("live, 1 worker")
    for number in range(5):
        httpx.get(f"{serving.origin}/v1/search", params={"q": f"{EVIL} {number % 2}"}, trust_env=False, timeout=60)
    httpx.get(f"{serving.origin}/v1/search", trust_env=False, timeout=60)
    row = page.locator("#places tr", has_text="/v1/search")
    expect(row).to_have_count(1)
    expect(row.locator("td").nth(5)).to_have_text("6")
    expect(page.locator("#p99")).to_contain_text("ms")
    expect(page.locator("#queries")).to_contain_text(f"{EVIL} 0")
    expect(page.locator("#rates path")).to_have_count(1)
    httpx.get(f"{serving.origin}/v1/fetch", params={"url": EVIL_URL + "none"}, trust_env=False, timeout=60)
    expect(page.locator("#vain-urls")).to_contain_text("<script>")
    expect(page.locator("#ingest")).to_contain_text("Nothing is being ingested. The catalog changed")
    page.get_by_label("last two minutes").check()
    expect(page.locator("#rates path")).to_have_count(1)
    session = httpx.post(f"{serving.origin}/v1/sessions", json={"task": EVIL}, trust_env=False, timeout=60).json()
    headers = {"X-Webemu-Session": session["session"]}
    for query in ("piracy", f"{EVIL} 7"):
        httpx.get(f"{serving.origin}/v1/search", params={"q": query}, headers=headers, trust_env=False, timeout=60)
    page.get_by_role("button", name=session["session"]).click()
    expect(page.locator("#session-state")).to_contain_text("2 requests; spent: ")
    expect(page.locator("#session-state")).to_contain_text("<script>")
    expect(page.locator("#session-steps tr").first).to_contain_text(f"{EVIL} 7")
    httpx.get(f"{serving.origin}/v1/search", params={"q": "x"}, headers=headers, trust_env=False, timeout=60)
    expect(page.locator("#session-steps tr")).to_have_count(3)
    page.get_by_label("Route or service", exact=True).select_option("/v1/search")
    for span in ("last hour", "last two minutes"):
        page.get_by_label(span).check()
        expect(page.locator("#rates path")).to_have_count(1)
    page.get_by_role("button", name="Close the session").click()
    expect(page.locator("#session")).to_be_hidden()
    page.get_by_role("button", name=session["session"]).click()
    expect(page.locator("#session-steps tr")).to_have_count(3)
    assert page.title() == "webemu: now"
    assert watched.overflow() == 0
    keep(watched, "dashboard")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#state")).to_have_text("live, 1 worker")
    assert watched.overflow() == 0
    keep(watched, "dashboard-narrow")


def test_through_the_proxy_the_web_is_where_it_was(look: Look, keep: Keep) -> None:
    watched = look("http://webemu/search?q=front+site:site.example", proxied=True)
    watched.page.get_by_role("heading", name="Front").get_by_role("link").click()
    expect(watched.page).to_have_url(f"{SITE}/")
    expect(watched.page.locator("body")).to_have_css("background-color", "rgb(240, 248, 255)")
    assert watched.page.locator("img").evaluate("image => image.naturalWidth") == 7
    keep(watched, "proxy")
    watched.page.get_by_text("On", exact=True).click()
    expect(watched.page).to_have_url(f"{SITE}/next")
    watched.page.go_back()
    expect(watched.page).to_have_url(f"{SITE}/")
    watched.page.go_back()
    expect(watched.page.get_by_role("searchbox")).to_have_value("front site:site.example")
    assert [line for line in watched.messages if "favicon" not in line and "404" not in line] == []


def test_the_generated_web_is_browsed(look: Look, keep: Keep) -> None:
    watched = look(f"{WIKI}/", proxied=True)
    expect(watched.page).to_have_url(f"{WIKI}/wiki/Main_Page")
    link = watched.page.locator("main a[href^='/wiki/']:not([href*=':'])").first
    target = link.get_attribute("href")
    link.click()
    expect(watched.page).to_have_url(f"{WIKI}{target}")
    expect(watched.page.locator("#firstHeading")).to_be_visible()
    keep(watched, "generated")
    watched.page.go_back()
    expect(watched.page).to_have_url(f"{WIKI}/wiki/Main_Page")
    assert {urlsplit(url).hostname for url in watched.requested_urls} == {"en.openlexicon.org"}
    assert [line for line in watched.messages if "favicon" not in line and "404" not in line] == []


@pytest.mark.skipif(not SHARED, reason="WEBEMU_SHARED does not name the folder of real archives")
@pytest.mark.parametrize(
    ("name", "url", "font", "image"),
    [
        ("iana", "http://www.iana.org/", "Open Sans", "icann-logo.svg"),
        ("kiwix", "https://kiwix.org/en/about-us/", "Quicksand", "Kiwix-horizontal-logo-1.svg"),
    ],
)
def test_real_pages_have_their_styles_and_pictures(
    look: Look, keep: Keep, name: str, url: str, font: str, image: str
) -> None:
    watched = look(url, proxied=True)
    assert font in watched.page.evaluate("getComputedStyle(document.body).fontFamily")
    assert watched.page.evaluate(f"document.fonts.ready.then(() => document.fonts.check('16px \"{font}\"'))")
    picture = watched.page.locator(f"img[src*='{image}']").first
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 10
    keep(watched, f"real-{name}")


def test_a_person_sees_what_of_the_query_was_changed(look: Look, keep: Keep) -> None:
    watched = look("/search?q=harbuor+old")
    page = watched.page
    expect(page.locator(".meant")).to_have_text("Showing results for harbour old. Search instead for harbuor old.")
    expect(page.locator("mark").first).to_be_visible()
    keep(watched, "corrected")
    page.get_by_role("link", name="harbuor old").click()
    expect(page.locator("#q")).to_have_value("+harbuor old")
    expect(page.locator(".meant")).to_have_count(0)
    expect(page.locator(".relaxed")).to_have_text("Few pages have +harbuor; showing others too.")
    keep(watched, "as_typed")
    assert watched.overflow() <= 0
    assert watched.messages == []
