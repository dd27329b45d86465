"""The docs say what the code does: settings, commands and their options, links, and names of modules and classes."""

import ast
import dataclasses
import importlib
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.emulator.cli import COMMANDS, app
from webemu.emulator.config import Config

HERE = Path(__file__).parents[1]
README = HERE / "README.md"
INDEX = HERE / "docs/index.md"
SETTINGS = HERE / "docs/settings.md"
GLOSSARY = HERE / "docs/glossary.md"
DECISIONS = HERE / "docs/decisions/README.md"
DOCS = sorted([README, *(HERE / "docs").rglob("*.md"), HERE / "ARCHITECTURE.md", *(HERE / "examples").glob("*.md")])
ROOMS = ("agent_client", "api", "benchmarks", "emulator", "index", "ingest", "recorder", "rl", "tests", "worlds")
FILES_NAMED_LIKE_MODULES = ("webemu.toml",)
REFERENCE = HERE / "docs/commands.md"
SERVICES = HERE / "docs/dialects.md"


def help_of(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="webemu", env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def test_the_settings_table_is_the_config() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| `(.+)` \|$", SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)
    source = (HERE / "emulator/config.py").read_text(encoding="utf-8")
    meanings = dict(re.findall(r'^    (\w+): .+\n    """(.+)"""$', source, re.MULTILINE))
    fields = dataclasses.fields(Config)
    assert rows == [(field.name, meanings[field.name], str(field.default)) for field in fields]


def test_the_command_reference_is_what_help_says(request: pytest.FixtureRequest) -> None:
    parts = [("webemu", help_of())]
    for name in COMMANDS:
        parts.append((f"webemu {name}", help_of(name)))
        for inner in re.findall(r"^  (\w+) {2,}", help_of(name).partition("\nCommands:\n")[2], re.MULTILINE):
            parts.append((f"webemu {name} {inner}", help_of(name, inner)))
    text = "# Commands\n\nWhat `--help` says, checked by `tests/test_docs.py`.\n"
    text += "".join(f"\n## {name}\n\n```text\n{help_text}\n```\n" for name, help_text in parts)
    if request.config.getoption("--update-golden"):
        REFERENCE.write_text(text, encoding="utf-8")
    assert REFERENCE.read_text(encoding="utf-8") == text


def test_every_table_begins_with_a_head() -> None:
    """Rows after an empty line are no table: they are shown as text."""
    for path in DOCS:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert re.match(r"\|.*\n\|[ :|-]+\|\n", table), f"{path.relative_to(HERE)}: {table[:80]}"


def test_help_shows_no_formatting_mark() -> None:
    """`\\b` keeps the lines of an example apart; written with two backslashes it is shown instead."""
    assert "\\b" not in REFERENCE.read_text(encoding="utf-8")


def row(dialect: Dialect) -> str:
    addresses = ", ".join(f"`{address}`" for address in (*dialect.hosts, f"/{dialect.name}/"))
    return f"| {dialect.service} | {addresses} | {dialect.setup_hint} | {', '.join(dialect.clients)} |\n"


def test_the_table_of_services_is_that_of_the_dialects(request: pytest.FixtureRequest) -> None:
    table = "| service | answers at | how a client is pointed here | run against it |\n|---|---|---|---|\n"
    table += "".join(map(row, sorted(DIALECTS, key=lambda dialect: dialect.service.lower())))
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
        options = (
            help_of(*words[:2])
            if words[0] in ("data", "judge", "snapshots", "tasks") and len(words) > 1
            else help_of(words[0])
        )
        unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in options]
        assert not unknown, line


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(HERE)))
def test_json_for_a_service_is_sent_as_json(path: Path) -> None:
    """curl sends `-d` as a form otherwise, which the services refuse as their originals do."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"^curl .*:8800/(?!v1/).* -d '\{.*$", text, re.MULTILINE)
    assert [line for line in lines if "Content-Type: application/json" not in line] == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(HERE)))
def test_links_in_the_docs_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if "://" not in target and not (path.parent / target).exists()] == []


def links_of(page: Path) -> list[Path]:
    """Files that a page links to, by their paths; `#anchors` and addresses of the web are left out."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    return [(page.parent / target).resolve() for target in targets if "://" not in target]


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = {README}, [README]
    while waiting:
        pages = [path for path in links_of(waiting.pop()) if path.suffix == ".md" and path.exists()]
        waiting += [path for path in dict.fromkeys(pages) if path not in reached]
        reached.update(pages)
    assert [str(page.relative_to(HERE)) for page in DOCS if page.resolve() not in reached] == []


def test_the_index_lists_every_page() -> None:
    assert [page for page in (HERE / "docs").glob("*.md") if page not in {INDEX, *links_of(INDEX)}] == []


def test_anchors_in_links_are_headings() -> None:
    for page in DOCS:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                text = (page.parent / target if target else page).read_text(encoding="utf-8")
                headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in headings], page


def test_the_readme_fits_in_two_screens() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 90


def test_the_list_of_decisions_is_complete(request: pytest.FixtureRequest) -> None:
    records = sorted(DECISIONS.parent.glob("[0-9]*.md"))
    titles = [record.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for record in records]
    lines = [f"- [{title}]({record.name})\n" for title, record in zip(titles, records, strict=True)]
    start = re.sub(r"^- .*\n", "", DECISIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if request.config.getoption("--update-golden"):
        DECISIONS.write_text(start + "".join(lines), encoding="utf-8")
    assert DECISIONS.read_text(encoding="utf-8") == start + "".join(lines)
    assert [title[:3] for title in titles] == [record.name[:3] for record in records]


def resolve_name(name: str) -> object:
    """Return a module or attribute by its dotted name. Raises AttributeError or ModuleNotFoundError."""
    module, *attributes = name.split(".")
    value: object = importlib.import_module(module)
    for part in attributes:
        module = f"{module}.{part}"
        if not hasattr(value, part) and isinstance(value, ModuleType):
            importlib.import_module(module)
        value = getattr(value, part)
    return value


def has_name(name: str) -> bool:
    """True if the dotted name is ours, or if its module is and only a package that it needs is missing."""
    try:
        resolve_name(name)
    except ModuleNotFoundError as error:
        return not (error.name or "webemu").startswith("webemu")
    except AttributeError:
        return False
    return True


def names_in(page: Path) -> list[str]:
    """Dotted names below `webemu.` that a page has in backticks, without patterns such as `webemu.*`."""
    return re.findall(r"`(webemu(?:\.\w+)+)(?:\(\))?`", page.read_text(encoding="utf-8"))


def paths_in(page: Path) -> list[str]:
    """Paths of files in our rooms that a page has in backticks."""
    return re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w./-]+\.\w+)`", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(HERE)))
def test_modules_and_classes_in_the_docs_exist(page: Path) -> None:
    assert [path for path in paths_in(page) if not (HERE / path).exists()] == []
    assert [name for name in names_in(page) if name not in FILES_NAMED_LIKE_MODULES and not has_name(name)] == []


@pytest.mark.parametrize("room", sorted({*ROOMS} - {"benchmarks", "tests"}))
def test_the_readme_of_a_room_names_modules_that_exist(room: str) -> None:
    names = {path.name for path in (HERE / room).rglob("*.py")}
    text = (HERE / room / "README.md").read_text(encoding="utf-8")
    assert sorted({*re.findall(r"(?<![\w*])\w+\.py\b", text)} - names) == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert not has_name("webemu.emulator.world.Wrold")
    assert not has_name("webemu.emulator.wrold.World")
    assert has_name("webemu.emulator.world.World.search")


def test_every_role_in_the_glossary_is_a_class() -> None:
    roles = re.findall(r"^\| `(webemu\.[\w.]+)` \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(roles) > 20
    assert [name for name in roles if not isinstance(resolve_name(name), type)] == []


def imports_in(source: str) -> list[str]:
    """Dotted names that a piece of Python imports, with the attributes that it reads of them."""
    names: dict[str, str] = {}
    nodes = list(ast.walk(ast.parse(source, feature_version=(3, 11))))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return [*names.values(), *(f"{names[node.value.id]}.{node.attr}" for node in attributes if node.value.id in names)]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(HERE)))
def test_python_in_the_docs_parses_and_imports_what_exists(page: Path) -> None:
    for source in re.findall(
        r"^```python[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        own_imports = [name for name in imports_in(source) if name.partition(".")[0] in ("webemu", *ROOMS)]
        assert [name for name in own_imports if not name.startswith("webemu.") or not has_name(name)] == [], source
