"""Trust in `webemu run`: browsers and Java read a page as they are, and nothing outside is touched."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import certifi
import pytest

from tests.java import PRINT_PAGE
from tests.sealed_runs import PAGE, ingest_page, line, needs_network, python, run
from webemu.api.proxy import namespace_trust
from webemu.api.proxy.certificate_bundles import _find_interpreter, _find_interpreters, find_bundles, find_folders
from webemu.api.proxy.mounts import ensure_folder

FIREFOX = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
MARIONETTE = """
import itertools, json, socket, subprocess, sys, tempfile, time

def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", 2828))
        except ConnectionRefusedError:
            time.sleep(0.1)

with tempfile.TemporaryDirectory() as profile:
    options = ["--headless", "--marionette", "--no-remote", "--profile", profile]
    firefox = subprocess.Popen([sys.argv[1], *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        stream = connect().makefile("rwb")

        def read():
            size = b"".join(itertools.takewhile(lambda byte: byte != b":", iter(lambda: stream.read(1), b"")))
            return json.loads(stream.read(int(size)))

        def call(name, **parameters):
            message = json.dumps([0, 1, name, parameters]).encode()
            stream.write(b"%d:%s" % (len(message), message))
            stream.flush()
            return read()[2:]

        read()
        call("WebDriver:NewSession")
        print(*call("WebDriver:Navigate", url="https://a.example/"), *call("WebDriver:GetPageSource"))
    finally:
        firefox.terminate()
        firefox.wait()
"""
"""Program that has a Firefox open a page by its own protocol, which geckodriver translates for Selenium."""
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
BROWSERS = {
    "playwright": f"""
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    page = playwright.chromium.launch(executable_path={CHROMIUM!r}).new_page()
    page.goto("https://a.example/")
    print(page.inner_text("main"))
""",
    "selenium": f"""
from selenium import webdriver
options = webdriver.ChromeOptions()
options.binary_location = {CHROMIUM!r}
for argument in ("--headless", "--no-sandbox"):
    options.add_argument(argument)
driver = webdriver.Chrome(options=options)
driver.get("https://a.example/")
print(driver.find_element("tag name", "main").text)
driver.quit()
""",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from ingest_page(tmp_path_factory.mktemp("run"))


@needs_network
@pytest.mark.skipif(not CHROMIUM, reason="no chromium is installed")
@pytest.mark.parametrize("library", ["playwright", "selenium"])
def test_browsers_read_a_page_without_a_flag(root: Path, tmp_path: Path, library: str) -> None:
    if library == "selenium" and not shutil.which("chromedriver"):
        pytest.skip("no chromedriver is installed")
    pytest.importorskip(library, reason=f"{library} is not installed")
    completed = run(line(root, *python(BROWSERS[library])), env={**os.environ, "HOME": str(tmp_path)})
    assert completed.stdout.strip() == "The river port.", completed.stderr
    assert not (tmp_path / ".pki").exists(), "the folder of Chromium's store is gone with the namespace"


@needs_network
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="no Java with a compiler is installed")
def test_java_reads_a_page_without_an_option(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "Get.java"
    source.write_text(PRINT_PAGE)
    completed = run(line(root, "java", str(source), "https://a.example/"))
    assert completed.stdout.strip() == PAGE, completed.stderr


@needs_network
def test_nothing_is_trusted_outside(root: Path) -> None:
    def read_stores() -> list[bytes]:
        return [bundle.read_bytes() for bundle in find_bundles([sys.executable], os.environ)]

    before, names = read_stores(), [sorted(folder.iterdir()) for folder in find_folders()]
    inside = "import certifi; print('OUR' if open(certifi.where()).read().endswith(open(sys.argv[1]).read()) else '')"
    completed = run(line(root, *python("import sys", inside), str(root / "ca/ca.pem")))
    assert completed.stdout == "OUR\n", completed.stderr
    assert read_stores() == before
    assert [sorted(folder.iterdir()) for folder in find_folders()] == names


def test_a_folder_to_mount_over_stays_while_another_run_needs_it(tmp_path: Path) -> None:
    folder = tmp_path / "a/b"
    with ensure_folder(folder):
        assert folder.is_dir()
    assert not folder.parent.exists()
    with ensure_folder(folder), ExitStack() as other:
        other.enter_context(ensure_folder(folder))
    assert not folder.exists()
    with ExitStack() as other:
        with ensure_folder(folder):
            other.enter_context(ensure_folder(folder))
        assert folder.exists()


@pytest.mark.parametrize(
    ("head", "interpreter"),
    [
        ("#!{python}\n", True),
        ("#!{python} -I\n", True),
        ("#!/usr/bin/env python3\n", True),
        ("#!/usr/bin/env -S python3 -I\n", True),
        ("#!/bin/sh\n'''exec' \"{python}\" \"$0\"", True),
        ("#!/bin/sh\n", False),
        ("\x7fELF", False),
        ("", False),
    ],
)
def test_the_interpreter_of_a_script(tmp_path: Path, head: str, interpreter: bool) -> None:
    script = tmp_path / "script"
    script.write_text(head.format(python=sys.executable))
    script.chmod(0o755)
    with_it = _find_interpreters(["sh", "-c", f"echo; {script} --help"], os.environ)
    assert len(with_it) - len(_find_interpreters(["sh"], os.environ)) in ((0, 1) if interpreter else (0,))
    assert (_find_interpreter(str(script)) is not None) == interpreter


def test_an_interpreter_that_cannot_be_asked_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("neither a script nor a program")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the user')")
    monkeypatch.chdir(tmp_path)
    assert Path(certifi.where()).resolve() in find_bundles(["python", "x.py"], {"PATH": str(tmp_path)})


def test_a_store_that_cannot_be_covered_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise PermissionError(13, "Permission denied", "/nowhere/.pki")

    monkeypatch.setattr(namespace_trust, "_list_steps", lambda *_: [fail, fail])
    namespace_trust.trust_authority(tmp_path / "ca.pem", [], {}, ExitStack())
    assert capsys.readouterr().err.count("will not trust the authority") == 2


@needs_network
@pytest.mark.skipif(not FIREFOX, reason="no Firefox is installed")
def test_firefox_reads_a_page_without_a_flag(root: Path) -> None:
    completed = run(line(root, *python(MARIONETTE), str(FIREFOX)))
    assert "The river port." in completed.stdout, completed.stdout + completed.stderr
