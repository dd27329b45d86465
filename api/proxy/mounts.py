"""Mounts of `webemu run`: files and folders of the machine are covered, in the mount namespace of the command alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def cover_folder(target: Path) -> None:
    """Lay a copy of an existing folder over it, in which files can be added. Raises EmulatorError.

    Symbolic links are copied as such, so relative ones must lead to places outside the folder or into the copy.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(target, copy, symlinks=True, ignore_dangling_symlinks=True)
        hide_folder(target)
        shutil.copytree(copy, target, symlinks=True, dirs_exist_ok=True)


@contextmanager
def ensure_folder(target: Path) -> Iterator[None]:
    """Create a folder to mount over if it is missing, and remove it at the end. Raises OSError.

    A folder that is removed takes the mounts over it away, in other namespaces too. Everybody who uses it therefore
    holds a shared lock, and it stays if another one still does, or if it is no longer empty.
    """
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    descriptor = _open_locked(target)
    try:
        yield
    finally:
        subprocess.run(["umount", str(target)], capture_output=True)  # fails if nothing was mounted
        with suppress(OSError):
            if missing:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for folder in missing:
                folder.rmdir()
        os.close(descriptor)


def _open_locked(target: Path) -> int:
    """Return a descriptor of a folder with a shared lock; create the folder, again if it is removed meanwhile."""
    while True:
        target.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # network file systems may know no locks; they refuse the exclusive one as well
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def _mount(*arguments: str) -> None:
    """Run mount(8). Raises EmulatorError if it fails."""
    completed = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if completed.returncode:
        raise EmulatorError(f"mount {' '.join(arguments)}: {completed.stderr.strip()}")
