"""`webemu audit-leak`: nothing is found where nothing leaks, and every leak that is planted is found."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from tests.api.leaking import CLEAN, OPEN, Probe
from tests.api.test_as_of import CUTOFF, LATE, app_of
from tests.api.test_listener_rules import ask_all
from tests.crawls import CaptureSpec, html
from tests.seeds import every_nth
from webemu.api.audit import as_of
from webemu.api.audit.as_of import RULES, AuditReport, audit_as_of
from webemu.api.audit.requests import Draw, draw_requests, list_templates
from webemu.api.dialects import DIALECTS
from webemu.api.sessions import routes as session_routes
from webemu.emulator import ranking
from webemu.emulator.cli import app
from webemu.emulator.dates import parse_time
from webemu.emulator.policy import parse_policy
from webemu.emulator.policy_filter import BlockChecker, FilteredPageStore, FilteredPlan
from webemu.emulator.ranking import is_visible
from webemu.emulator.session import encode_inline_policy
from webemu.index import cut
from webemu.index.engine import RankEngine

MOMENT = parse_time(CUTOFF)
QUESTION = "Which bell of Aldmere rang thirteen times before the flood took the lower quay?"
MIXED = [
    CaptureSpec("https://mixed.example/", html("Ferry", "The ferry leaves at noon."), 3),
    CaptureSpec("https://mixed.example/", html("Ferry", "The brimstone ferry leaves no more."), 28),
]
"""A page that changed, both captures in one file."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("audited")
    app_of(root, CLEAN, LATE, MIXED)
    return root / "c"


@pytest.fixture(scope="module")
def past(collection: Path) -> str:
    """The snapshot of the past, which all audits share but those whose cut is wrong."""
    return cut.cut_snapshot(collection, MOMENT)


def audit(collection: Path, requests: int, *doors: str) -> AuditReport:
    return audit_as_of(collection, MOMENT, requests, 1, doors)


def test_nothing_is_found_where_nothing_leaks(collection: Path) -> None:
    report = audit(collection, 1000)
    assert report.findings == []
    assert report.captures == (5, len(LATE) + 1)
    assert report.latest < MOMENT
    assert report.later_words > 50
    assert report.strict_searches > 50
    assert len(report.first_pages) > 20
    assert {dialect.name for dialect in DIALECTS} < set(report.doors)


def test_all_requests_are_equal_for_equal_seeds() -> None:
    def draws(random: Any) -> Draw:
        return Draw(str(random.random()), f"{OPEN}/", "20240102120000")

    first, again, other = (list(draw_requests(draws, 300, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len({request.door for request in first}) == len({template.door for template in list_templates()})


Plant = Callable[[pytest.MonkeyPatch], None]


def unfiltered(name: str, owner: type = FilteredPageStore, inner: str = "_page_store") -> Plant:
    """Return what takes the filter off one method of a page store or ranker."""

    def call(self: Any, *values: Any) -> Any:
        return getattr(getattr(self, inner), name)(*values)

    return lambda patch: patch.setattr(owner, name, call)


def replaced(owner: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def wrong_days(self: BlockChecker, time: int) -> bool:
    """Compare as a checker whose clock is ten days late."""
    return self.cutoff is not None and time > self.cutoff + 10 * 86_400


def whole_archives(self: BlockChecker, archives: Any) -> Any:
    return archives


def leaky_search(patch: pytest.MonkeyPatch) -> None:
    """Take both filters off every search: that of the session, and that of the moment."""
    patch.setattr(FilteredPlan, "is_blocked", lambda self, doc: False)
    patch.setattr(ranking, "is_visible", lambda since, until, moment: is_visible(since, until, None))


def linked_search(patch: pytest.MonkeyPatch) -> None:
    """Search the texts of links as of a day, too."""
    plan = RankEngine.plan
    patch.setattr(RankEngine, "plan", lambda self, parsed: plan(self, replace(parsed, is_dated=False)))


def forgotten_moment(patch: pytest.MonkeyPatch) -> None:
    """Open sessions without the moment that their policy names."""
    patch.setattr(session_routes, "parse_policy", lambda text: replace(parse_policy(text), as_of=None))


def later_by(days: int) -> Plant:
    """Return what cuts snapshots some days too late."""
    copy_sql = "INSERT INTO captures SELECT * FROM whole.captures WHERE floor(epoch(fetch_time)) <= {until} + "
    return replaced(cut, "_COPY_CAPTURES", f"{copy_sql}{days * 86_400}")


def later_links(patch: pytest.MonkeyPatch) -> None:
    """Copy links whose page is later: the snapshot of the past knows what they say."""

    def copy(db: Any, until: int) -> None:
        db.execute(cut._COPY_CAPTURES.format(until=until))
        db.execute(cut._COPY_ROWS.format(table="pages"))
        source = "(SELECT min(source_id) FROM captures)"
        offset = f"(SELECT min(warc_record_offset) FROM captures WHERE source_id = {source})"
        replaced_columns = f"{source} AS source_id, {offset} AS warc_record_offset"
        db.execute(f"INSERT INTO links SELECT * REPLACE ({replaced_columns}) FROM whole.links")
        db.execute(cut._COPY_SOURCES.format(until=until))

    patch.setattr(cut, "_copy_tables", copy)


LEAKS: dict[str, tuple[Plant, tuple[str, ...]]] = {
    "pages by URL": (unfiltered("exact"), ("web",)),
    "pages by canonical URL": (unfiltered("canonical"), ("fetch", "web", "replay")),
    "pages by SURT": (unfiltered("surt"), ("cdx", "replay")),
    "pages by loose key": (unfiltered("by_loose_key"), ("web", "fetch")),
    "pages of errors": (unfiltered("error_page_of"), ("web",)),
    "lists of URLs": (unfiltered("listing"), ("cdx",)),
    "hosts": (unfiltered("knows_host"), ("web",)),
    "lists of files": (unfiltered("archives"), ("list of crawls",)),
    "ends of files": (replaced(BlockChecker, "date_archives", whole_archives), ("list of crawls",)),
    "pieces of files": (unfiltered("bytes_of"), ("records",)),
    "captures, everywhere": (replaced(BlockChecker, "is_capture_blocked", lambda self, capture: False), ("replay",)),
    "results": (leaky_search, ("search",)),
    "results of services": (leaky_search, ("serper",)),
    "results of MCP": (leaky_search, ("mcp",)),
    "results for people": (leaky_search, ("results",)),
    "a page, by time of its capture": (replaced(BlockChecker, "_is_after_cutoff", wrong_days), ("fetch",)),
    "words of later links": (linked_search, ("search",)),
    "duplicates": (leaky_search, ("exa",)),
    "no moment, pages": (forgotten_moment, ("view",)),
    "no moment, services": (forgotten_moment, ("tavily",)),
    "no moment, papers": (forgotten_moment, ("arxiv",)),
    "a cut that is late": (later_by(10), ("search",)),
    "a cut that knows later links": (later_links, ("search",)),
}
"""Leaks by name: how each is planted, and doors that show it."""


@pytest.mark.parametrize("name", every_nth(LEAKS, 3))
def test_a_leak_that_is_planted_is_found(
    name: str, collection: Path, past: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, doors = LEAKS[name]
    if name.startswith("a cut"):
        app_of(tmp_path, CLEAN, LATE, MIXED)
        collection = tmp_path / "c"
    else:
        monkeypatch.setattr(as_of, "cut_snapshot", lambda *_: past)
    plant(monkeypatch)
    findings = audit(collection, 100, *doors).findings
    assert {finding.rule for finding in findings} <= set(RULES)
    assert findings


def run(collection: Path, *options: str) -> tuple[int, str]:
    """Run the command and return its exit status and what it printed."""
    place = ["--root", str(collection.parent), "--collection", collection.name]
    result = CliRunner().invoke(app, ["audit-leak", *place, "--quiet", *options])
    return result.exit_code, result.output or str(result.exception)


def test_the_command_says_what_it_found(collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--as-of", CUTOFF, "--requests", "60", "--door", "web", "--door", "serper"]
    status, text = run(collection, *options)
    assert status == 0, text
    assert "60 requests: 0 answers differ" in text
    assert "FOUND" not in text
    leaky_search(monkeypatch)
    status, text = run(collection, *options, "--out", str(tmp_path / "found.jsonl"))
    assert status == 1
    assert "FOUND later-text: " in text
    findings = [orjson.loads(line) for line in (tmp_path / "found.jsonl").read_bytes().splitlines()]
    assert {row["rule"] for row in findings} <= set(RULES)
    assert any("quillmarble" in row["detail"] for row in findings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say what to audit"),
        (("--as-of", CUTOFF, "--tasks", "tasks.jsonl"), "say what to audit"),
        (("--as-of", CUTOFF, "--policy-out", "policy.json"), "needs --tasks"),
        (("--as-of", "2030-01-01"), "no capture later"),
        (("--as-of", "1999-01-01"), "no capture of"),
        (("--as-of", CUTOFF, "--door", "sarper"), "no door 'sarper'"),
        (("--tasks", "nothing.jsonl"), "nothing.jsonl"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(collection: Path, options: tuple[str, ...], message: str) -> None:
    status, text = run(collection, *options)
    assert status
    assert message in text


GIVEAWAYS = [
    CaptureSpec("https://quiz.example/plain", html("Quiz", f"{QUESTION} The answer: the tide bell.")),
    CaptureSpec("https://quiz.example/attribute", html("Quiz", f'<p data-q="{QUESTION}" data-a="The Tide Bell">…')),
    CaptureSpec("https://quiz.example/comment", html("Quiz", f"<!-- {QUESTION.upper()} TIDE-BELL -->")),
    CaptureSpec("https://quiz.example/json", html("Quiz", f'<script>{{"q": "{QUESTION}", "a": "tide bell"}}</script>')),
    CaptureSpec("https://quiz.example/data", f'{{"q": "{QUESTION}", "a": "tide bell"}}', mime="application/json"),
    CaptureSpec("https://quiz.example/open", html("Quiz", f"{QUESTION} Nobody knows.")),
    CaptureSpec("https://aldmere.example/", html("Aldmere", "The tide bell of Aldmere rang before the flood.")),
    CaptureSpec("https://source.example/", html("Chronicle", f"{QUESTION} It was the tide bell.")),
]
"""Pages that repeat the question with its answer, and three that do not give it away or are its evidence."""


def test_pages_that_give_tasks_away_are_found_and_hidden(tmp_path: Path) -> None:
    app_of(tmp_path, GIVEAWAYS)
    evidence = [{"url": "https://source.example/", "quote": "It was the tide bell."}]
    task = {"id": "t1", "question": QUESTION, "answers": ["the tide bell", "tide bell"], "evidence": evidence}
    other = {"question": "Which river flows past the town of Brackle?", "answers": "the Brack"}
    (tmp_path / "tasks.jsonl").write_text(f"{json.dumps(task)}\n\n{json.dumps(other)}\n")
    policy_file, out = tmp_path / "policy.json", tmp_path / "found.jsonl"
    options = ["--tasks", str(tmp_path / "tasks.jsonl"), "--policy-out", str(policy_file), "--out", str(out)]
    status, text = run(tmp_path / "c", *options)
    assert status == 1
    assert "2 tasks, 1 of them given away by 5 pages" in text
    assert "1 pages are named as evidence" in text
    urls = json.loads(policy_file.read_text())["blocked"]["urls"]
    assert urls == sorted(spec.url for spec in GIVEAWAYS[:5])
    assert {orjson.loads(line)["url"] for line in out.read_bytes().splitlines()} == {*urls, "https://source.example/"}
    (tmp_path / "again").mkdir()
    server = app_of(tmp_path / "again", GIVEAWAYS)
    session = {"X-Webemu-Session": encode_inline_policy(policy_file.read_bytes())}
    for spec in GIVEAWAYS:
        reply = ask_all(server, [(Probe("", "GET", spec.url), session)])[0]
        assert (reply.status_code == 200) == (spec.url not in urls)


def test_a_line_that_is_no_task_is_named(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"question": "Why?"}\n')
    status, text = run(collection, "--tasks", str(tmp_path / "tasks.jsonl"))
    assert status
    assert "line 1" in text


def test_sources_give_nothing_away(collection: Path, tmp_path: Path) -> None:
    tasks = [{"question": QUESTION, "answers": ["the tide bell"]}, {"question": "harbour bell", "answers": ["bell"]}]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    status, text = run(collection, "--tasks", str(tmp_path / "tasks.jsonl"))
    assert status == 0
    assert text.startswith("2 tasks, 0 of them given away by 0 pages\n5 pages say an answer and words of its question")
