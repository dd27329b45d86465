"""The doors, with the clients that use them: each as it is, told of proxy and authority by what `env` prints."""

import asyncio
import gzip
import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.sync_api import sync_playwright
from warcio.archiveiterator import ArchiveIterator

from tests.java import PRINT_PAGE
from webemu.api.proxy.command import build_exports

WIKI = "https://en.openlexicon.org"
SHOP = "https://www.hearth-and-spoke.shop"
PROGRAMS = {
    "requests": "import requests, sys; r = requests.get(sys.argv[1]); s, b, h = r.status_code, r.content, r.headers",
    "httpx": "import httpx, sys; r = httpx.get(sys.argv[1]); s, b, h = r.status_code, r.content, r.headers",
    "urllib": (
        "import sys, urllib.request as u, urllib.error as e\n"
        "try: r = u.urlopen(sys.argv[1])\n"
        "except e.HTTPError as r_: r = r_\n"
        "s, b, h = r.status, r.read(), r.headers"
    ),
    "aiohttp": (
        "import aiohttp, asyncio, sys\n"
        "async def get():\n"
        "  async with aiohttp.ClientSession(trust_env=True) as c, c.get(sys.argv[1], allow_redirects=False) as r:\n"
        "    return r.status, await r.read(), r.headers\n"
        "s, b, h = asyncio.run(get())"
    ),
}
SHOW_RESULT = "\nimport hashlib; print(s, hashlib.sha1(b).hexdigest(), h.get('Server'), h.get('X-Webemu-Reason'))"

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_wget = pytest.mark.skipif(not shutil.which("wget"), reason="no wget")


@dataclass(frozen=True)
class Door:
    root: Path
    port: int
    env: dict[str, str]

    @property
    def ca(self) -> str:
        return self.env["SSL_CERT_FILE"]

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)


def webemu(*arguments: str) -> str:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    root = tmp_path_factory.mktemp("doors")
    webemu("generate", str(root / "web"), "--pages", "400", "--seed", "3", "-q")
    webemu("ingest", str(root / "web"), "--root", str(root), "-q")
    command = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "serve",
        "--root",
        str(root),
        "--port",
        "0",
        "--workers",
        "2",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.partition("http://127.0.0.1:")[2].partition(" ")[0])
        exports = webemu("env", "--root", str(root), "--server", f"http://127.0.0.1:{port}")
        env = dict(re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE))
        wait_until_served(port)
        yield Door(root, port, {**os.environ, **env})
    finally:
        process.terminate()
        process.wait(30)


def wait_until_served(port: int) -> None:
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"http://127.0.0.1:{port}/health", timeout=30).status_code == 200


def recorded(door: Door) -> dict[str, tuple[str, list[tuple[str, str]], bytes]]:
    """Status line, headers and body of every URL that was answered but once."""
    responses: dict[str, list[tuple[str, list[tuple[str, str]], bytes]]] = {}
    for path in (door.root / "web").rglob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type in ("response", "revisit"):
                    head, body = record.http_headers, record.content_stream().read()
                    answers = responses.setdefault(record.rec_headers["WARC-Target-URI"], [])
                    answers.append((head.statusline, head.headers, body))
    return {url: answers[0] for url, answers in responses.items() if len(answers) == 1 and answers[0][2]}


def revisited(door: Door) -> list[tuple[str, str, str]]:
    """URL, date and status line of every revisit."""
    revisits = []
    for path in (door.root / "web").rglob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "revisit":
                    fields, head = record.rec_headers, record.http_headers
                    revisits.append(
                        (fields["WARC-Target-URI"], head.get_header("Date") or head.get_header("date"), head.statusline)
                    )
    return revisits


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("url", [f"{WIKI}/wiki/Main_Page", "http://en.openlexicon.org/robots.txt", f"{SHOP}/nowhere"])
def test_python_clients_see_what_curl_sees(door: Door, name: str, url: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name] + SHOW_RESULT, url], env=door.env, capture_output=True
    )
    curl = subprocess.run(["curl", "-sS", url], env=door.env, capture_output=True, check=True).stdout
    line = completed.stdout.decode().split()
    assert line, completed.stderr.decode()
    digest = subprocess.run(["sha1sum"], input=curl, capture_output=True, check=True).stdout.decode().split()[0]
    assert line[1] == digest
    assert (line[0], line[3]) == (("404", "url-not-captured") if "nowhere" in url else ("200", "None"))


@needs_wget
@pytest.mark.parametrize("url", [f"{WIKI}/wiki/Main_Page", "http://en.openlexicon.org/robots.txt"])
def test_wget_sees_what_curl_sees(door: Door, url: str) -> None:
    completed = subprocess.run(["wget", "-q", "-O-", url], env=door.env, capture_output=True)
    curl = subprocess.run(["curl", "-sS", url], env=door.env, capture_output=True, check=True).stdout
    assert (completed.returncode, completed.stdout) == (0, curl), completed.stderr.decode()


@needs_wget
@pytest.mark.parametrize("name", ["HOME", "WGETRC"])
def test_a_users_own_settings_of_wget_hold_too(door: Door, name: str, tmp_path: Path) -> None:
    (tmp_path / ".wgetrc").write_text("output_document = mine.html\n")
    env = {**door.env, name: str(tmp_path if name == "HOME" else tmp_path / ".wgetrc")}
    subprocess.run(["wget", "-q", f"{WIKI}/wiki/Main_Page"], env=env, cwd=tmp_path, check=True)
    assert "openlexicon" in (tmp_path / "mine.html").read_text().lower()


@needs_wget
def test_wget_fetches_a_site(door: Door, tmp_path: Path) -> None:
    command = ["wget", "-q", "-r", "-l", "1", "-P", str(tmp_path), f"{WIKI}/wiki/Main_Page"]
    subprocess.run(command, env=door.env)  # it ends with 8, as not all links were crawled
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) > 10


@pytest.mark.skipif(not shutil.which("git"), reason="no git")
def test_git_comes_through_to_the_host(door: Door) -> None:
    completed = subprocess.run(["git", "ls-remote", f"{WIKI}/none.git"], env=door.env, capture_output=True, text=True)
    assert "not found" in completed.stderr


def test_pip_comes_through_to_the_host(door: Door, tmp_path: Path) -> None:
    index = ["--no-deps", "--retries", "0", "--index-url", f"{WIKI}/simple"]
    command = [sys.executable, "-m", "pip", "download", "-d", str(tmp_path), *index, "no-such-package"]
    env = {name: value for name, value in door.env.items() if not name.startswith("PIP_") or name == "PIP_CERT"}
    completed = subprocess.run(command, env={**env, "PIP_CONFIG_FILE": os.devnull}, capture_output=True, text=True)
    assert "No matching distribution" in completed.stderr
    assert "certificate" not in completed.stderr.lower()


def test_where_wget_cannot_be_told_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_exports(tmp_path)["SYSTEM_WGETRC"] == str(tmp_path / "ca" / "wgetrc")
    (tmp_path / "ca" / "wgetrc").unlink()
    (tmp_path / "ca" / "wgetrc").mkdir()
    assert "SYSTEM_WGETRC" not in build_exports(tmp_path)
    assert f"--ca-certificate={tmp_path}/ca/ca.pem" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "ca").glob(".*")] == []


def node() -> str | None:
    """A Node whose fetch obeys NODE_USE_ENV_PROXY (22.21, 24 and later): the machine's own, or Playwright's."""
    for path in filter(None, (shutil.which("node"), compute_driver_executable()[0])):
        with suppress(OSError, subprocess.CalledProcessError):
            output = subprocess.run(
                [path, "-p", "process.versions.node"], capture_output=True, text=True, check=True
            ).stdout
            version = tuple(map(int, output.split(".")))
            if version >= (24,) or (22, 21) <= version < (23,):
                return path
    return None


@pytest.mark.skipif(node() is None, reason="no Node here that obeys NODE_USE_ENV_PROXY (22.21, 24 and later do)")
@pytest.mark.parametrize("url", [f"{WIKI}/wiki/Main_Page", "http://en.openlexicon.org/robots.txt", f"{SHOP}/nowhere"])
def test_fetch_of_node_sees_what_curl_sees(door: Door, url: str) -> None:
    code = "fetch(process.argv[1]).then(async r => process.stdout.write(await r.text()))"
    completed = subprocess.run([str(node()), "-e", code, url], env=door.env, capture_output=True)
    curl = subprocess.run(["curl", "-sS", url], env=door.env, capture_output=True, check=True).stdout
    assert completed.stdout == curl, completed.stderr.decode()
    assert curl


def test_every_url_is_answered_as_it_was_recorded(door: Door) -> None:
    hidden = re.compile("content-length|x-crawler-|transfer-encoding|connection", re.IGNORECASE)
    proxy = httpx.Proxy(f"http://127.0.0.1:{door.port}")
    with httpx.Client(proxy=proxy, verify=door.trusting(), trust_env=False) as client:
        for url, (status, headers, body) in recorded(door).items():
            answer = client.get(url, headers={"Accept-Encoding": "identity"})
            assert f"{answer.status_code} {answer.reason_phrase}" == status, url
            assert answer.content == body, url
            names = [(k.decode(), v.decode()) for k, v in answer.headers.raw if not k.startswith(b"X-Webemu-")]
            assert [h for h in names if not hidden.match(h[0])] == [h for h in headers if not hidden.match(h[0])], url


def test_revisits_are_answered_whole(door: Door) -> None:
    proxy = httpx.Proxy(f"http://127.0.0.1:{door.port}")
    revisits = revisited(door)
    assert {status for _, _, status in revisits} == {"200 OK", "304 Not Modified"}
    with httpx.Client(proxy=proxy, verify=door.trusting(), trust_env=False) as client:
        for url, date, status in revisits:
            answer = client.get(url, headers={"Accept-Datetime": date})
            assert answer.status_code == 200, url
            assert (answer.headers["Date"] == date) is (status == "200 OK"), url
            assert "text/html" in answer.headers["Content-Type"]
            assert answer.text.endswith("</html>\n"), url


def test_a_masked_coding_is_applied(door: Door) -> None:
    urls = [url for url, (_, headers, _) in recorded(door).items() if ("X-Crawler-Content-Encoding", "gzip") in headers]
    assert urls
    command = ["curl", "-sS", "-D-", "--suppress-connect-headers", "-H", "Accept-Encoding: gzip", urls[0]]
    head, _, body = subprocess.run(command, env=door.env, capture_output=True, check=True).stdout.partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip\r\n" in head
    assert gzip.decompress(body) == recorded(door)[urls[0]][2]
    assert b"X-Crawler" not in head


def test_redirects_lead_through_the_web(door: Door) -> None:
    curl_command = ["curl", "-sSL", "-o", os.devnull, "-w", "%{num_redirects} %{url_effective} %{http_code}"]
    output = subprocess.run(
        [*curl_command, "http://en.openlexicon.org/"], env=door.env, capture_output=True, check=True
    ).stdout
    assert output.decode() == f"2 {WIKI}/wiki/Main_Page 200"


def test_a_date_picks_the_capture(door: Door) -> None:
    rows = [json.loads(line) for line in (door.root / "web/tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    task = next(row for row in rows if row["id"] == "demo-11")
    url = task["evidence"][0]["url"]
    early = ["-H", "Accept-Datetime: Sun, 01 Dec 2024 00:00:00 GMT"]
    late, before = (
        subprocess.run(["curl", "-sS", *more, url], env=door.env, capture_output=True, check=True).stdout.decode()
        for more in ([], early)
    )
    assert "<th>Previous mayor</th>" in late
    assert "<th>Previous mayor</th>" not in before


def test_tls_without_a_proxy(door: Door) -> None:
    """The door answers TLS directly, as it must if a hosts file, an alias or DNS leads every name here."""
    host = WIKI.removeprefix("https://")
    to = ["--connect-to", f"{host}:443:127.0.0.1:{door.port}", "--cacert", door.ca, "--noproxy", "*"]
    body = subprocess.run(["curl", "-sS", *to, f"{WIKI}/wiki/Main_Page"], capture_output=True, check=True).stdout
    assert b"Welcome to OpenLexicon" in body
    with socket.create_connection(("127.0.0.1", door.port)) as plain:
        connection = http.client.HTTPSConnection(host, context=door.trusting())
        connection.sock = door.trusting().wrap_socket(plain, server_hostname=host)
        for _ in range(3):
            connection.request("GET", "/wiki/Main_Page")
            assert connection.getresponse().read() == body


@pytest.mark.parametrize(
    ("path", "host", "expected"),
    [
        ("/health", "en.openlexicon.org", "404 Not Found"),
        ("/robots.txt", "EN.openlexicon.org:80", "User-agent: *"),
        ("/health", "my.server.example", '"status":"ok"'),
        ("/health", "[::1]:8800", '"status":"ok"'),
    ],
)
def test_a_plain_request_with_the_name_of_a_site_is_the_sites(door: Door, path: str, host: str, expected: str) -> None:
    with httpx.Client(trust_env=False, base_url=f"http://127.0.0.1:{door.port}") as client:
        assert expected in client.get(path, headers={"Host": host}).text


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://en.openlexicon.org/robots.txt", b"127.0.0.1", b"200"),
        (b"http://en.openlexicon.org/robots.txt", b"unknown.example", b"200"),
        (b"http://user:word@en.openlexicon.org:80/robots.txt", b"x", b"200"),
        (b"http://en.openlexicon.org", b"x", b"301"),
        (b"http://en.openlexicon.org?a=b", b"x", b"404"),
        (b"https://en.openlexicon.org/robots.txt", b"x", b"200"),
        (b"http://unknown.example/robots.txt", b"en.openlexicon.org", b"502"),
    ],
)
def test_an_absolute_target_names_the_host(door: Door, target: bytes, host: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        client.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, host))
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.split()[1] == status, answer[:300]


def test_the_api_is_reached_through_the_proxy_too(door: Door) -> None:
    for name in ("webemu", f"127.0.0.1:{door.port}"):
        command = ["curl", "-sS", "--noproxy", "", f"http://{name}/health"]
        output = subprocess.run(command, env=door.env, capture_output=True, check=True).stdout
        assert json.loads(output)["status"] == "ok"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"CONNECT unknown.example:443 HTTP/1.1\r\n\r\n", b"502"),
        (b"CONNECT  HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT en.openlexicon.org:99999 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT [::1 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT a:443 HTTP/1.1\r\nX: " + b"x" * 70_000, b"431"),
        (b"GET http://unknown.example/ HTTP/1.1\r\nHost: unknown.example\r\n\r\n", b"502"),
        (
            b"POST http://en.openlexicon.org/ HTTP/1.1\r\nHost: en.openlexicon.org\r\nContent-Length: 2\r\n\r\nhi",
            b"405",
        ),
        (b"\xff\xfe\x00 nonsense nonsense\r\n\r\n", b"400"),
    ],
)
def test_what_cannot_be_is_refused(door: Door, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        client.sendall(sent)
        assert client.recv(200).split()[1] == status


def test_requests_arrive_in_pieces_and_plain_http_comes_through_a_tunnel(door: Door) -> None:
    request = b"GET /robots.txt HTTP/1.1\r\nHost: en.openlexicon.org\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        for byte in b"CONNECT en.openlexicon.org:80 HTTP/1.1\r\nHost: x\r\n\r\n":
            client.sendall(bytes([byte]))
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.sendall(request)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert b"User-agent: *" in answer
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        client.sendall(b"CONNECT en.openlexicon.org:80 HTTP/1.1\r\n\r\n" + request)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200") == 2


def test_a_hello_that_comes_with_connect_is_answered(door: Door) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = door.trusting().wrap_bio(incoming, outgoing, server_hostname="en.openlexicon.org")
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        client.sendall(b"CONNECT en.openlexicon.org:443 HTTP/1.1\r\n\r\n" + outgoing.read())
        received = client.recv(65536)
        assert received.startswith(b"HTTP/1.1 200")
        incoming.write(received.partition(b"\r\n\r\n")[2])
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(outgoing.read())
                incoming.write(client.recv(65536))
        tls.write(b"GET /robots.txt HTTP/1.1\r\nHost: en.openlexicon.org\r\nConnection: close\r\n\r\n")
        client.sendall(outgoing.read())
        assert until_read(client, tls, incoming).startswith(b"HTTP/1.1 200 OK")


def until_read(client: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO) -> bytes:
    while True:
        incoming.write(client.recv(65536))
        with suppress(ssl.SSLWantReadError):
            return tls.read(65536)


@pytest.mark.slow
def test_many_tunnels_at_once(door: Door) -> None:
    async def run() -> list[int]:
        proxy = httpx.Proxy(f"http://127.0.0.1:{door.port}")
        limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
        async with httpx.AsyncClient(
            proxy=proxy, verify=door.trusting(), trust_env=False, limits=limits, timeout=60
        ) as client:
            answers: list[Any] = await asyncio.gather(*(client.get(f"{WIKI}/wiki/Main_Page") for _ in range(400)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(run()) == [200] * 400


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to look at the certificate")
def test_certificates_name_the_host_and_verify(door: Door) -> None:
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{door.port}", "-CAfile", door.ca, "-verify_return_error"]
    completed = subprocess.run([*command, "-servername", "www.any.example"], input=b"", capture_output=True)
    assert b"Verify return code: 0 (ok)" in completed.stdout
    assert b"CN = www.any.example" in completed.stdout or b"CN=www.any.example" in completed.stdout


@pytest.mark.parametrize(("days", "code"), [(-29, b"0 (ok)"), (-31, b"9 "), (364, b"0 (ok)"), (366, b"10 ")])
def test_certificates_hold_though_the_clock_is_set(door: Door, days: int, code: bytes) -> None:
    when = str(int(time.time()) + days * 86_400)
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{door.port}", "-CAfile", door.ca, "-attime", when]
    completed = subprocess.run([*command, "-servername", "www.later.example"], input=b"", capture_output=True)
    assert b"Verify return code: " + code in completed.stdout


@pytest.mark.parametrize("expansion", ['"$(cat {})"', "$(cat {})"])
def test_the_flags_of_other_clients_do_no_harm_in_a_shell(door: Door, tmp_path: Path, expansion: str) -> None:
    """They follow the exports as comments, so that even without quotes every variable is set."""
    output = webemu("env", "--root", str(door.root), "--server", f"http://127.0.0.1:{door.port}")
    assert "#   Playwright: browser.new_context(ignore_https_errors=True)" in output
    (tmp_path / "env").write_text(output)
    script = f"eval {expansion.format(tmp_path / 'env')}; env"
    variables = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    exports = re.findall(r"^export (.*)$", output, re.MULTILINE)
    assert set(exports) <= set(variables)


@pytest.mark.skipif(not CHROMIUM, reason="no chromium is installed")
def test_playwright_needs_the_flag_that_is_printed(door: Door) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, env=door.env)
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.goto(f"{WIKI}/wiki/Main_Page")
        assert "OpenLexicon" in page.inner_text("body")
        browser.close()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="no Java with a compiler is installed")
def test_java_needs_the_options_that_are_printed(door: Door, tmp_path: Path) -> None:
    output = webemu("env", "--root", str(door.root), "--server", f"http://127.0.0.1:{door.port}")
    command = shlex.split(output.partition("#   Java: ")[2].partition("\n")[0])
    source = tmp_path / "Get.java"
    source.write_text(PRINT_PAGE)
    done = subprocess.run([*command, str(source), f"{WIKI}/wiki/Main_Page"], capture_output=True, text=True)
    assert "OpenLexicon" in done.stdout, done.stderr


def test_the_key_is_its_owners_alone(door: Door, tmp_path: Path) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (door.root / "ca").iterdir()}
    assert modes == {"ca.key": 0o600, "ca.p12": 0o600, "ca.pem": 0o600, "wgetrc": 0o600}
    assert "PRIVATE" not in webemu("ca", "--root", str(door.root), "--export", str(tmp_path / "copy.pem"))
    assert (tmp_path / "copy.pem").read_bytes() == Path(door.ca).read_bytes()
