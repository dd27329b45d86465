"""All benchmarks, one after another: python -m benchmarks.run [FOLDER_OF_WARCS]

Without a folder the pages are generated (50,000 of a web that does not exist). What needs public collections runs only
where WEBEMU_SHARED names their folder, and the comparison with pywb where PYWB_BIN names its programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def step(*command: str) -> None:
    print(f"\n$ {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", *command], check=True)


def main(warcs: Path | None) -> None:
    with tempfile.TemporaryDirectory() as work:
        if warcs is None:
            step("emulator.cli", "generate", f"{work}/web", "--pages", "50000")
            warcs = Path(work) / "web"
        files = sorted(map(str, warcs.rglob("*.warc.gz")), key=lambda name: -Path(name).stat().st_size)
        step("benchmarks.ingest", files[0])
        step("emulator.cli", "ingest", str(warcs), "--root", work, "--collection", "bench", "-q")
        step("benchmarks.serve", f"{work}/bench")
        if programs := os.environ.get("PYWB_BIN"):
            step("benchmarks.replay", programs, files[0])
        else:
            print("\nreplay: not run, PYWB_BIN does not name the programs of an environment with pywb")
    print("\nrollouts: not run, it takes a run of `webemu train`: python -m benchmarks.rollouts RUN")
    print("soak: not run, it takes fifteen minutes: python -m benchmarks.soak")
    print("signals: not run, it takes known items: python -m benchmarks.signals COLLECTION_FOLDER KNOWN_ITEMS_FOLDER")
    step("benchmarks.client")
    step("benchmarks.episodes")
    if os.environ.get("WEBEMU_SHARED"):
        step("benchmarks.ranking")
        step("benchmarks.extraction")
    else:
        print("\nranking and extraction: not run, WEBEMU_SHARED does not name the folder of the collections")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
