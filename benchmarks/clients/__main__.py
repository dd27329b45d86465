"""Runs published clients and frameworks, unmodified, against a served web, and writes what came of each.

python -m benchmarks.clients [NAME...] [--write]

Each program of `examples/clients` gets an environment of its own (uv and npm keep these). In `webemu run` each of its
functions is called with a query or a page that exists, with one that does not, with a wrong key or an unknown host, and
for two pages of results; then once by proxy. NAME limits the run to those pages of `docs/frameworks`. Without
`--write` the exit status is 1 if a client that worked when they were written does not now. With `--write`
the pages and `docs/frameworks/results.json` are written; other pages keep what they had.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.clients.calls import call_by_proxy, call_sealed, generated_web, served
from benchmarks.clients.pages import write_index, write_page
from benchmarks.clients.programs import MissingTool, Program, install, list_programs, without_clients
from benchmarks.clients.verdicts import Verdict, judge

PAGES = Path(__file__).parents[2] / "docs" / "frameworks"
RESULTS = PAGES / "results.json"
"""Verdicts of the last run of each program."""


def _main() -> int:
    programs = {program.name: program for program in list_programs()}
    parser = argparse.ArgumentParser("python -m benchmarks.clients", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"pages to run: {', '.join(programs)} [default: all]")
    parser.add_argument("--write", action="store_true", help="write the pages of docs/frameworks")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in programs]
    if unknown:
        parser.error(f"there is no page {', '.join(unknown)}")
    try:
        verdicts = run_programs([programs[name] for name in arguments.names or programs])
    except MissingTool as error:
        print(f"clients: {error}", file=sys.stderr)
        return 2
    broken = list_broken(verdicts)
    if arguments.write:
        write_pages(programs, verdicts)
    elif broken:
        print(f"clients: these worked when docs/frameworks was written: {', '.join(broken)}", file=sys.stderr)
        return 1
    return 0


def run_programs(programs: Sequence[Program]) -> dict[str, list[Verdict]]:
    """Run programs and print a line for each client; return the verdicts by name of the program.

    A program whose packages cannot be installed is named, and left out.
    """
    verdicts = {}
    with generated_web() as root, served(root) as variables:
        for program in programs:
            began = time.perf_counter()
            try:
                environment = install(program)
            except subprocess.CalledProcessError as error:
                print(f"# {program.title}: not installed: {str(error.stderr).strip()[-300:]}", flush=True)
                continue
            missing = [name for name, version in environment.versions.items() if not version]
            if missing:
                print(f"# {program.title}: not installed: {', '.join(missing)}", flush=True)
            sealed = call_sealed(program, environment, root)
            proxied = call_by_proxy(program, environment, variables)
            own_verdicts = judge(without_clients(program, missing), environment.versions, sealed, proxied)
            verdicts[program.name] = own_verdicts
            shipped = sum(verdict.as_shipped for verdict in own_verdicts)
            seconds = time.perf_counter() - began
            print(f"# {program.title}: {shipped} of {len(own_verdicts)} as shipped, {seconds:.0f} s", flush=True)
            for verdict in own_verdicts:
                _print_verdict(verdict)
    rows = [verdict for own_verdicts in verdicts.values() for verdict in own_verdicts]
    print(f"{sum(verdict.as_shipped for verdict in rows)} of {len(rows)} clients work as shipped")
    return verdicts


def list_broken(verdicts: Mapping[str, Sequence[Verdict]]) -> list[str]:
    """Return the clients that do not work as shipped, or by proxy, although they did when the pages were written."""
    stored = json.loads(RESULTS.read_text("utf-8"))["verdicts"] if RESULTS.exists() else {}
    earlier = {(name, row[0]): Verdict(*row) for name, rows in stored.items() for row in rows}
    return [
        f"{name} {verdict.client}"
        for name, program_verdicts in verdicts.items()
        for verdict in program_verdicts
        if (before := earlier.get((name, verdict.client)))
        and (before.as_shipped > verdict.as_shipped or bool(verdict.proxy) > bool(before.proxy))
    ]


def write_pages(programs: Mapping[str, Program], verdicts: Mapping[str, Sequence[Verdict]]) -> None:
    """Write the verdicts, and the pages of all programs that have some."""
    date = datetime.now(UTC).date().isoformat()
    PAGES.mkdir(exist_ok=True)
    earlier_verdicts = json.loads(RESULTS.read_text("utf-8"))["verdicts"] if RESULTS.exists() else {}
    merged = earlier_verdicts | {
        name: [list(verdict) for verdict in own_verdicts] for name, own_verdicts in verdicts.items()
    }
    content = {"date": date, "verdicts": {name: merged[name] for name in sorted(merged) if name in programs}}
    RESULTS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for file, text in render_pages(programs).items():
        file.write_text(text, "utf-8")


def render_pages(programs: Mapping[str, Program]) -> dict[Path, str]:
    """Return the text of each page by its file, as the stored verdicts have it."""
    content = json.loads(RESULTS.read_text("utf-8"))
    verdicts = {name: [Verdict(*row) for row in rows] for name, rows in content["verdicts"].items()}
    pages = {PAGES / f"{name}.md": write_page(programs[name], own_verdicts) for name, own_verdicts in verdicts.items()}
    return pages | {PAGES / "README.md": write_index(programs, verdicts, content["date"])}


def _print_verdict(verdict: Verdict) -> None:
    failures = "; ".join(f"{case}: {reason}" for case, reason in verdict.cases.items() if reason not in {"", "-"})
    print(f"  {verdict.client:24} {verdict.package} {verdict.version:12} {failures or 'as shipped'}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(_main())
