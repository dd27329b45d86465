"""Filters over a small real web: each has a task that passes and one that does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.crawls import CaptureSpec, html, write
from tests.rl.openai_server import Fault, openai_server
from tests.rl.worlds import serving, webemu
from webemu.emulator.errors import BadRequest
from webemu.rl.endpoint import Endpoint, EndpointError
from webemu.rl.evaluation import rows
from webemu.rl.tasks import Evidence, Task
from webemu.rl.tasks.cached_client import CachedClient
from webemu.rl.tasks.difficulty import PASS_REWARD, estimate_difficulty, read_pass_rates
from webemu.rl.tasks.filters import FILTERS, Filter, FilterContext, Verdict
from webemu.rl.tasks.filters.duplicates import DuplicateFilter
from webemu.rl.tasks.filters.unique import find_label
from webemu.rl.tasks.overlap import load_benchmarks
from webemu.rl.tasks.phrases import build_queries, content_words, find_names

LEXICON, ATLAS = "https://lexicon.example/wiki", "https://atlas.example"
DEFINED = "A drumlin is an elongated hill in the shape of an inverted spoon, formed by glacial ice."


def table(**rows: str) -> str:
    cells = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in rows.items())
    return f"<table>{cells}</table>"


PAGES = {
    f"{LEXICON}/Wick": html("Wick - Lexicon", table(Mayor="Bo Lund", Population="9,421"), "Wick lies on the Isen."),
    f"{ATLAS}/wick": html("Wick - Atlas", table(Mayor="Ida Krog"), "A town in the north."),
    f"{LEXICON}/Norby": html("Norby - Lexicon", table(Mayor="Per Dahl"), 'its shoal: <a href="/wiki/Qx">see</a>'),
    f"{ATLAS}/norby": html("Norby - Atlas", table(Mayor="Per Dahl"), "A town in the south."),
    f"{LEXICON}/Qx": html("Qx", "Vraz grell oum tidd 77."),
    f"{LEXICON}/Per_Dahl": html("Per Dahl - Lexicon", "Fisher by trade, he keeps 41 goats."),
    f"{LEXICON}/Zz": html("Zz", "Brok mulv anse 99."),
    "https://first.example/drumlin": html("Drumlin", DEFINED),
    "https://other.example/hill": html("Inverted hill", DEFINED, "Copied."),
    f"{LEXICON}/Esker": html("Esker", "An esker is a long winding ridge of stratified sand."),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("filters")
    write(root / "small.warc.gz", [CaptureSpec(url, page) for url, page in PAGES.items()])
    webemu("ingest", str(root / "small.warc.gz"), "--root", str(root), "-q")
    with serving(root) as (url, _):
        yield url


def judged(server: str, name: str, task: Task, endpoint: Endpoint | None = None, **means: Any) -> Verdict:
    one: Filter = next(one for one in FILTERS if one.name == name)

    async def judge() -> Verdict:
        async with CachedClient(server, {"later": {"as_of": "2024-01-01"}}) as web:
            try:
                return await one.judge(task, FilterContext(web, endpoint, **means))
            finally:
                if endpoint is not None:
                    await endpoint.close()

    return asyncio.run(judge())


def task(question: str, answer: str, *evidence: Evidence, **more: Any) -> Task:
    return Task("t", question, (answer,), evidence, len(evidence) or 1, "table", **more)


MAYOR = task("Who is the mayor of Norby?", "Per Dahl", Evidence(f"{LEXICON}/Norby", "Mayor | Per Dahl", "Per Dahl"))


@pytest.mark.parametrize(
    "question",
    [
        "What does this page say about cheese?", "Which town is named in the article?", "What is listed above?",
        "Which of the following is a town in Rakina?", "Where was she born in 1950?", "In which year was it founded?",
        "How old was he?", "What is its population?", "Who founded them?", "What is the title of this list of towns?",
        "Who won the regional prize last year?", "According to the passage, who leads the town council?",
        "What is the population of {X} in Rakina?", "Who?", "What is the main topic of the given text?",
    ],
)  # fmt: skip
def test_a_question_that_leans(server: str, question: str) -> None:
    assert judged(server, "self-contained", replace(MAYOR, question=question))["ok"] is False


@pytest.mark.parametrize(
    "question",
    [
        "Who is the mayor of Norby?", 'Who wrote the novel "This Side of the Page"?', "How high above the sea is Wick?",
        "In which year was the company that makes the Lumo 3 founded?", "Which article of the treaty names Norby?",
        "Which page of lexicon.example states that Wick lies on the Isen?", "Who was the author of the novel Tides?",
        'According to the page "Five “odd” towns of last year" on a.example, who leads?',
        "When did Wick get its harbour?",
        'Which name belongs in the gap in this sentence of the page "Wick" on a.example: "It is ____ here."',
        "Who is the mayor in the list of towns of Rakina?",
    ],
)  # fmt: skip
def test_a_question_that_stands_alone(server: str, question: str) -> None:
    assert judged(server, "self-contained", replace(MAYOR, question=question)) == {"ok": True}


def test_an_answer_in_the_question(server: str) -> None:
    asked_task = task("In which year before 1,200 did the 1200 towns unite?", "1200")
    assert judged(server, "not-given-away", asked_task) == {"ok": False, "given": ["1200"]}
    assert judged(server, "not-given-away", replace(asked_task, answers=("120",)))["ok"] is True
    assert judged(server, "not-given-away", replace(asked_task, answer_type="choice"))["ok"] is True


def test_quotes_are_looked_for_on_the_pages_served(server: str) -> None:
    spaced = Evidence(f"{LEXICON}/Norby", "Mayor  |\nPer Dahl")
    assert judged(server, "quote", task("q", "a", spaced)) == {"ok": True}
    assert judged(server, "quote", task("q", "a", Evidence(f"{LEXICON}/Norby", value="Per Dahl")))["ok"] is True
    wrong = task("q", "a", spaced, Evidence(f"{LEXICON}/Wick", "Mayor | Per Dahl"), Evidence("https://no.example/"))
    assert judged(server, "quote", wrong) == {
        "ok": False, "faults": [f"not on {LEXICON}/Wick: Mayor | Per Dahl", "not served: https://no.example/"]
    }  # fmt: skip
    assert judged(server, "quote", task("q", "a"))["ok"] is None


def test_another_value_on_a_page_of_the_same_title(server: str) -> None:
    wick = task("Who is the mayor of Wick?", "Bo Lund", Evidence(f"{LEXICON}/Wick", "Mayor | Bo Lund", "Bo Lund"))
    rivals = [{"url": f"{ATLAS}/wick", "value": "Ida Krog"}]
    assert judged(server, "unique", wick) == {"ok": False, "rivals": rivals}
    assert judged(server, "unique", wick, proven=frozenset({"table"})) == {"ok": True, "rivals": rivals}
    assert judged(server, "unique", MAYOR) == {"ok": True}
    on_site = replace(wick, question='What does the page "Wick" on lexicon.example give for "Mayor"?')
    assert judged(server, "unique", on_site) == {"ok": True}
    unlabelled = task("Who is the mayor of Norby?", "Per Dahl", Evidence(f"{LEXICON}/Norby", value="Per Dahl"))
    assert judged(server, "unique", unlabelled)["ok"] is None


def test_another_page_with_the_same_quote(server: str) -> None:
    drumlin = task(
        "Which landform is an elongated hill in the shape of an inverted spoon?",
        *("Drumlin", Evidence("https://first.example/drumlin", DEFINED, "drumlin")),
        answer_type="title",
    )
    rival = {"url": "https://other.example/hill", "title": "Inverted hill"}
    assert judged(server, "unique", drumlin) == {"ok": False, "rivals": [rival]}
    assert judged(server, "unique", replace(drumlin, answers=("Drumlin", "Inverted hill")))["ok"] is True
    on_site = replace(drumlin, question=f'Which page of first.example states: "{DEFINED}"?', answer_type="url")
    assert judged(server, "unique", on_site)["ok"] is True


@pytest.mark.parametrize(
    ("quote", "value", "label"),
    [
        ("Mayor | Bo Lund", "Bo Lund", "Mayor"), ("Height: 40 m", "40 m", "Height"), ("Height\n40 m", "40 m", "Height"),
        ("The mayor of Wick is Bo Lund.", "Bo Lund", "mayor"), ("Wick was founded in 1201.", "1201", "founded"),
        ("Bo Lund is mayor.", "Bo Lund", ""), ("Bo Lund", "", ""),
    ],
)  # fmt: skip
def test_the_label_of_a_quote(quote: str, value: str, label: str) -> None:
    assert find_label(quote, value, "Wick") == label


def test_pages_that_search_and_links_reach(server: str) -> None:
    shoal = Evidence(f"{LEXICON}/Qx", "77", "77")
    verdict = judged(server, "answerable", task("How deep is the shoal of Norby?", "77", MAYOR.evidence[0], shoal))
    assert (verdict["ok"], verdict["ways"]) == (True, ["search", "link"])
    assert verdict["ranks"]["plain"] == verdict["alone"]["plain"] == [1, None]
    assert verdict["ranks"]["later"] == [None, None]
    goats = Evidence(f"{LEXICON}/Per_Dahl", "41 goats", "41")
    stepped = judged(server, "answerable", task("What does the mayor of Norby own?", "41", MAYOR.evidence[0], goats))
    assert (stepped["ok"], stepped["ways"][1]) == (True, "step")


def test_a_page_that_nothing_reaches(server: str) -> None:
    lost = Evidence(f"{LEXICON}/Zz", "99", "99")
    verdict = judged(server, "answerable", task("How deep is the shoal of Norby?", "99", MAYOR.evidence[0], lost))
    assert (verdict["ok"], verdict["ways"]) == (False, ["search", ""])
    alone = task("Which drummer won Rakina?", "x", Evidence("https://gone.example/hill", DEFINED))
    assert judged(server, "answerable", alone)["ok"] is False
    twin = replace(alone, question="What is an elongated hill formed by glacial ice?")
    assert judged(server, "answerable", twin)["ways"] == ["twin"]


def test_a_model_that_knows(server: str) -> None:
    with openai_server(lambda body: "I think:\nAnswer: Per Dahl.") as model:
        knows = judged(server, "closed-book", MAYOR, Endpoint(model.url, "m"), samples=3)
        assert knows == {"ok": False, "right": 3, "of": 3, "model": "m"}
        assert len({body["seed"] for body in model.requests}) == 3
        assert not any("tools" in body or "Norby" not in json.dumps(body) for body in model.requests)
    with openai_server(lambda body: "Bo Lund" if body["seed"] % 2 else "unknown") as model:
        assert judged(server, "closed-book", MAYOR, Endpoint(model.url, "m"), samples=3)["ok"] is True
    assert judged(server, "closed-book", MAYOR)["ok"] is None


def test_a_choice_may_be_guessed_but_not_known(server: str) -> None:
    choice = replace(MAYOR, answer_type="choice")
    answers = iter(["Per Dahl", "Bo Lund", *["Per Dahl"] * 2])
    with openai_server(lambda body: next(answers)) as model:
        assert judged(server, "closed-book", choice, Endpoint(model.url, "m"), samples=2)["ok"] is True
        assert judged(server, "closed-book", choice, Endpoint(model.url, "m"), samples=2)["ok"] is False


def test_a_model_that_is_out_of_order(server: str) -> None:
    with openai_server(lambda body: Fault(500)) as model:
        verdict = judged(server, "closed-book", MAYOR, Endpoint(model.url, "m", retries=0), samples=1)
    assert verdict["ok"] is None
    assert "no answer" in verdict["why"]
    with openai_server(lambda body: Fault(401)) as model, pytest.raises(EndpointError):
        judged(server, "closed-book", MAYOR, Endpoint(model.url, "m", retries=0), samples=1)


def test_questions_of_benchmarks(server: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"Question": "Who is the mayor of Norby?", "answer": "x"}))
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    (tmp_path / "b.txt").write_text(f"{long}\nMayor of Norby\n")
    (tmp_path / "c.json").write_text(json.dumps([{"text": "And nobody asked who is the mayor of Wick, ever"}]))
    benchmarks = load_benchmarks(tmp_path / name for name in ("a.jsonl", "b.txt", "c.json"))
    asked_task = replace(MAYOR, question="Say: who is the MAYOR of Norby, please?")
    verdict = judged(server, "overlap", asked_task, benchmarks=benchmarks)
    assert verdict == {"ok": False, "file": "a.jsonl", "words": "who is the mayor of norby"}
    shifted = replace(MAYOR, question=f"zero {long.partition(' ')[2]} fifteen")
    assert judged(server, "overlap", shifted, benchmarks=benchmarks)["file"] == "b.txt"
    other = replace(MAYOR, question="Who was the mayor of Norby? And nobody asked who is the mayor")
    assert judged(server, "overlap", other, benchmarks=benchmarks) == {"ok": True}
    assert judged(server, "overlap", MAYOR)["ok"] is None
    with pytest.raises(BadRequest, match=r"none\.txt"):
        load_benchmarks([tmp_path / "none.txt"])


def test_the_band_of_pass_rates(server: str) -> None:
    for rate, is_kept in ((0.0, False), (0.5, True), (1.0, False)):
        assert judged(server, "band", MAYOR, rates={"t": rate}, band=(0.1, 0.9)) == {"ok": is_kept, "rate": rate}
    assert judged(server, "band", MAYOR, rates={})["ok"] is None
    assert judged(server, "band", MAYOR)["ok"] is None


def test_twins_are_told_from_siblings() -> None:
    duplicates = DuplicateFilter()
    duplicates.add(replace(MAYOR, id="one"))
    cases = [
        ("who is the mayor of norby", "Bo Lund", "one"),  # the same question
        ("Norby's first citizen is whom?", "Per Dahl", "one"),  # the same quote and answer
        ("Who is the mayor of Wick?", "Bo Lund", ""),
    ]
    for question, answer, twin in cases:
        assert duplicates.duplicate_of(replace(MAYOR, question=question, answers=(answer,))) == twin, question
    elsewhere = replace(MAYOR, evidence=(Evidence(f"{ATLAS}/norby", "Mayor | Per Dahl"),))
    assert duplicates.duplicate_of(replace(elsewhere, question="Who is mayor of the town of Norby?")) == "one"
    assert duplicates.duplicate_of(replace(elsewhere, question="Who is the mayor of Sorby?")) == ""
    assert duplicates.judge(replace(elsewhere, question="Who keeps 41 goats?")) == {"ok": True}


def test_what_a_question_is_made_of() -> None:
    question = 'Who wrote the "Tides of Wick" that won the Order of the Isen in 2019?'
    assert find_names(question) == ["Tides of Wick", "Order of the Isen", "2019"]
    assert find_names("In which town was Anna B. Lund born?") == ["Anna B. Lund"]
    assert content_words("What is the height of it?") == ["height"]
    assert build_queries("Who leads Wick?") == ["Who leads Wick?", "leads wick", "Wick", '"Wick"']


def test_difficulty_grows_with_hops_and_depth() -> None:
    def at(hops: int, *ranks: int | None) -> float:
        return estimate_difficulty(
            replace(MAYOR, hops=hops), {"answerable": {"ok": True, "ranks": {"plain": list(ranks)}}}
        )

    assert at(1, 1) == 0.0
    assert 0.0 < at(1, 5) < at(1, 1, 50) == at(1, None) == 0.5 < at(3, None) < at(5, None, 1) == 1.0
    assert estimate_difficulty(MAYOR, {"band": {"ok": True, "rate": 0.25}}) == 0.75


def test_pass_rates_of_an_evaluation(tmp_path: Path) -> None:
    assert PASS_REWARD == rows.PASS_REWARD
    outcomes = [
        ("a", 0, 1.0),
        ("a", 1, 0.05),
        ("a", 2, None),
        ("a", 3, None),
        ("a", 3, 0.9),
        ("b", 0, 0.05),
        ("c", 0, None),
    ]
    lines = [json.dumps({"task": task, "sample": sample, "reward": reward}) for task, sample, reward in outcomes]
    (tmp_path / "episodes.jsonl").write_text("\n".join(lines))
    assert read_pass_rates(tmp_path) == read_pass_rates(tmp_path / "episodes.jsonl") == {"a": 2 / 3, "b": 0.0}
    with pytest.raises(BadRequest, match="holds no results"):
        read_pass_rates(tmp_path / "none")
