"""Says which extra of the distribution brings a package, and lets `--help` work where a package is missing.

The base install is the client; everything else is optional (pyproject.toml). A command whose packages are missing
still shows its options, with stand-ins in their place, and says what to install when it is run.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from webemu.emulator.errors import EmulatorError

EXTRAS = {
    "server": (
        "ada_url brotli cryptography dnslib duckdb fastapi fastapi_offline fastwarc html_to_markdown isal jinja2 lmdb"
        " markupsafe orjson prometheus_client psutil py3langid pyarrow pypdfium2 rapidfuzz rensa resiliparse rustworkx"
        " selectolax starlette surt tantivy tldextract tqdm uvicorn uvloop w3lib warcio zstandard"
    ).split(),
    "rl": ["extruct", "openai"],
    "train": "accelerate datasets huggingface_hub peft tensorboard tokenizers torch transformers trl".split(),
    "dense": ["numkong", "numpy", "sentence_transformers", "usearch"],
    "measure": ["ir_measures"],
    "ray": ["ray"],
    "gym": ["gymnasium"],
    "openenv": ["openenv"],
    "skyrl": ["skyrl_gym"],
    "verifiers": ["verifiers"],
    "verl": ["verl"],
}
"""Modules by the extra that brings them; `embed` names its own for those that `train` and `dense` share."""
POSIX = ("fcntl", "grp", "pwd", "resource", "termios")
"""Modules of Python that Windows does not have."""
_EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}


def install(extras: Iterable[str]) -> str:
    """Return the command that installs extras: webemu is on no index, so from the folder or wheel it came from."""
    extra = ",".join(sorted(set(extras), key=[*EXTRAS].index))
    place = _source()
    if place.endswith(".whl"):
        return f"pip install {shlex.quote(f'webemu[{extra}] @ file://{place}')}"
    line = f"pip install '.[{extra}]' -c constraints.txt"
    if not place:
        return f"in a clone of webemu: {line}"
    return line if Path(place) == Path.cwd() else f"cd {shlex.quote(place)} && {line}"


def absence(what: str, modules: Sequence[str]) -> EmulatorError:
    """Return the error for optional modules that `what` needs and that are missing: the first, and all their extras."""
    names = [_top(module) for module in modules]
    if absent := [name for name in names if name in POSIX]:
        return EmulatorError(
            f"{what} needs Linux or macOS: Python has no module {absent[0]!r} on this system",
            action="run it there, in WSL or in a container; the client runs everywhere",
        )
    return EmulatorError(
        f"{what} needs the package {names[0]!r}, which is not installed",
        action=install(_EXTRA_OF[name] for name in names),
    )


def name_of(error: ImportError) -> str:
    """Return the module that is missing; empty if the error does not tell, or if it is there and cannot be used."""
    match = re.search(r"No module named '([\w.]+)'", str(error))
    return "" if error.path else error.name or (match[1] if match else "")


def is_optional(module: str) -> bool:
    """True if a module is of an extra, or one that Windows does not have."""
    return _top(module) in _EXTRA_OF or _top(module) in POSIX


def _top(module: str) -> str:
    return module.partition(".")[0]


def _source() -> str:
    """Return the folder of the clone, or the wheel, that webemu was installed from; empty if that is not there."""
    here = Path(__file__).resolve().parents[1]
    if (here / "pyproject.toml").is_file():
        return str(here)
    try:
        origin = json.loads(distribution("webemu").read_text("direct_url.json") or "{}")  # PEP 610
    except (PackageNotFoundError, ValueError):
        return ""
    place = Path(unquote(urlsplit(origin.get("url", "")).path))
    is_there = place.suffix == ".whl" if place.is_file() else (place / "constraints.txt").is_file()
    return str(place) if is_there and place.is_absolute() else ""


@contextmanager
def stand_ins() -> Iterator[list[str]]:
    """Let optional modules that are missing be imported within the block; the list names them. Nothing works in what
    is imported so, except to say its options, and it is forgotten afterwards."""
    hidden = [name for name, module in sys.modules.items() if module is None and _top(name) in _EXTRA_OF]
    for name in hidden:  # an import of such a name asks no finder
        del sys.modules[name]
    finder, before = _Finder(set(hidden)), set(sys.modules)
    sys.meta_path.insert(0, finder)
    try:
        yield finder.missing
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if _top(name) in ("webemu", *finder.missing):
                del sys.modules[name]
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]


class _Finder(MetaPathFinder, Loader):
    def __init__(self, hidden: set[str]) -> None:
        self.hidden = hidden
        self.missing: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = _top(fullname)
        if top not in self.missing:
            is_there = fullname not in self.hidden and self._is_found(fullname, path, target)
            if fullname not in _EXTRA_OF or is_there:
                return None
            self.missing.append(top)
        return ModuleSpec(fullname, self, is_package=True)

    def _is_found(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> bool:
        """True if another finder has the module; one that refuses it ends the search, as in an import."""
        try:
            return any(one.find_spec(name, path, target) for one in sys.meta_path if one is not self)
        except ImportError:
            return False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Anything:
    """Stands for a class, a function, a decorator or a value of a module that is missing."""

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return ()

    def __or__(self, _: object) -> Any:
        return self

    __ror__ = __or__
