"""The docs say what the code does: settings, commands and their options, files that are linked to."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.emulator.cli import COMMANDS, app
from webemu.emulator.config import Config

HERE = Path(__file__).parents[1]
README = (HERE / "README.md").read_text(encoding="utf-8")
DOCS = sorted([HERE / "README.md", *(HERE / "docs").rglob("*.md"), HERE / "ARCHITECTURE.md"])
REFERENCE = HERE / "docs/commands.md"
SERVICES = HERE / "docs/dialects.md"


def help_of(*words: str) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="webemu", env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert shown.exit_code == 0, shown.output
    return "\n".join(line.rstrip() for line in shown.output.strip().splitlines())


def test_the_settings_table_is_the_config() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| `(.+)` \|$", README, re.MULTILINE)
    source = (HERE / "emulator/config.py").read_text(encoding="utf-8")
    said = dict(re.findall(r'^    (\w+): .+\n    """(.+)"""$', source, re.MULTILINE))
    fields = dataclasses.fields(Config)
    assert rows == [(field.name, said[field.name], str(field.default)) for field in fields]


def test_the_command_reference_is_what_help_says(request: pytest.FixtureRequest) -> None:
    parts = [("webemu", help_of())]
    for name in COMMANDS:
        parts.append((f"webemu {name}", help_of(name)))
        for inner in re.findall(r"^  (\w+) {2,}", help_of(name).partition("\nCommands:\n")[2], re.MULTILINE):
            parts.append((f"webemu {name} {inner}", help_of(name, inner)))
    text = "# Commands\n\nWhat `--help` says, checked by `tests/test_docs.py`.\n"
    text += "".join(f"\n## {name}\n\n```text\n{shown}\n```\n" for name, shown in parts)
    if request.config.getoption("--update-golden"):
        REFERENCE.write_text(text, encoding="utf-8")
    assert REFERENCE.read_text(encoding="utf-8") == text


def row(dialect: Dialect) -> str:
    addresses = ", ".join(f"`{address}`" for address in (*dialect.hosts, f"/{dialect.name}/"))
    return f"| {dialect.service} | {addresses} | {dialect.setup_hint} | {', '.join(dialect.clients)} |\n"


def test_the_table_of_services_is_that_of_the_dialects(request: pytest.FixtureRequest) -> None:
    table = "| service | answers at | how a client is pointed here | run against it |\n|---|---|---|---|\n"
    table += "".join(map(row, sorted(DIALECTS, key=lambda one: one.service.lower())))
    before, _, after = re.split(r"(^\|(?:.*\n\|)*.*\n)", SERVICES.read_text(encoding="utf-8"), maxsplit=1, flags=re.M)
    if request.config.getoption("--update-golden"):
        SERVICES.write_text(before + table + after, encoding="utf-8")
    assert SERVICES.read_text(encoding="utf-8") == before + table + after


def commands_in(path: Path) -> list[str]:
    """Shell lines of a page that call webemu."""
    fenced = "\n".join(re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    lines = fenced.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("webemu ")]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(HERE)))
def test_commands_in_the_docs_exist_with_their_options(path: Path) -> None:
    for line in commands_in(path):
        words = shlex.split(line, comments=True)[1:]
        assert words[0] in COMMANDS, line
        known = (
            help_of(*words[:2]) if words[0] in ("data", "snapshots", "tasks") and len(words) > 1 else help_of(words[0])
        )
        unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in known]
        assert not unknown, line


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(HERE)))
def test_links_in_the_docs_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if "://" not in target and not (path.parent / target).exists()] == []
