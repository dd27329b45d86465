"""All benchmarks, one after another: python -m benchmarks.run [FOLDER_OF_WARCS]

Without a folder, a web of 50,000 pages is generated. Benchmarks of public collections run only if WEBEMU_SHARED names
their folder. Peers are measured if their environments are named: BM25_PYTHON, LUCENE_PYTHON (a Python), PYWB_BIN (a
folder of programs); see docs/bench.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH_OPTIONS = (
    "--cache-mb 0",
    "--cache-mb 0 --connections 1 --requests 5000",
    "--group 8",
    "--mix text --requests 50000",
    "--mix raw",
    "--mix retrieve --cache-mb 0 --batch 2560 --requests 5 --connections 1 --workers 2",
    "--door proxy",
    "--door connect",
)
"""Options of `webemu bench`."""


def run_module(*command: str) -> None:
    """Print and run a module. Raises CalledProcessError if it fails."""
    print(f"\n$ {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", *command], check=True)


def main(warcs: Path | None) -> None:
    """Run all benchmarks over the archives, or over a generated web."""
    with tempfile.TemporaryDirectory() as work:
        if warcs is None:
            run_module("webemu.emulator.cli", "generate", f"{work}/web", "--pages", "50000")
            warcs = Path(work) / "web"
        files = sorted(map(str, warcs.rglob("*.warc.gz")), key=lambda name: -Path(name).stat().st_size)
        run_module("benchmarks.ingest", files[0])
        run_module("webemu.emulator.cli", "ingest", str(warcs), "--root", work, "--collection", "bench", "-q")
        run_module("benchmarks.in_process", f"{work}/bench")
        collection_options = ["--root", work, "--collection", "bench", "-q"]
        for options in BENCH_OPTIONS:
            run_module("webemu.emulator.cli", "bench", *collection_options, *options.split())
        pywb = os.environ.get("PYWB_BIN", "")
        peers = {"--bm25": os.environ.get("BM25_PYTHON", ""), "--lucene": os.environ.get("LUCENE_PYTHON", "")}
        peer_options = [
            word for option, value in (peers | {"--pywb": pywb}).items() if value for word in (option, value)
        ]
        run_module("benchmarks.peers.run", f"{work}/bench", "--work", f"{work}/peers", *peer_options)
        if pywb:
            run_module("benchmarks.peers.replay_fidelity", pywb, files[0])
    print("\nrollouts: not run, needs a run of `webemu train`: python -m benchmarks.rollouts RUN")
    print("soak: not run, takes fifteen minutes: python -m benchmarks.soak")
    print("signals: not run, needs known items: python -m benchmarks.signals COLLECTION_FOLDER KNOWN_ITEMS_FOLDER")
    run_module("benchmarks.client")
    run_module("benchmarks.episodes")
    if os.environ.get("WEBEMU_SHARED"):
        run_module("benchmarks.ranking")
        run_module("benchmarks.extraction")
    else:
        print("\nranking and extraction: not run, WEBEMU_SHARED does not name the folder of the collections")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
