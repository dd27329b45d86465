"""The command line as a newcomer meets it: `--help` with nothing installed, hints, suggestions, one line for errors."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from webemu.emulator import config, ending
from webemu.emulator.cli import COMMANDS, app
from webemu.emulator.extras import EXTRAS, install_command

HOUSE = Path(__file__).parents[2]
ROOMS = ("emulator", "index", "ingest", "worlds", "api", "agent_client", "rl")
OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules})

REFUSING = """
import sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Refusing())
{body}
"""
HIDING = """
import sys
sys.modules.update(dict.fromkeys({modules!r}))
{body}
"""
BARE = {"refusing": REFUSING, "hiding": HIDING}
"""Two ways in which a package may be missing; nothing of the base install is."""
EACH = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from webemu.emulator.cli import main
results = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["webemu", *words]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    results.append([words, code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


UNLOADED = """
import sys
for name in ("fcntl", "grp", "pwd", "termios"):
    sys.modules.pop(name, None)
"""


def leaves() -> Iterator[list[str]]:
    """Every command with the words that name it, from the command line itself."""
    command_group: Any = typer.main.get_command(app)
    for name in COMMANDS:
        inner = getattr(command_group.get_command(None, name), "commands", {})
        yield from [[name, one] for one in inner] or [[name]]


def bare(way: str, modules: list[str], *runs: list[str]) -> list[tuple[list[str], int, str, str]]:
    """Return the outcome of each run of `webemu` in a process that lacks some modules."""
    code = BARE[way].format(modules=modules, body=EACH)
    command = [sys.executable, "-P", "-c", code, json.dumps(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    return [tuple(one) for one in json.loads(done.stdout.splitlines()[-1])]


def options(text: str) -> list[str]:
    """Return the options that a help names; lines break elsewhere in each process."""
    return re.findall(r"--[a-z-]+", "".join(text.split()))


@cache
def help_here(*words: str) -> str:
    """Return a help as this process shows it, which has all packages."""
    return CliRunner().invoke(app, words, prog_name="webemu", env={"COLUMNS": "100"}).output


@pytest.mark.parametrize("way", ["hiding", pytest.param("refusing", marks=pytest.mark.slow)])
def test_every_help_is_shown_by_the_base_install(way: str) -> None:
    runs = [[*words, "--help"] for words in [*leaves(), *([name] for name in COMMANDS)]]
    for words, code, out, err in bare(way, OPTIONAL, *runs, ["--help"]):
        assert (code, err) == (0, ""), words
        assert options(out) == options(help_here(*words)), words


@pytest.mark.parametrize("way", ["refusing", pytest.param("hiding", marks=pytest.mark.slow)])
def test_every_command_says_what_to_install(way: str) -> None:
    free = {"demo", "doctor", "search", "fetch", "find", "mcp", "quiz", "data", "episodes", "serve-model"}
    free |= {"completion", "hosted-tools"}
    """These begin without any extra."""
    for words, code, _, err in bare(way, OPTIONAL, *(words for words in leaves() if words[0] not in free)):
        lines = err.splitlines()
        assert (code, len(lines)) == (1, 2), (words, err)
        assert "which is not installed" in lines[0]
        extra = {"tasks": "server,rl", "record": "server,record"}.get(words[0], "server")
        assert lines[1].endswith(f"pip install '.[{extra}]' -c constraints.txt"), words


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["tasks", "build", "--out", "t.jsonl"], "rl"),
        (["train", "--out", "{tmp}/run"], "train"),
        (["serve-model", "{tmp}/model"], "train"),
        (["hosted-tools", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "rl"),
        (["eval", "--tasks", "{tasks}", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--out", "{tmp}"], "rl"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_missing_extra_is_the_one_that_is_named(words: list[str], extra: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"id": "a", "question": "Who?", "answers": ["x"], "hops": 1}\n')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    filled = [word.format(tmp=tmp_path, tasks=tmp_path / "tasks.jsonl") for word in words]
    missing_modules = [module for extra, modules in EXTRAS.items() if extra != "server" for module in modules]
    [(_, code, _, err)] = bare("refusing", [one for one in missing_modules if one != "numpy"], filled)
    assert code == 1
    assert "Traceback" not in err
    assert err.splitlines()[-1].endswith(f"pip install '.[{extra}]' -c constraints.txt"), err


@pytest.mark.slow
def test_windows_has_the_client_and_every_help(tmp_path: Path) -> None:
    posix = ["fcntl", "grp", "pwd", "termios"]
    code = REFUSING.format(
        modules=posix, body="import webemu.agent_client, webemu.rl.environment, webemu.rl.tasks\n" + EACH
    )
    (tmp_path / "a.warc").write_bytes(b"")
    runs = [["--help"], *([*words, "--help"] for words in leaves())]
    runs.append(["ingest", str(tmp_path / "a.warc"), "--root", str(tmp_path)])
    command = [sys.executable, "-P", "-c", code.replace("import sys", UNLOADED, 1), json.dumps(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    *helps, refused = json.loads(done.stdout.splitlines()[-1])
    assert [one for one in helps if one[1]] == []
    assert refused[1] == 1
    assert "needs Linux or macOS: Python has no module 'fcntl'" in refused[3]


def _module(requirement: str) -> str:
    name = re.split(r"[<>=;[]", requirement)[0].replace("-", "_").lower()
    return {"pyyaml": "yaml"}.get(name, name)


def test_the_table_of_extras_is_that_of_the_project() -> None:
    extras = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra: {_module(one) for one in extras[extra]} for extra in EXTRAS}
    through = {"accelerate", "huggingface_hub", "tokenizers", "transformers", "markupsafe", "starlette"}
    """They come with packages that are named."""
    for extra, modules in EXTRAS.items():
        assert set(modules) - named[extra] <= through, extra
    for extra, packages in named.items():
        assert packages - {module for modules in EXTRAS.values() for module in modules} <= {
            "cachetools",
            "inotify_simple",
        }, extra


def test_every_package_that_is_imported_is_in_the_table() -> None:
    base = {"aiohttp", "httptools", "httpx", "httpx_aiohttp", "markdown_it", "pydantic", "pydantic_core", "typer"}
    imported = set()
    for path in (path for room in ROOMS for path in (HOUSE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    undeclared = imported - set(OPTIONAL) - base - {"webemu"} - set(sys.stdlib_module_names)
    assert undeclared <= {"inotify_simple", "tiktoken"}, "they are used where they are there, and never asked for"


def test_the_install_line_goes_to_the_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(HOUSE)
    assert install_command(["rl", "server"]) == "pip install '.[server,rl]' -c constraints.txt"
    monkeypatch.chdir(tmp_path)
    assert install_command(["rl"]) == f"cd {HOUSE} && pip install '.[rl]' -c constraints.txt"


def webemu(*words: str, **environ: str) -> tuple[int, str, str]:
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environ})
    return done.returncode, done.stdout, done.stderr


def test_the_version_is_told() -> None:
    code, out, _ = webemu("--version")
    assert (code, out) == (0, f"webemu {tomllib.loads((HOUSE / 'pyproject.toml').read_text())['project']['version']}\n")


@pytest.mark.parametrize(
    ("words", "suggestion"), [(["servr"], "serve"), (["snapshot", "list"], "snapshots"), (["snapshots", "lst"], "list")]
)
def test_a_misspelled_command_is_suggested(words: list[str], suggestion: str) -> None:
    code, _, err = webemu(*words)
    assert code == 2
    assert f"Did you mean '{suggestion}'" in err


def test_a_misspelled_variable_is_refused_by_every_command() -> None:
    for words in (["search", "x"], ["stat"]):
        code, _, err = webemu(*words, WEBEMU_WORKRES="3")
        assert code == 2
        assert "WEBEMU_WORKRES" in err
        assert "did you mean WEBEMU_WORKERS?" in err
    assert webemu("search", "--help", WEBEMU_WORKRES="3")[0] == 0


def test_every_variable_that_the_house_names_is_known() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=HOUSE, capture_output=True, text=True, check=True).stdout
    own_files = [path for path in map(HOUSE.joinpath, listed.splitlines()) if path.suffix != ".gz" and path.is_file()]
    named = {name for path in own_files for name in re.findall(rb"\bWEBEMU_[A-Z0-9_]*[A-Z0-9]", path.read_bytes())}
    documented = {f"WEBEMU_{name.upper()}" for name in config.Config.__dataclass_fields__} | config.OTHER_VARIABLES
    assert {name.decode() for name in named} - documented <= {
        *("WEBEMU_WORKRES", "WEBEMU_FOO", "WEBEMU_WEATHER"),  # misspelled on purpose, or the end of a header's name
        *("WEBEMU_COPY", "WEBEMU_COPY_1", "WEBEMU_COPY_2", "WEBEMU_COPY_3"),
    }


@pytest.mark.parametrize(
    ("environ", "words", "message"),
    [
        ({"WEBEMU_PORT": "abc"}, ["stat"], "port must be an integer, got 'abc' (from WEBEMU_PORT)"),
        ({"WEBEMU_PORT": "99999"}, ["stat"], "port must be between 0 and 65535, got 99999 (from WEBEMU_PORT)"),
        (
            {},
            ["serve", "--web-ports", "x"],
            "web_ports must be numbers between 0 and 65535, got 'x' (from --web-ports)",
        ),
        ({"WEBEMU_CONFIG": "/none.toml"}, ["stat"], "config file /none.toml does not exist (from WEBEMU_CONFIG)"),
    ],
)
def test_a_bad_setting_is_told_with_its_source(environ: dict[str, str], words: list[str], message: str) -> None:
    code, _, err = webemu(*words, **environ)
    assert code == 2
    assert err.splitlines()[0] == f"webemu: {message}"


def corrupt() -> Exception:
    try:
        duckdb.connect(str(HOUSE / "README.md"), read_only=True)  # a lock that others can share
    except duckdb.Error as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "message", "action"),
    [
        (OSError(28, "No space left on device", "/data/x"), "/data/x: No space left on device", "free space"),
        (duckdb.IOException('Could not write file "/x": No space left on device'), "IOException", "free space"),
        (duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block"), "Out of Memory", "more memory"),
        (duckdb.IOException("IO Error: Could not set lock on file"), "Could not set lock", "wait for the other"),
        (MemoryError(), "there is not enough memory", "fewer --workers"),
        (PermissionError(13, "Permission denied", "a"), "a: Permission denied", "owner"),
        (FileNotFoundError(2, "No such file or directory", "b"), "b: No such file", "a file that exists"),
        (corrupt(), "IOException: ", "WEBEMU_TRACEBACK"),
        (ValueError("two\nlines"), "ValueError: two lines", "WEBEMU_TRACEBACK"),
        (AssertionError(), "AssertionError", "WEBEMU_TRACEBACK"),
    ],
)
def test_any_error_is_a_line_and_what_to_do(
    error: Exception, message: str, action: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ending.print_error(error) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert message in lines[0]
    assert action in lines[1]
    monkeypatch.setenv("WEBEMU_TRACEBACK", "1")
    ending.print_error(error)
    assert capsys.readouterr().err.splitlines()[-2:] == lines


def test_a_damaged_catalog_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "catalog.duckdb").write_bytes(b"\0" * 40_000)
    code, _, err = webemu("stat", "--root", str(tmp_path))
    assert code == 1
    assert "Traceback" not in err
    assert err.startswith("webemu: ")


def test_a_disk_that_is_full_is_no_traceback() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert done.returncode


def test_an_interrupted_command_ends_with_130_and_a_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "search", "x"]
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen([*command, "--server", address], stderr=subprocess.PIPE, text=True)
        silent.accept()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "webemu: interrupted\n")
