"""Make this Python look like one of macOS as far as our code can tell: no name that only Linux has, no /proc, processes
that are spawned, and `sys.platform`.

Python imports it at its start if its folder is in PYTHONPATH. Packages that choose their files by the platform are
imported first, since those of Linux are the ones that run here.
"""

from __future__ import annotations

import builtins
import importlib
import io
import multiprocessing
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

LINUX_ONLY = {
    "os": "sched_getaffinity sched_setaffinity posix_fadvise posix_fallocate memfd_create pidfd_open setns unshare "
    "copy_file_range getrandom eventfd splice getxattr setxattr listxattr fdatasync O_DIRECT O_PATH "
    "MFD_CLOEXEC CLONE_NEWNET",
    "socket": "SO_PEERCRED AF_NETLINK AF_PACKET AF_VSOCK SO_DOMAIN SO_PROTOCOL SO_INCOMING_CPU TCP_QUICKACK "
    "TCP_USER_TIMEOUT TCP_DEFER_ACCEPT IP_RECVORIGDSTADDR IP_TRANSPARENT",
    "select": "epoll",
    "signal": "sigtimedwait",
    "resource": "prlimit RUSAGE_THREAD",
    "fcntl": "F_ADD_SEALS F_GET_SEALS F_SETPIPE_SZ F_NOTIFY",
    "mmap": "MAP_POPULATE MADV_POPULATE_READ",
    "time": "CLOCK_BOOTTIME pthread_getcpuclockid",
}
"""Names that Python has on Linux alone, by their modules (its documentation: "Availability: Linux")."""
CHOOSING = (
    "asyncio", "ctypes.util", "duckdb", "ensurepip", "httpx", "lmdb", "multiprocessing.popen_spawn_posix", "numpy",
    "platform", "psutil", "pyarrow", "pypdfium2", "shutil", "subprocess", "sysconfig", "tantivy", "tqdm", "uvicorn",
    "uvloop", "webbrowser",
)  # fmt: skip
"""Modules that look at the platform when they are imported."""


def refuse_proc(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is without /proc; psutil, which reads the kernel of macOS there, still finds it."""

    @wraps(function)
    def answer(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(("/proc", "/sys/")) and not for_psutil():
            raise FileNotFoundError(2, "No such file or directory", os.fspath(path))
        return function(path, *arguments, **options)

    return answer


def for_psutil() -> bool:
    """True if psutil is among the callers."""
    frame = sys._getframe(2)
    for _ in range(6):
        if frame is None:
            return False
        if str(frame.f_globals.get("__name__", "")).startswith("psutil"):
            return True
        frame = frame.f_back
    return False


for name in CHOOSING:
    with suppress(ImportError):
        importlib.import_module(name)
for module, names in LINUX_ONLY.items():
    loaded = importlib.import_module(module)
    for name in names.split():
        if hasattr(loaded, name):
            delattr(loaded, name)
builtins.open = io.open = refuse_proc(builtins.open)
for name in ("listdir", "scandir", "stat", "lstat", "open", "readlink"):
    setattr(os, name, refuse_proc(getattr(os, name)))
sys.modules["inotify_simple"] = None  # type: ignore[assignment]
multiprocessing.set_start_method("spawn", force=True)
sys.platform = "darwin"
platform.system = lambda: "Darwin"
