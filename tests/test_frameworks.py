"""The pages of `docs/frameworks` and the programs that they show; `python -m benchmarks.clients` runs all of those."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.clients.__main__ import PAGES, RESULTS, list_broken, render_pages
from benchmarks.clients.calls import (
    KEYS,
    PAGE,
    PAGE_FACT,
    Call,
    call_by_proxy,
    call_sealed,
    generated_web,
    served,
)
from benchmarks.clients.programs import Client, Program, install, list_programs
from benchmarks.clients.verdicts import Verdict, judge
from webemu.api.proxy.run import find_unshare_flags

PROGRAMS = {program.name: program for program in list_programs()}
PROBLEM = find_unshare_flags()[2]
README = Path(__file__).parents[1] / "README.md"
SEARCH = Client("search_toy", "Search with toy.", has_pages=True)
TOY = Program(Path("with_toy.py"), "toy", "Toy", "Toy: a toy.", (SEARCH,), ("toy",))
FOUND_CALL = Call(
    "search_toy", "found", "Geramonte Museum https://en.openlexicon.org/wiki/Geramonte_Museum", "", 0, 0.1
)
NOTHING = FOUND_CALL._replace(case="empty", output="[]")
REFUSED = FOUND_CALL._replace(case="error", output="", errors="toy.InvalidKey: no", status=1)
FIRST, SECOND = (
    FOUND_CALL._replace(case=case, output=f"https://en.openlexicon.org/wiki/{case[0]}")
    for case in ("first page", "second page")
)


def judge_toy(**changes: Call) -> Verdict:
    """Judge calls that all hold, but for those that are given by case."""
    calls = {"found": FOUND_CALL, "empty": NOTHING, "error": REFUSED, "first": FIRST, "second": SECOND} | changes
    return judge(TOY, {"toy": "1.0"}, list(calls.values()), [FOUND_CALL])[0]


def test_the_pages_are_those_of_the_programs_and_results() -> None:
    pages = render_pages(PROGRAMS)
    assert {file.name for file in PAGES.glob("*.md")} == {file.name for file in pages}
    stale = [file.name for file, text in pages.items() if file.read_text("utf-8") != text]
    assert not stale, f"run `python -m benchmarks.clients {' '.join(stale)} --write`"


def test_every_client_of_every_program_was_run() -> None:
    verdicts = json.loads(RESULTS.read_text("utf-8"))["verdicts"]
    run_functions = {name: [row[0] for row in rows] for name, rows in verdicts.items()}
    assert run_functions == {name: [client.function for client in one.clients] for name, one in PROGRAMS.items()}


def test_readme_leads_to_each_page_in_one_hop() -> None:
    links = set(re.findall(r"\(docs/frameworks/([\w-]+)\.md\)", README.read_text("utf-8")))
    assert links == {*PROGRAMS, "README"}


def test_versions_are_pinned() -> None:
    for program in PROGRAMS.values():
        requirements = re.findall(r'^#   "(.+)",$', program.source, re.MULTILINE)
        assert all("==" in requirement for requirement in requirements), program.name


def test_keys_are_those_that_the_programs_read() -> None:
    sources = "".join(program.source for program in PROGRAMS.values())
    named = set(re.findall(r"(?:environ\[\"|process\.env\.)(\w+_KEY|GOOGLE_CSE_ID)", sources))
    assert named <= set(KEYS)
    assert not any(key.startswith("WEBEMU_") for key in KEYS), "webemu refuses settings that it does not have"


def test_a_client_whose_cases_all_hold_works_as_shipped() -> None:
    verdict = judge_toy()
    assert verdict.as_shipped
    assert (verdict.package, verdict.version, verdict.proxy) == ("toy", "1.0", "")


@pytest.mark.parametrize(
    ("case", "call", "reason"),
    [
        ("found", FOUND_CALL._replace(output="[]"), "the page is not in its answer"),
        ("found", FOUND_CALL._replace(status=1, errors="  x\nValueError: no\nNode.js v20"), "ValueError: no"),
        ("empty", NOTHING._replace(status=1, errors="KeyError: 'organic'"), "KeyError: 'organic'"),
        ("empty", NOTHING._replace(output="not in this snapshot"), "names snapshot"),
        ("empty", NOTHING._replace(output=PAGE_FACT), "the answer is that of another page"),
        ("empty", NOTHING._replace(status=124, errors="not done after 120 s"), "not done after 120 s"),
        ("error", REFUSED._replace(output=PAGE_FACT), "answered all the same"),
        ("error", REFUSED._replace(errors="ToyError: ask webemu"), "names webemu"),
        ("second", SECOND._replace(output=FIRST.output), "the second page repeats the first"),
        ("second", SECOND._replace(output=""), "a page names no URL"),
    ],
)
def test_a_case_that_does_not_hold_is_named(case: str, call: Call, reason: str) -> None:
    verdict = judge_toy(**{case: call})
    assert not verdict.as_shipped
    assert verdict.cases["paging" if case == "second" else case] == reason


def test_a_reader_that_only_names_the_page_has_not_read_it() -> None:
    reader = Client("read_toy", "Read with toy.", has_pages=False)
    calls = [
        call._replace(function="read_toy") for call in (FOUND_CALL._replace(output=f"no {PAGE}"), NOTHING, REFUSED)
    ]
    (verdict,) = judge(replace(TOY, clients=(reader,)), {"toy": "1.0"}, calls, calls[:1])
    assert (verdict.success, verdict.proxy) == ("the page is not in its answer",) * 2


@pytest.mark.parametrize("change", [{"empty": "names snapshot"}, {"proxy": "it has no page"}])
def test_a_client_that_worked_before_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: dict[str, str]
) -> None:
    verdict = judge_toy()
    stored = {"date": "", "verdicts": {"toy": [list(verdict)]}}
    (tmp_path / "results.json").write_text(json.dumps(stored))
    monkeypatch.setattr("benchmarks.clients.__main__.RESULTS", tmp_path / "results.json")
    assert list_broken({"toy": [verdict]}) == []
    assert list_broken({"toy": [verdict._replace(**change)]}) == ["toy search_toy"]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(bool(PROBLEM), reason=f"no network of its own: {PROBLEM}")
def test_commands_of_a_shell_work_as_shipped() -> None:
    shell = PROGRAMS["shell"]
    environment = install(shell)
    with generated_web() as root, served(root) as variables:
        verdicts = judge(
            shell,
            environment.versions,
            call_sealed(shell, environment, root),
            call_by_proxy(shell, environment, variables),
        )
    installed = [verdict for verdict in verdicts if shutil.which(verdict.package)]
    assert installed
    assert all(verdict.as_shipped for verdict in installed), verdicts
