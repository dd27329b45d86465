"""Users' own questions looked into, and collections cut out of others, through the real commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, write
from tests.rl.worlds import serving, webemu
from webemu.emulator.cli import app
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import PageRequest
from webemu.index.open import open_world
from webemu.rl.tasks import Evidence, Task, load, save
from webemu.rl.tasks.audit import bears_answer, build_claim, read_questions
from webemu.rl.tasks.cached_client import PageText
from webemu.rl.tasks.question_fields import FieldNames, parse_question_row
from webemu.rl.tasks.subset import write_subset

SITE = "https://facts.example"
PAGES = {
    f"{SITE}/wick": html("Wick - Facts", "Wick is a port.", "Its mayor is Bo Lund, its people are 9,421."),
    f"{SITE}/norby": html("Norby - Facts", "Norby is a port whose mayor is Per Dahl."),
    f"{SITE}/lund": html("Bo Lund (mayor)", "He was born on 4 May 1931."),
    f"{SITE}/copy": html("Ports of the north", "In Sorby the mayor is Ida Krog, who came from the sea."),
}
ROWS = [
    {"id": "q1", "question": "Who is the mayor of Wick?", "answer": "Bo Lund", "urls": [f"{SITE}/wick"]},
    {"id": "q2", "question": "When was the mayor of Wick born?", "golden_answers": ["1931-05-04"],
     "evidence": [{"url": f"{SITE}/wick"}, {"url": f"{SITE}/lund#born"}]},
    {"id": "q3", "question": "Who is mayor of Sorby?", "answers": ["Ida Krog"], "gold_urls": "https://sorby.example/a"},
    {"id": "q4", "question": "Who sails to Norby?", "answer": "Ola Brandt", "urls": [f"{SITE}/norby"]},
    {"id": "q5", "question": "Is Wick a port?", "answer": True,
     "supporting_facts": {"title": ["Wick", "Zorby"], "sent_id": [0, 1]}},
    {"id": "q6", "question": "Who wrote of cheese?", "answer": ["Nobody Known"]},
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("audit")
    records = [CaptureSpec(url, page) for url, page in PAGES.items()]
    old = CaptureSpec(f"{SITE}/wick", html("Wick - Facts", "Its mayor is Ada Holm."), day=1)
    extra = [
        *(CaptureSpec(f"{SITE}/old-wick", status="301 Moved", headers=(("Location", f"{SITE}/wick"),)), old),
        *(CaptureSpec(f"https://site-{n}.example/", html(f"Page {n}", f"Number {n} of the sea.")) for n in range(20)),
    ]
    write(root / "facts.warc.gz", [*extra, *(CaptureSpec(record.url, record.body, day=2) for record in records)])
    webemu("ingest", str(root / "facts.warc.gz"), "--root", str(root), "--collection", "facts", "-q")
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[str]:
    (root / "default").symlink_to(root / "facts")
    with serving(root) as (url, _):
        yield url


def run(*words: str) -> list[str]:
    result = CliRunner().invoke(app, ["tasks", *words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout.splitlines()


def audited(server: str, folder: Path, rows: list[dict[str, Any]], *more: str) -> tuple[list[str], dict[str, Any]]:
    (folder / "qa.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = run("audit", str(folder / "qa.jsonl"), "--server", server, "--out", str(folder / "rows.jsonl"), "-q", *more)
    judged_rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return lines, {row["id"]: row for row in judged_rows}


def test_each_question_is_told(server: str, tmp_path: Path) -> None:
    lines, rows = audited(server, tmp_path, ROWS, "--missing", str(tmp_path / "crawl.txt"))
    assert {name: row["status"] for name, row in rows.items()} == {
        "q1": "answerable", "q2": "answerable", "q3": "stated elsewhere", "q4": "not stated", "q5": "gold missing",
        "q6": "not stated",
    }  # fmt: skip
    assert [page["state"] for page in rows["q5"]["gold"]] == ["found", "missing"]
    assert {page["rank"] for page in rows["q2"]["gold"]} == {1, 2}
    assert (rows["q1"]["in_gold"], rows["q1"]["in_results"]) == (True, 1)
    assert (rows["q4"]["in_gold"], rows["q5"]["in_gold"]) == (False, None)
    assert lines[0] == "answerable            3 of 6 questions (50.0%)"
    assert "missing of            sorby.example: 1" in lines
    assert "missing by title      1" in lines
    assert (tmp_path / "crawl.txt").read_text() == "https://sorby.example/a\n"


def test_answerable_questions_become_a_task_file(server: str, tmp_path: Path) -> None:
    unanswered = {"id": "q7", "question": "Who lives in Wick?", "urls": [f"{SITE}/wick"]}
    lines, rows = audited(server, tmp_path, [*ROWS, ROWS[0], unanswered], "--tasks", str(tmp_path / "tasks.jsonl"))
    assert rows["q7"]["answerable"]  # and yet no task, since no answer could be judged
    tasks = {task.id: task for task in load(tmp_path / "tasks.jsonl")}
    assert list(tasks) == ["q1", "q2", "q3", "q1-2"]
    assert tasks["q2"] == Task(
        "q2",
        "When was the mayor of Wick born?",
        ("1931-05-04",),
        (Evidence(f"{SITE}/wick"), Evidence(f"{SITE}/lund#born")),
        2,
        "own",
    )
    assert tasks["q3"].evidence == ()  # its gold page is not there; another page has the answer
    assert f"tasks                 4 in {tmp_path / 'tasks.jsonl'}" in lines


def test_a_missing_title_becomes_an_address(server: str, tmp_path: Path) -> None:
    wiki = ("--title-url", "https://wiki.example/{title}", "--missing", str(tmp_path / "crawl.txt"))
    audited(server, tmp_path, [{"question": "q?", "titles": ["Zorby Town"]}], *wiki)
    assert (tmp_path / "crawl.txt").read_text() == "https://wiki.example/Zorby_Town\n"


def test_named_fields_and_a_limit(server: str, tmp_path: Path) -> None:
    rows = [{"ask": "Who is the mayor of Wick?", "say": "Bo Lund", "at": f"{SITE}/wick"}, {"ask": "More?"}]
    words = ("--question-field", "ask", "--answer-field", "say", "--url-field", "at", "--limit", "1")
    _, rows_by_id = audited(server, tmp_path, rows, *words)
    assert [(row["answers"], row["status"]) for row in rows_by_id.values()] == [(["Bo Lund"], "answerable")]


@pytest.mark.parametrize(
    ("row", "answers", "urls", "titles"),
    [
        ({"question": "q", "answer": {"value": "A", "aliases": ["a.", "A"]}}, ("A", "a."), (), ()),
        ({"Question": "q", "Answer": 3, "Evidence": "see https://a.example/x"}, ("3",), ("https://a.example/x",), ()),
        ({"problem": "q", "answers": {"text": ["A"], "answer_start": [1]}}, ("A",), (), ()),
        ({"query": "q", "possible_answers": '["A", "B"]'}, ("A", "B"), (), ()),
        ({"q": "q", "answer": "[sic]", "supporting_facts": [["T", 0], ["T", 1], ["U", 2]]}, ("[sic]",), (), ("T", "U")),
        ({"q": "q", "answer": False, "sources": {"link": "http://a.example/"}}, ("no",), ("http://a.example/",), ()),
    ],
)  # fmt: skip
def test_forms_of_question_sets(
    row: dict[str, Any], answers: tuple[str, ...], urls: tuple[str, ...], titles: tuple[str, ...]
) -> None:
    read = parse_question_row(row, 1, FieldNames())
    assert (read.id, read.question, read.answers, read.urls, read.titles) == ("1", "q", answers, urls, titles)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.json", '[{"question": "q"}, {"question": "r"}]', 2), ("a.jsonl", '\n{"question": "q"}\n', 1),
        ("a.csv", 'question,answer\n"who,\nme?",you\n', 1), ("a.tsv", "question\tanswer\nq\ta\n", 1),
    ],
)  # fmt: skip
def test_files_of_questions(tmp_path: Path, name: str, text: str, count: int) -> None:
    (tmp_path / name).write_text(text)
    assert len(read_questions(tmp_path / name, FieldNames())) == count


@pytest.mark.parametrize("text", ["{", "[1]", '{"text": "q"}', '{"question": 3}'])
def test_a_file_that_holds_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(BadRequest, match=r"a\.jsonl"):
        read_questions(tmp_path / "a.jsonl", FieldNames())


def test_a_subset_answers_as_the_whole(root: Path, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{SITE}/old-wick\n{SITE}/wick\nhttps://gone.example/\n")
    save(
        tmp_path / "tasks.jsonl", [Task("t", "Who is the mayor of Norby?", ("Per Dahl",), (Evidence(f"{SITE}/lund"),))]
    )
    lines = run(
        *(
            "subset",
            "--urls",
            str(tmp_path / "urls.txt"),
            "--tasks",
            str(tmp_path / "tasks.jsonl"),
            "--root",
            str(root),
        ),
        *("--collection", "facts", "--to", "small", "--distractors", "4", "--missing", str(tmp_path / "gone.txt")),
    )
    assert lines[:2] == ["gold        3 URLs, 1 missing", "missing     https://gone.example/"]
    assert (tmp_path / "gone.txt").read_text() == "https://gone.example/\n"
    whole_world, small = open_world(root / "facts"), open_world(root / "small")
    assert small.fetch(PageRequest(f"{SITE}/norby")).content == whole_world.fetch(PageRequest(f"{SITE}/norby")).content
    assert small.fetch(PageRequest(f"{SITE}/old-wick")).redirects == (f"{SITE}/old-wick",)
    for url in (f"{SITE}/wick", f"{SITE}/lund", f"{SITE}/old-wick"):
        request = PageRequest(url, follow=False)
        assert small.payload(request)[1] == whole_world.payload(request)[1]
    assert [one.time for one in small.captures(f"{SITE}/wick")] == [
        one.time for one in whole_world.captures(f"{SITE}/wick")
    ]
    assert small.figures()["urls"] == 3 + 4


@pytest.mark.slow
def test_the_same_seed_draws_the_same_distractors(root: Path) -> None:
    def drawn(name: str, seed: int) -> bytes:
        cut = write_subset(root / "facts", root / name, [f"{SITE}/wick"], [], 5, seed)
        assert (cut.hard_distractors, cut.random_distractors) == (0, 5)
        return (root / name / "subset.warc.gz").read_bytes()

    assert drawn("a", 1) == drawn("b", 1) != drawn("c", 2)


def test_what_cannot_be_cut(root: Path) -> None:
    with pytest.raises(BadRequest, match="there already"):
        write_subset(root / "facts", root / "facts", [f"{SITE}/wick"], [], 1, 0)
    with pytest.raises(BadRequest, match="none of 1 URLs"):
        write_subset(root / "facts", root / "new", ["https://gone.example/"], [], 1, 0)


LABELS = [json.loads(line) for line in (Path(__file__).parent / "data" / "audit_labels.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("gold", [None, True, False], ids=["all", "gold pages", "results"])
def test_answerable_can_be_believed(gold: bool | None, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows were labelled by hand: does the page bear the answer to the question?"""
    rows = [row for row in LABELS if gold is None or row["gold"] == gold]
    verdicts = [
        bears_answer(
            PageText("https://a.example/", row["title"], row["text"]),
            build_claim(row["question"], row["answers"], int(row["gold"])),
            row["gold"],
        )
        for row in rows
    ]
    hits = sum(one and row["bears"] for one, row in zip(verdicts, rows, strict=True))
    precision, recall = hits / sum(verdicts), hits / sum(row["bears"] for row in rows)
    with capsys.disabled():
        print(f"audit, {len(rows)} rows: precision {precision:.3f}, recall {recall:.3f}")
    assert precision >= 0.9
    assert recall >= 0.85


def test_the_labels_are_even() -> None:
    assert (len(LABELS), sum(row["bears"] for row in LABELS)) == (100, 50)
    assert {row["gold"] for row in LABELS} == {True, False}
