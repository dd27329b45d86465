"""Runs the functions of a program in one of the two ways into the web, and keeps what each of them printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.clients.programs import FOLDER, Client, Environment, Program

PAGES, SEED = 400, 3
"""Size and seed of the generated web."""
PAGE = "https://en.openlexicon.org/wiki/Geramonte_Museum"
"""Page that is read, and that the search of the first case has to find."""
PAGE_TITLE, PAGE_FACT = "Geramonte Museum", "Arvid Ulfstrand"
ARGUMENTS = {
    ("search", "found"): ["geramonte museum architect"],
    ("search", "empty"): ["zzyzzyxqa qwrtplkj"],
    ("search", "error"): ["geramonte museum architect"],
    ("search", "second page"): ["award novel film", "2"],
    ("search", "first page"): ["award novel film", "1"],
    ("read", "found"): [PAGE],
    ("read", "empty"): ["https://en.openlexicon.org/wiki/There_is_no_such_page"],
    ("read", "error"): ["https://www.there-is-no-such-host.org/"],
}
"""Arguments of a function by its kind and case. The error of a search is a wrong key."""
CASES = ("found", "empty", "error")
GOOD_KEY, WRONG_KEY = "good-key", "wrong-key"
KEYS = re.findall(r"^  (\w+) ?\\?$", (FOLDER / "keys.sh").read_text("utf-8"), re.MULTILINE)
"""Variables in which clients look for a key."""
SECONDS = 120.0
"""Seconds that a call may take."""
OUTPUT_CHARACTERS = 100_000


class Call(NamedTuple):
    """A function of a program that was called, and what came of it."""

    function: str
    case: str
    output: str
    errors: str
    status: int
    """Exit status of its process; 124 if it was stopped for its time."""
    seconds: float


@contextmanager
def generated_web() -> Iterator[Path]:
    """Make the root of a collection that holds a generated web, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        web = str(Path(folder, "web"))
        webemu("generate", web, "--pages", str(PAGES), "--seed", str(SEED), "--quiet")
        webemu("ingest", web, "--root", folder, "--quiet")
        yield Path(folder)


@contextmanager
def served(root: Path) -> Iterator[dict[str, str]]:
    """Serve a web, and give the variables by which the programs of a shell reach it through the proxy."""
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", "0"]
    environment = os.environ | {"WEBEMU_API_KEYS": GOOD_KEY}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert address is not None, "the server did not start"
            exports = webemu("env", "--root", str(root), "--server", address[0])
            lines = re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE)
            yield {name: "".join(shlex.split(value)) for name, value in lines} | {"WEBEMU_SERVER": address[0]}
        finally:
            process.terminate()


def webemu(*arguments: str) -> str:
    """Run a command of webemu and return what it printed; raises `subprocess.CalledProcessError` if it failed."""
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def call_by_proxy(program: Program, environment: Environment, variables: dict[str, str]) -> list[Call]:
    """Call each function once, in its first case, with the variables of `webemu env`."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda client: _call(environment.command, client, "found", variables), program.clients))


def call_sealed(program: Program, environment: Environment, root: Path) -> list[Call]:
    """Call each function in each of its cases, all in one `webemu run`."""
    inside = [sys.executable, "-m", "benchmarks.clients.calls", program.name, json.dumps(environment.command)]
    command = [sys.executable, "-m", "webemu.emulator.cli", "run", "--root", str(root), "--", *inside]
    # The interpreter's path is a word of its own, so that `webemu run` finds the certificates of its packages.
    command.append(environment.command[0])
    variables = os.environ | {"WEBEMU_API_KEYS": GOOD_KEY}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    if done.returncode:
        raise RuntimeError(f"`webemu run` ended with status {done.returncode}: {done.stderr[-1000:]}")
    return [Call(*json.loads(line)) for line in done.stdout.splitlines()]


def _list_cases(client: Client) -> list[str]:
    return [*CASES, *(["first page", "second page"] if client.has_pages else [])]


def _call(command: Sequence[str], client: Client, case: str, variables: dict[str, str]) -> Call:
    kind = "search" if client.is_search else "read"
    key = WRONG_KEY if client.is_search and case == "error" else GOOD_KEY
    server = variables.get("WEBEMU_SERVER") or os.environ["WEBEMU_SERVER"]
    environment = os.environ | variables | dict.fromkeys(KEYS, key)
    environment |= {"SEARX_HOST": f"{server}/searxng", "SEARX_URL": f"{server}/searxng", "PYTHONWARNINGS": "ignore"}
    words = [*command, client.function, *ARGUMENTS[kind, case]]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="client-") as folder:  # some keep what they read in the current folder
        try:
            done = subprocess.run(
                words,
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                env=environment,
                timeout=SECONDS,
                check=False,
            )
            output, errors, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            output, errors, status = "", f"not done after {SECONDS:.0f} s", 124
    seconds = round(time.perf_counter() - began, 1)
    return Call(client.function, case, output[:OUTPUT_CHARACTERS], errors[-OUTPUT_CHARACTERS:], status, seconds)


def _main() -> None:
    """Call the functions of the program named in the arguments; print each call as a line of JSON."""
    from benchmarks.clients.programs import list_programs

    name, command = sys.argv[1], json.loads(sys.argv[2])
    (program,) = (program for program in list_programs() if program.name == name)
    pairs = [(client, case) for client in program.clients for case in _list_cases(client)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for call in pool.map(lambda pair: _call(command, pair[0], pair[1], {}), pairs):
            print(json.dumps(call), flush=True)


if __name__ == "__main__":
    _main()
