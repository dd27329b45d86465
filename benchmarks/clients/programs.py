"""The programs of `examples/clients`: which clients they hold, and the environments that these need."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "clients"
"""Folder of the programs."""
CACHE = Path(__file__).parents[2] / ".clients"
"""Folder of the environments of npm; uv keeps those of Python in its own cache."""
_LIST_PACKAGES = (
    "from importlib.metadata import distributions; import json;"
    "print(json.dumps({package.name: package.version for package in distributions()}))"
)
"""Program that prints the installed packages of its interpreter."""
_JAVASCRIPT = re.compile(r"/\*\* (.+?) \*/\nexport async function (\w+)\((.*?)\)")
_SHELL = re.compile(r"^# (.+)\n(\w+)\(\) \{", re.MULTILINE)
_PARAGRAPH_OF_SLASHES = re.compile(r"\A((?://.*\n)+)")


class MissingTool(Exception):
    """A program that makes environments is not installed; the message says what to install."""


@dataclass(frozen=True)
class Client:
    """A function of a program, which uses one client."""

    function: str
    description: str
    """A sentence that says what it does and names the package."""
    has_pages: bool
    """True if it takes the number of a page of results."""

    @property
    def is_search(self) -> bool:
        """True if it searches; otherwise it reads a page."""
        return self.function.startswith("search")


@dataclass(frozen=True)
class Program:
    """A file of `examples/clients` with the clients of one framework."""

    file: Path
    name: str
    """Name of the framework's page, such as `langchain`."""
    title: str
    """Name of the framework, as it writes it."""
    introduction: str
    clients: tuple[Client, ...]
    packages: tuple[str, ...]
    """Names of the packages that it installs."""

    @property
    def source(self) -> str:
        """The program's text."""
        return self.file.read_text("utf-8")


@dataclass(frozen=True)
class Environment:
    """An installed program."""

    command: tuple[str, ...]
    """Command that runs it, to be followed by a function's name and its arguments."""
    versions: dict[str, str]
    """Versions of its packages by name."""


def list_programs(folder: Path = FOLDER) -> list[Program]:
    """Return the programs by name."""
    files = [*folder.glob("with_*.py"), *folder.glob("with_*.sh"), *folder.glob("*/clients.mjs")]
    return sorted(map(_parse, files), key=lambda program: program.name)


def install(program: Program) -> Environment:
    """Install the packages of a program, if they are not yet, and return how to run it.

    Raises `MissingTool` without uv or npm, and `subprocess.CalledProcessError` if a package cannot be installed.
    """
    if program.file.suffix == ".py":
        return _install_python(program)
    if program.file.suffix == ".mjs":
        return _install_javascript(program)
    versions = {name: _ask_version(name) for name in program.packages}
    return Environment(("sh", str(program.file)), versions)


def without_clients(program: Program, packages: Collection[str]) -> Program:
    """Return the program without the clients that are of these packages, as far as a function is named after one."""
    clients = (client for client in program.clients if client.function.partition("_")[2] not in packages)
    return replace(program, clients=tuple(clients))


def _parse(file: Path) -> Program:
    text = file.read_text("utf-8")
    name = (file.parent.name if file.suffix == ".mjs" else file.stem.removeprefix("with_")).replace("_", "-")
    if file.suffix == ".py":
        introduction, clients = _parse_python(text)
        packages = tuple(re.findall(r'^#   "([\w.-]+)', text, re.MULTILINE))
    elif file.suffix == ".mjs":
        introduction, clients = _parse_javascript(text)
        packages = tuple(json.loads(file.with_name("package.json").read_text("utf-8"))["dependencies"])
    else:
        introduction = text.partition("\n\n")[0].replace("# ", "").strip()
        clients = [Client(name, description, False) for description, name in _SHELL.findall(text)]
        packages = tuple(client.function.removeprefix("read_") for client in clients)
    title = re.split(r": |, ", introduction)[0].strip()
    return Program(file, name, title, introduction, tuple(clients), packages)


def _parse_python(text: str) -> tuple[str, list[Client]]:
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)]
    clients = [
        Client(node.name, (ast.get_docstring(node) or "").partition("\n")[0], len(node.args.args) > 1)
        for node in functions
    ]
    return ast.get_docstring(tree) or "", clients


def _parse_javascript(text: str) -> tuple[str, list[Client]]:
    heading = _PARAGRAPH_OF_SLASHES.match(text)
    introduction = heading[1].replace("// ", "").replace("\n", " ").strip() if heading else ""
    functions = _JAVASCRIPT.findall(text)
    clients = [Client(name, description, "," in parameters) for description, name, parameters in functions]
    return introduction.partition(": `node")[0], clients


def _install_python(program: Program) -> Environment:
    uv = _require("uv", "pip install uv")
    script = str(program.file)
    subprocess.run([uv, "sync", "--quiet", "--script", script], check=True, capture_output=True, text=True)
    find = subprocess.run([uv, "python", "find", "--script", script], check=True, capture_output=True, text=True)
    python = find.stdout.strip()
    listing = subprocess.run([python, "-c", _LIST_PACKAGES], check=True, capture_output=True, text=True)
    installed = json.loads(listing.stdout)
    names = {_normalize(name): version for name, version in installed.items()}
    return Environment((python, script), {name: names[_normalize(name)] for name in program.packages})


def _install_javascript(program: Program) -> Environment:
    npm = _require("npm", "install Node.js")
    manifest = program.file.with_name("package.json")
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{program.name}-{digest}"
    done = folder / "installed"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(manifest, folder)
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        done.touch()
    copy = shutil.copy(program.file, folder)
    return Environment(("node", str(copy)), json.loads(manifest.read_text("utf-8"))["dependencies"])


def _require(tool: str, action: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise MissingTool(f"there is no `{tool}` here\n  -> {action}")
    return path


def _ask_version(tool: str) -> str:
    """Return the version of a program of the system; empty if it is not installed."""
    if shutil.which(tool) is None:
        return ""
    for question in ("--version", "version"):  # the second is Go's
        text = subprocess.run([tool, question], capture_output=True, text=True, check=False).stdout
        if match := re.search(r"\d+(\.\d+)+", text):
            return match[0]
    return ""


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
