"""Turn what `pip freeze` prints into constraints: `name==version` lines, and nothing that names a machine.

`make constraints` runs it on a fresh environment of all extras. Lines that name a path, an index or a direct address
(`-e /home/...`, `name @ https://...`) are refused, since constraints must mean the same everywhere. The label of a
local build is dropped: torch 2.13.0+cpu and 2.13.0 are one release, and others have another build of it.

    python scripts/pin_versions.py frozen.txt > constraints.txt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADER = "# Every package the extras of pyproject.toml bring, pinned. Written by `make constraints`."
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.!]*)(\+[A-Za-z0-9.]+)?")


def pin_versions(frozen: str) -> str:
    """Return the constraints for the output of `pip freeze`, sorted by name.

    Raises ValueError for a line that is no released version.
    """
    pins = [_read_pin(line) for line in frozen.splitlines() if line.strip() and not line.startswith("#")]
    return "\n".join([HEADER, *(f"{name}=={version}" for name, version in sorted(pins))]) + "\n"


def _read_pin(line: str) -> tuple[str, str]:
    """Return the normalised name of a package (PEP 503) and its public version."""
    if not (pin := _PIN.fullmatch(line.strip())):
        raise ValueError(f"{line!r} is no released version: install it from an index, then run it again")
    return re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]


if __name__ == "__main__":
    try:
        sys.stdout.write(pin_versions(Path(sys.argv[1]).read_text(encoding="utf-8")))
    except ValueError as error:
        sys.exit(f"pin_versions: {error}")
