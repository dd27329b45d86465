"""Fidelity of replay of the emulated web and of pywb, over the same WARC files.

python -m benchmarks.peers.replay_fidelity PYWB_BIN WARC...

`PYWB_BIN` is pywb's folder of programs. Captures are requested from both at their time: from webemu through its proxy,
from pywb as `/<collection>/<time>id_/<url>`. Headers are faithful if all headers of the origin are present by name and
value. Speed is compared in `benchmarks.peers.run`.
"""

from __future__ import annotations

import http.client
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urljoin

from benchmarks.peers.pywb import pywb, replayed
from benchmarks.peers.recorded import Headers, Recorded, captures, digest, plain, said
from webemu.api.bench.server import started
from webemu.emulator.config import Config

HOPS, SAMPLE = 20, 2000
"""Redirects that are followed, and captures that are compared."""


@dataclass(frozen=True)
class Answered:
    """Response of a server; status 0 if none came."""

    status: int
    headers: Headers
    body: bytes

    def get(self, name: str) -> str:
        """Return the first value of a header, empty if there is none. `name` is in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def decoded(self) -> bytes:
        """Body without its content coding."""
        return plain(self.body, self.get("content-encoding"))


Ask = Callable[[str, datetime], Answered]
"""Function that requests a URL at a time."""


def asking(port: int, target: Callable[[str, datetime], str]) -> Ask:
    """Return a function that makes one GET on a new connection; its answer has status 0 if none came."""

    def ask(url: str, moment: datetime) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.putrequest("GET", target(url, moment), skip_accept_encoding=True)
            connection.putheader("Accept-Datetime", format_datetime(moment, usegmt=True))
            connection.endheaders()
            response = connection.getresponse()
            return Answered(response.status, response.getheaders(), response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return Answered(0, [], b"")
        finally:
            connection.close()

    return ask


def stamped(url: str, moment: datetime) -> str:
    """Return pywb's request target of a page at a time."""
    return replayed(url, f"{moment:%Y%m%d%H%M%S}")


def truth(ask: Ask, prefix: str, known: list[Recorded]) -> tuple[Counter[str], dict[str, set[str]]]:
    """Request every capture; return the number that is faithful in each respect, and for each respect their URLs."""
    counts: Counter[str] = Counter()
    where: dict[str, set[str]] = {}
    for one in known:
        answer = ask(one.url, one.time)
        held = {"status": answer.status == one.status}
        if one.kind == "response":
            held["body"] = held["status"] and digest(answer.decoded) == one.body
        else:
            held["revisit with a body"] = held["status"] and bool(answer.body)
        held["headers"] = held["status"] and said(one.headers) <= said(answer.headers)
        if prefix:
            both = said(answer.headers) | said(answer.headers, prefix)
            held["headers under other names"] = held["status"] and said(one.headers) <= both
        held["all"] = all(value for name, value in held.items() if name != "headers under other names")
        for name, value in held.items():
            counts[name] += value
            where.setdefault(name, set())
            if value:
                where[name].add(f"{one.time:%Y%m%d%H%M%S} {one.url}")
    return counts, where


def chain(ask: Ask, one: Recorded, unwrap: Callable[[str], str]) -> str:
    """Return in words where a client that follows redirects ends."""
    url = one.url
    for _ in range(HOPS):
        answer = ask(url, one.time)
        location = answer.get("location")
        if not (300 <= answer.status < 400 and location):
            return "a page" if answer.status == 200 else f"status {answer.status}"
        url = unwrap(urljoin(url, location))
    return f"no end after {HOPS} hops"


def original(url: str) -> str:
    """Return the URL that a URL of pywb stands for."""
    return url.partition("id_/")[2] or url


def share(count: int, total: int) -> str:
    """Return a count and its share as text."""
    return f"{count:6,} of {total:,} ({count / max(total, 1):.1%})"


def compare(ours: Ask, theirs: Ask, known: list[Recorded]) -> None:
    """Print how faithful both servers are."""
    responses = sum(one.kind == "response" for one in known)
    revisits = len(known) - responses
    print(f"{responses:,} responses and {revisits:,} revisits asked for")
    mine, at_mine = truth(ours, "", known)
    other, at_other = truth(theirs, "x-archive-orig-", known)
    for name in ("status", "body", "revisit with a body", "headers", "headers under other names", "all"):
        total = {"body": responses, "revisit with a body": revisits}.get(name, len(known))
        told = "" if name == "headers under other names" else share(mine[name], total)
        print(f"  {name:<26} ours {told:<26} pywb {share(other[name], total)}")
    for name in ("status", "body"):
        for url in sorted(at_other[name] - at_mine[name])[:20]:
            print(f"  only pywb, {name}: {url}")
    asked = {f"{one.time:%Y%m%d%H%M%S} {one.url}" for one in known}
    for url in sorted(asked - at_mine["all"])[:20]:
        print(f"  ours not all true: {url}")
    redirects = [one for one in known if 300 <= one.status < 400 and one.status != 304]
    random.Random(7).shuffle(redirects)
    redirects = redirects[:500]
    for name, ends in (
        ("ours", Counter(chain(ours, one, str) for one in redirects)),
        ("pywb", Counter(chain(theirs, one, original) for one in redirects)),
    ):
        print(
            f"  {len(redirects)} redirects followed, {name}: "
            + ", ".join(f"{n} {end}" for end, n in ends.most_common())
        )


def main(programs: Path, warcs: list[Path]) -> None:
    """Ingest the files, start both servers and compare them."""
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        known = list({(one.url, one.time): one for one in captures(warcs)}.values())
        random.Random(7).shuffle(known)
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "ingest", *map(str, warcs), "--root", work, "-q"]
        subprocess.run([*command, "--collection", "bench"], check=True, capture_output=True)
        with started(Config(root=root, collection="bench")) as mine, pywb(programs, root / "pywb", warcs) as other:
            compare(asking(mine.port, lambda url, _: url), asking(other.port, stamped), known[:SAMPLE])


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
