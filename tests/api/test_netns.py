"""Sealed, counted in packets: a server and its agent in network namespaces, as docker-compose.yml arranges containers.

    [agent] --veth-- [server] --uplink-- [outside]

The server has a default route over the uplink, so that whatever it sent to anyone but the agent would be counted there.
It runs without capabilities, on ports freed by the setting that the compose file uses.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.proxy.command import build_exports

HERE = Path(__file__)
SERVER, AGENT = "22.0.80.53", "22.0.80.2"
PAGE = html("Harbour", "The river port.")
SITES = [f"site-{number}.example" for number in range(8)]
NO_POWERS = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
REQUESTS = 120
"""The number of requests sent by each way: over the proxy, to names, to the API."""
LOAD = """
import asyncio, sys, httpx
sites, count = sys.argv[1].split(","), int(sys.argv[2])
async def ask(client, urls):
    answers = await asyncio.gather(*(client.get(url) for url in urls))
    return sum(answer.status_code == 200 for answer in answers)
async def run():
    pages = [f"https://{sites[number % len(sites)]}/" for number in range(count)]
    finds = [f"http://webemu:8800/v1/search?q=river+port&page={number % 9 + 1}" for number in range(count)]
    limits = httpx.Limits(max_connections=16)
    async with httpx.AsyncClient(limits=limits, proxy="http://webemu:8800", trust_env=True, timeout=60) as proxied:
        async with httpx.AsyncClient(limits=limits, timeout=60) as direct:
            print(await ask(proxied, pages), await ask(direct, pages), await ask(direct, finds))
            for url in ("http://elsewhere.test/", "http://198.51.100.7/"):
                try: await direct.get(url)
                except httpx.ConnectError: print("refused")
asyncio.run(run())
"""
CLIENTS = {
    "http.client": [
        sys.executable,
        "-c",
        "import http.client as h; c = h.HTTPSConnection('site-0.example'); c.request('GET', '/')\n"
        "print(c.getresponse().read().decode())",
    ],
    "requests": [sys.executable, "-c", "import requests; print(requests.get('https://site-1.example/').text)"],
    "curl": ["curl", "-sS", "https://site-2.example/"],
    "curl, plain": ["curl", "-sS", "http://site-3.example/"],
    "node": ["node", "-e", "fetch('https://site-4.example/').then(async r => console.log(await r.text()))"],
}


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


def why_not() -> str:
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "setpriv", "sysctl"))):
        return "needs root, ip, setpriv and sysctl"
    try:
        with namespace("probe"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr.strip()}"


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """A named network namespace, without IPv6, whose neighbour discovery would be packets nobody asked for."""
    name = f"webemu-{name}-{os.getpid()}"
    try:
        ip("netns", "add", name)
        within(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def within(name: str, *command: str) -> str:
    line = ["ip", "netns", "exec", name, *command]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def link(
    one_namespace: str, one_device: str, one_address: str, other: str, other_device: str, other_address: str
) -> None:
    """A cable between two namespaces."""
    ip("link", "add", one_device, "netns", one_namespace, "type", "veth", "peer", "name", other_device, "netns", other)
    for name, device, address in ((one_namespace, one_device, one_address), (other, other_device, other_address)):
        ip("-n", name, "address", "add", f"{address}/24", "dev", device)
        ip("-n", name, "link", "set", device, "up")


@contextmanager
def resolving(name: str, server: str) -> Iterator[None]:
    """Write the files that `ip netns exec` mounts over /etc/resolv.conf."""
    folder = Path("/etc/netns") / name
    is_new = not folder.parent.exists()
    folder.mkdir(parents=True)
    try:
        (folder / "resolv.conf").write_text(f"nameserver {server}\n")
        yield
    finally:
        shutil.rmtree(folder.parent if is_new else folder)


@dataclass(frozen=True)
class Closed:
    server: str
    agent: str
    env: dict[str, str]

    def sent(self, device: str) -> int:
        """Packets that the server has sent over a device, ARP and all."""
        statistics = json.loads(ip("-n", self.server, "-j", "-s", "link", "show", "dev", device))
        return int(statistics[0]["stats64"]["tx"]["packets"])

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", self.agent, *command], env=self.env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    if reason := why_not():
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("netns")
    ingest(root / "c", write(root / "a.warc.gz", [CaptureSpec(f"https://{site}/", PAGE) for site in SITES]))
    with ExitStack() as stack:
        server, agent, outside = (stack.enter_context(namespace(name)) for name in ("server", "agent", "outside"))
        link(server, "offline", SERVER, agent, "eth0", AGENT)
        link(server, "uplink", "10.53.81.2", outside, "eth0", "10.53.81.1")
        ip("-n", server, "route", "add", "default", "via", "10.53.81.1")
        within(server, "sysctl", "-qw", "net.ipv4.ip_unprivileged_port_start=0")
        stack.enter_context(resolving(agent, SERVER))
        stack.enter_context(serving(server, root))
        proxies = re.compile("(https?|all|no)_proxy", re.IGNORECASE)
        environment = {name: value for name, value in os.environ.items() if not proxies.fullmatch(name)}
        yield Closed(server, agent, {**environment, **build_exports(root)})


@contextmanager
def serving(name: str, root: Path) -> Iterator[None]:
    """Serve as the container does: on all addresses, with two workers."""
    place = ["--root", str(root), "--collection", "c", "--host", "0.0.0.0", "--open", "--workers", "2"]
    serve = [sys.executable, "-m", "webemu.emulator.cli", "serve", *place, "--web-ports", "80,443", "--dns-port", "53"]
    process = subprocess.Popen(["ip", "netns", "exec", name, *NO_POWERS, *serve], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert SERVER not in process.stdout.readline()
        assert "443, 53 (DNS)" in process.stdout.readline()
        ready = "import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=60)"
        within(name, sys.executable, "-c", ready, f"http://{SERVER}:8800/health")
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_without_settings_see_the_web(closed: Closed, name: str) -> None:
    if not shutil.which(CLIENTS[name][0]):
        pytest.skip(f"no {CLIENTS[name][0]} here")
    assert closed.ask(*CLIENTS[name]).strip() == PAGE


def test_names_have_addresses_that_guards_accept(closed: Closed) -> None:
    check = "import ipaddress, socket, sys; print(ipaddress.ip_address(socket.gethostbyname(sys.argv[1])).is_global)"
    assert closed.ask(sys.executable, "-c", check, SITES[0]).strip() == "True"


def test_the_server_sends_nothing_to_anyone_but_the_agent(closed: Closed) -> None:
    before = closed.sent("offline")
    lines = closed.ask(sys.executable, "-c", LOAD, ",".join(SITES), str(REQUESTS)).split()
    assert lines == [str(REQUESTS)] * 3 + ["refused"] * 2
    assert closed.sent("offline") - before > 3 * REQUESTS
    assert closed.sent("uplink") == 0


def test_a_packet_for_elsewhere_is_counted(closed: Closed) -> None:
    """The counter notices such a packet, so that the test above can fail. It runs after that test."""
    send = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('198.51.100.7', 53))"
    within(closed.server, sys.executable, "-c", send)
    deadline = time.monotonic() + 30
    while not closed.sent("uplink"):
        assert time.monotonic() < deadline, "it was not counted"
        time.sleep(0.05)


def test_the_arrangement_is_that_of_the_compose_file() -> None:
    compose = (HERE.parents[2] / "docker-compose.yml").read_text()
    assert f"ipv4_address: {SERVER}" in compose
    assert "net.ipv4.ip_unprivileged_port_start: 0" in compose
