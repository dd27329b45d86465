"""Mounts of `webemu run`: files and folders of the machine are covered, in the mount namespace of the command alone."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from webemu.emulator.errors import EmulatorError


def cover_file(target: Path, content: bytes) -> None:
    """Lay a file with this content over an existing one. Raises EmulatorError if the kernel refuses."""
    with tempfile.NamedTemporaryFile() as file:  # the mount outlives the name of the file
        file.write(content)
        file.flush()
        Path(file.name).chmod(0o644)
        _mount("--bind", file.name, str(target))


def hide_folder(target: Path) -> None:
    """Lay an empty folder over an existing one. Raises EmulatorError if the kernel refuses."""
    _mount("-t", "tmpfs", "-o", "mode=755", "webemu", str(target))


def _mount(*arguments: str) -> None:
    """Run mount(8). Raises EmulatorError if it fails."""
    completed = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if completed.returncode:
        raise EmulatorError(f"mount {' '.join(arguments)}: {completed.stderr.strip()}")
