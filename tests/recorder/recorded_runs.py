"""Runs that are recorded against sites on loopback, ingested, and replayed sealed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.recorder.sites import http2_site, plain_and_tls
from tests.sealed_runs import WEBEMU
from webemu.ingest.run import run as ingest_sources
from webemu.ingest.sources import expand_sources

HOSTS = ("shop.example", "api.shop.example", "google.serper.dev")


@contextmanager
def lead_to_sites(folder: Path) -> Iterator[list[str]]:
    """Serve the sites; yield the options of `webemu record` that lead the names of live ones to them."""
    with plain_and_tls(folder) as (plain, secure, authority), http2_site(folder) as two:
        ports = {80: plain, 443: secure}
        pairs = [f"{host}:{port}:127.0.0.1:{ports[port]}" for host in HOSTS for port in ports]
        pairs += [f"two.example:443:127.0.0.1:{two}", "closed.example:80:127.0.0.1:1"]
        yield ["--trust", str(authority), *[word for pair in pairs for word in ("--resolve", pair)]]


def webemu(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*WEBEMU, *arguments], capture_output=True, text=True, timeout=240)


def record(folder: Path, options: list[str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    where = ["--root", str(folder / "root"), "--collection", "taped", "--out", str(folder / "recordings")]
    return webemu("record", *where, *options, *arguments)


def replay(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return webemu("run", "--root", str(folder / "root"), "--collection", "taped", "--", *command)


def ingest_recordings(folder: Path) -> None:
    sources = expand_sources([str(folder / "recordings")]).sources
    ingest_sources(sources, folder / "root" / "taped", 1, quiet=True)
