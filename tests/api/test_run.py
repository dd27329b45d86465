"""`webemu run`: a command in a network where nothing but the emulated web is reached, by names and without settings."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tests.sealed_runs import PAGE, PROBLEM, ingest_page, line, needs_network, python, run
from webemu.api.proxy.namespace_init import run_and_forward_signals

AS_USER = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
"""Root who may make a network only in a user namespace of his own, as all others may."""
needs_setpriv = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
TELL = "print(json.load(u.urlopen('http://webemu:8800/v1/stats'))['process']['pid'], flush=True)"
"""The process id of the server."""
ASKS = {
    "urllib": "import urllib.request as u; print(u.urlopen('https://a.example/').read().decode())",
    "http.client": (
        "import http.client, ssl; c = http.client.HTTPSConnection('a.example'); c.request('GET', '/')\n"
        "print(c.getresponse().read().decode())"
    ),
    "requests": "import requests; print(requests.get('https://a.example/').text)",
    "httpx": "import httpx; print(httpx.get('https://a.example/').text)",
    "aiohttp": (
        "import aiohttp, asyncio\n"
        "async def get():\n"
        "  async with aiohttp.ClientSession() as c, c.get('https://a.example/') as r: return await r.text()\n"
        "print(asyncio.run(get()))"
    ),
    "needs an address": (
        "import socket as s; print(s.getaddrinfo('a.example', 443, s.AF_INET, 0, 0, s.AI_ADDRCONFIG)[0][4])"
    ),
}
ADDRESSES = "import socket as s; print(*{i[4][0] for i in s.getaddrinfo('a.example', 443)})"
TRAFILATURA = """
import time, trafilatura
start = time.monotonic()
print(trafilatura.fetch_url("https://a.example/"))
assert time.monotonic() - start < 5, "the first page stalls"
"""
COMMANDS = {name: [sys.executable, "-c", code] for name, code in ASKS.items()} | {
    "curl": ["curl", "-sS", "http://a.example/"],
    "curl, tls": ["curl", "-sS", "https://a.example/"],
    "curl, unknown": ["curl", "-sS", "https://b.example/"],
    "curl, address": ["curl", "-sS", "http://198.51.100.1/"],
    "wget": ["wget", "-q", "-O-", "https://a.example/"],
    "node": ["node", "-e", "fetch('https://a.example/').then(async r => console.log(await r.text()))"],
    "resolv.conf": ["cat", "/etc/resolv.conf"],
    "all addresses": [sys.executable, "-c", ADDRESSES],
    "interfaces": ["cat", "/proc/net/dev"],
    "routes": ["cat", "/proc/net/route"],
    "trafilatura": [sys.executable, "-c", TRAFILATURA],
}
BARE = ["env", "-i", f"PATH={os.environ['PATH']}", "HOME=/nowhere"]
"""Beginning of a command that none of the variables reaches that `webemu run` sets."""
BARE_COMMANDS = {
    "curl": ["curl", "-sS", "https://a.example/"],
    "wget": ["wget", "-q", "-O-", "https://a.example/"],
    "urllib": [sys.executable, "-c", ASKS["urllib"]],
    "aiohttp": [sys.executable, "-c", ASKS["aiohttp"]],
    "requests": [sys.executable, "-c", ASKS["requests"]],
    "httpx": [sys.executable, "-c", ASKS["httpx"]],
    "openssl": [
        "openssl",
        "s_client",
        "-verify_return_error",
        "-CApath",
        "/etc/ssl/certs",
        "-connect",
        "a.example:443",
    ],
    "git": ["git", "ls-remote", "https://a.example/"],
}
ALL = """
import json, subprocess, sys
run = lambda command: subprocess.run(command, capture_output=True, text=True)
completed = {name: run(command) for name, command in json.load(sys.stdin).items()}
print(json.dumps({name: done.stdout + done.stderr for name, done in completed.items()}))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from ingest_page(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def outputs(root: Path) -> dict[str, str]:
    """Return the output of the commands that this machine has, from a single run, since each run starts a server."""
    if PROBLEM:
        pytest.skip(f"no network of its own: {PROBLEM}")
    here = {name: command for name, command in COMMANDS.items() if shutil.which(command[0])}
    here |= {f"bare {name}": [*BARE, *line] for name, line in BARE_COMMANDS.items() if shutil.which(line[0])}
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    done = run(line(root, *python(ALL)), input=json.dumps(here), env={**os.environ, **proxies})
    assert done.returncode == 0, done.stderr
    return {name: output.strip() for name, output in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", [*list(ASKS)[:5], "curl", "curl, tls", "wget", "node"])
def test_clients_without_settings_see_the_web(outputs: dict[str, str], name: str) -> None:
    if name not in outputs:
        pytest.skip(f"no {COMMANDS[name][0]} here")
    assert outputs[name] == PAGE


@pytest.mark.parametrize("name", BARE_COMMANDS)
def test_the_authority_is_where_programs_look_without_variables(outputs: dict[str, str], name: str) -> None:
    output = outputs.get(f"bare {name}")
    if output is None:
        pytest.skip(f"no {BARE_COMMANDS[name][0]} here")
    if name == "git":  # which is no client of pages: that it reads the answer is enough
        assert output.endswith("fatal: repository 'https://a.example/' not found")
    elif name == "openssl":
        assert "Verify return code: 0 (ok)" in output
    else:
        assert output == PAGE


def test_a_library_that_refuses_private_addresses_reads_a_page(outputs: dict[str, str]) -> None:
    assert outputs["trafilatura"] == PAGE


def test_addresses_look_public_and_nothing_leads_out(outputs: dict[str, str]) -> None:
    assert all(ip_address(text).is_global for text in outputs["all addresses"].split())
    assert [line.split(":")[0].strip() for line in outputs["interfaces"].splitlines()[2:]] == ["lo"]
    assert len(outputs["routes"].splitlines()) == 1, "there is a route besides those to this machine itself"


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_what_was_not_crawled_leads_nowhere(outputs: dict[str, str]) -> None:
    assert "Could not resolve host: b.example" in outputs["curl, unknown"]
    assert "198.51.100.1" in outputs["curl, address"]


def test_names_resolve_here_and_for_those_who_want_addresses_configured(outputs: dict[str, str]) -> None:
    assert outputs["resolv.conf"].endswith("nameserver 127.0.0.1")
    assert outputs["needs an address"] == "('22.146.192.128', 443)"
    assert "webemu" not in Path("/etc/resolv.conf").read_text(), "the machine's own file is as it was"


@needs_network
@needs_setpriv
def test_without_the_powers_of_root_the_command_has_none_over_the_network(root: Path) -> None:
    shell = "cat; curl -sS https://a.example/; id -u; nsenter -t 1 -n true; umount /etc/resolv.conf; exit 5"
    completed = run([*AS_USER, *line(root, "sh", "-c", shell)], input="said, ")
    assert completed.stdout == f"said, {PAGE}0\n"
    assert completed.returncode == 5
    assert "nsenter" in completed.stderr
    assert "umount" in completed.stderr


@pytest.mark.parametrize(
    ("command", "status"),
    [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -KILL $$"], 137), (["no-such-command"], 127), (["/"], 126)],
)
def test_the_status_is_what_a_shell_would_say(command: list[str], status: int) -> None:
    assert run_and_forward_signals(command, dict(os.environ)) == status


def test_the_end_of_the_command_is_seen_where_another_thread_takes_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may hand SIGCHLD to a thread that does not block it, and there it is lost."""
    wait, ended = signal.sigwaitinfo, threading.Event()

    def wait_late(signals: set[int]) -> Any:
        time.sleep(0.3)  # the command ends before anybody waits for the signal
        return wait(signals)

    monkeypatch.setattr(signal, "sigwaitinfo", wait_late)
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        assert run_and_forward_signals(["sh", "-c", "exit 7"], dict(os.environ)) == 7
    finally:
        ended.set()
        other.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number: int) -> None:
    waiting = f"signal.signal({int(number)}, lambda *_: sys.exit(7)); print(0, flush=True); time.sleep(60)"
    command = python("import signal, sys, time", waiting)
    outer = python(
        "import os, sys",
        "from webemu.api.proxy.namespace_init import run_and_forward_signals",
        f"sys.exit(run_and_forward_signals({command}, os.environ))",
    )
    with subprocess.Popen(outer, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        process.send_signal(number)
        assert process.wait(60) == 7


@needs_network
def test_a_run_that_is_stopped_ends_the_command_and_the_server(root: Path) -> None:
    waiting = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    code = python("import json, signal, sys, time, urllib.request as u", waiting, TELL, "time.sleep(60)")
    with subprocess.Popen(line(root, *code), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            server = int(process.stdout.readline())
            assert is_alive(server)
            process.terminate()
            assert process.wait(60) == 7
            assert not is_alive(server)
        finally:
            process.kill()


@needs_network
def test_the_server_ends_with_a_run_that_is_killed(root: Path) -> None:
    code = python("import json, sys, urllib.request as u", TELL, "sys.stdin.read(); print('late')")
    process = subprocess.Popen(line(root, *code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    server = int(process.stdout.readline())
    process.kill()
    process.wait(60)
    deadline = time.monotonic() + 60
    while is_alive(server):
        assert time.monotonic() < deadline, "the server outlived what it was for"
        time.sleep(0.05)
    process.stdin.close()
    assert process.stdout.read() == "late\n"


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@needs_network
@needs_setpriv
def test_where_user_namespaces_are_off_it_says_so() -> None:
    off = "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set -sys_admin "
    code = "from webemu.api.proxy.run import find_unshare_flags; print(find_unshare_flags())"
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", off + f'{sys.executable} -c "{code}"']
    output = run(command).stdout
    assert "user.max_user_namespaces is 0" in output
    assert "root lacks CAP_SYS_ADMIN" in output


def test_where_it_is_not_possible_it_says_what_else_is(root: Path) -> None:
    completed = run(line(root, "true"), env={"PATH": "", "HOME": "/"})
    assert completed.returncode == 2
    assert "there is no `unshare` here" in completed.stderr
    assert "docker-compose.yml" in completed.stderr
    assert "webemu env" in completed.stderr


def test_a_collection_with_nothing_to_serve_is_an_error(tmp_path: Path) -> None:
    completed = run(line(tmp_path, "true"))
    assert completed.returncode == 1
    assert "webemu ingest" in completed.stderr


@needs_network
def test_a_policy_holds_for_all_that_the_command_does(root: Path) -> None:
    (root / "policy.json").write_text('{"blocked": {"domains": ["a.example"]}}')
    command = line(
        root, "sh", "-c", "curl -sS -H 'X-Webemu-Session: me' http://a.example/; curl -sS $WEBEMU_SERVER/v1/stats"
    )
    command[command.index("--") : command.index("--")] = ["--policy", str(root / "policy.json")]
    ended = run(command)
    assert ended.returncode == 0, ended.stderr
    assert "The river port" not in ended.stdout
    assert "does not resolve" in ended.stdout
    assert "no-such-route" in ended.stdout


@needs_network
def test_a_policy_that_cannot_hold_stops_the_command(root: Path) -> None:
    for option, value, words in (
        ("--policy", "nowhere.json", "cannot be read"),
        ("--session", "ws-0123456789abcdef0123456789abcdef", "there is no session"),
    ):
        command = line(root, "true")
        command[command.index("--") : command.index("--")] = [option, value]
        ended = run(command)
        assert ended.returncode == 1, ended.stderr
        assert words in ended.stderr
