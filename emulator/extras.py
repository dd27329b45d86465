"""Names the extra that provides a missing package, and lets `--help` work without it.

The base install is the client; everything else is optional (pyproject.toml). A command whose packages are missing
still shows its options, because stubs take the place of those packages, and says what to install when it is run.
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
from urllib.parse import unquote, urlsplit

from webemu.emulator.errors import EmulatorError

EXTRAS = {
    "server": (
        "ada_url brotli cryptography dnslib duckdb fastapi fastapi_offline fastwarc html_to_markdown isal jinja2 lmdb"
        " markupsafe orjson prometheus_client psutil py3langid pyarrow pypdfium2 rapidfuzz rensa resiliparse"
        " selectolax starlette surt tantivy tldextract tqdm uvicorn uvloop w3lib warcio yaml zstandard"
    ).split(),
    "rl": ["extruct", "openai"],
    "train": "accelerate datasets huggingface_hub peft tensorboard tokenizers torch transformers trl".split(),
    "dense": ["numkong", "numpy", "safetensors", "scipy", "sentence_transformers", "usearch"],
    "measure": ["ir_measures"],
    "record": ["h2", "httpcore"],
    "ray": ["ray"],
    "gym": ["gymnasium"],
    "openenv": ["openenv"],
    "skyrl": ["skyrl_gym"],
    "verifiers": ["verifiers"],
    "verl": ["verl"],
    "tinker": ["tinker", "tinker_cookbook"],
}
"""Top-level modules by the extra that installs them. The extra `embed` lists its own packages for those that `train`
and `dense` share.
"""
POSIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
"""Modules of the standard library that Windows lacks."""
_EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}


def install_command(extras: Iterable[str]) -> str:
    """Return the command that installs some extras.

    webemu is on no package index, so the command uses the clone or the wheel that it was installed from.
    """
    extra = ",".join(sorted(set(extras), key=[*EXTRAS].index))
    source = _install_source()
    if source.endswith(".whl"):
        return f"pip install {shlex.quote(f'webemu[{extra}] @ file://{source}')}"
    command = f"pip install '.[{extra}]' -c constraints.txt"
    if not source:
        return f"in a clone of webemu: {command}"
    return command if Path(source) == Path.cwd() else f"cd {shlex.quote(source)} && {command}"


def missing_package_error(subject: str, modules: Sequence[str]) -> EmulatorError:
    """Return the error for missing modules that `subject` needs. It names the first one and all extras to install."""
    names = [_top_level_package(module) for module in modules]
    if absent := [name for name in names if name in POSIX_MODULES]:
        return EmulatorError(
            f"{subject} needs Linux or macOS: Python has no module {absent[0]!r} on this system",
            action="run it there, in WSL or in a container; the client alone runs on every system",
        )
    return EmulatorError(
        f"{subject} needs the package {names[0]!r}, which is not installed",
        action=install_command(_EXTRA_OF[name] for name in names),
    )


def missing_module(error: ImportError) -> str:
    """Return the module that an ImportError could not find; empty if it does not say, or if the module exists but is
    broken.
    """
    match = re.search(r"No module named '([\w.]+)'", str(error))
    return "" if error.path else error.name or (match[1] if match else "")


def is_optional(module: str) -> bool:
    """True if a module belongs to an extra, or is one that Windows lacks."""
    return _top_level_package(module) in _EXTRA_OF or _top_level_package(module) in POSIX_MODULES


def _top_level_package(module: str) -> str:
    """Return the top-level package of a module."""
    return module.partition(".")[0]


def _install_source() -> str:
    """Return the clone or the wheel that webemu was installed from; empty if it is no longer there."""
    clone = Path(__file__).resolve().parents[1]
    if (clone / "pyproject.toml").is_file():
        return str(clone)
    try:
        origin = json.loads(distribution("webemu").read_text("direct_url.json") or "{}")  # PEP 610
    except (PackageNotFoundError, ValueError):
        return ""
    path = Path(unquote(urlsplit(origin.get("url", "")).path))
    is_usable = path.suffix == ".whl" if path.is_file() else (path / "constraints.txt").is_file()
    return str(path) if is_usable and path.is_absolute() else ""


@contextmanager
def stub_missing_packages() -> Iterator[list[str]]:
    """Let missing optional modules be imported as stubs within the block; yield the list of those that were.

    Code imported this way can only show its options, and is forgotten when the block ends.
    """
    hidden = [name for name, module in sys.modules.items() if module is None and _top_level_package(name) in _EXTRA_OF]
    for name in hidden:  # None in sys.modules blocks an import before any finder is asked
        del sys.modules[name]
    finder, before = _StubFinder(set(hidden)), set(sys.modules)
    sys.meta_path.insert(0, finder)
    try:
        yield finder.missing
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if _top_level_package(name) in ("webemu", *finder.missing):
                del sys.modules[name]
        # Hide them again, as they were before the block.
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]


class _StubFinder(MetaPathFinder, Loader):
    """Import hook that provides a stub for each optional module that nobody else can import."""

    def __init__(self, hidden: set[str]) -> None:
        self.hidden = hidden
        self.missing: list[str] = []
        """Top-level packages that were stubbed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a stub for a missing optional module; None leaves the import to the other finders."""
        top = _top_level_package(fullname)
        if top not in self.missing:
            is_there = fullname not in self.hidden and self._is_importable(fullname, path, target)
            if fullname not in _EXTRA_OF or is_there:
                return None
            self.missing.append(top)
        return ModuleSpec(fullname, self, is_package=True)

    def _is_importable(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> bool:
        """True if another finder has the module; one that raises ImportError ends the search, as in a real import."""
        try:
            return any(one.find_spec(name, path, target) for one in sys.meta_path if one is not self)
        except ImportError:
            return False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: a stub has no code."""


class _StubModule(ModuleType):
    """A stub module: any public attribute of it is a stub value."""

    def __getattr__(self, name: str) -> _StubValue:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StubValue()


class _StubValue:
    """A stub for any class, function, decorator or value of a missing module."""

    def __call__(self, *arguments: object, **_: object) -> object:
        """Return the only argument if it is callable, as a decorator would; else the stub itself."""
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __getattr__(self, name: str) -> _StubValue:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> _StubValue:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return ()

    def __or__(self, _: object) -> _StubValue:
        return self

    __ror__ = __or__
