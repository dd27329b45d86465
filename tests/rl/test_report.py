"""The report as text, and in a real browser: hostile trajectories stay text, and two thousand attempts stay quick.

With `WEBEMU_ARTIFACTS` screenshots are kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.accessibility import list_serious_findings, needs_axe
from webemu.rl.evaluation import page as pages
from webemu.rl.evaluation import report
from webemu.rl.evaluation.comparison import render_comparison
from webemu.rl.evaluation.result import EvaluationResult
from webemu.rl.evaluation.rows import outcome_of
from webemu.rl.evaluation.summary import summarize

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
EVIL = "</script><script>document.title='ran'</script><img src=https://evil.example/x onerror=\"document.title='ran'\">"
MORE = "<!--<script> ]]> \u2028 javascript:document.title='ran' {{ 7*7 }} &lt;b&gt; ' \" `"
MANIFEST = {"model": "", "policy": f"scripted {EVIL}", "protocol": "", "snapshot": "s1", "tasks": "t", "session": {}}
PHONE = {"viewport": {"width": 380, "height": 800}}
TERMS = {"finished": 1.0, "format": 1.0, "length": 1.0, "single": 1.0, "own_words": 1.0, "answer": 1.0,
         "grounding": 1.0, "cost": 1.0, "correct": 1.0, "f1": 1.0, "requests": 2.0, "repeats": 0.0,
         "misuses": 0.0}  # fmt: skip


def row(number: int, text: str = "page", right: bool = True, mask: str = "", **other: Any) -> dict[str, Any]:
    steps = [
        {
            "tool": "search",
            "arguments": {"query": text[:200]},
            "observation": f"[r1] Ada Holm {text}",
            "kind": "results",
        },
        {"tool": "open", "arguments": '{"link": "r1"', "observation": text * 3, "kind": "misuse"},
        {
            "tool": "finish",
            "arguments": {"answer": "Ada Holm", "citations": []},
            "observation": "Taken.",
            "kind": "over",
        },
    ]
    terms = TERMS if right else TERMS | {"correct": 0.0, "answer": 0.05, "grounding": 0.0, "f1": 0.0}
    return {
        **{"task": f"q-{number}", "sample": 0, "seed": 1, "question": f"Question {number}? {text}"},
        **{
            "answers": ["Ada Holm"],
            "evidence": ["https://a.example/x"],
            "recipe": f"recipe {number % 3}",
            "hops": number % 4 + 1,
        },
        **{"answer_type": "name", "split": "test", "user": False, "turns": [{"steps": [step]} for step in steps]},
        **{"answer": "Ada Holm" if right else text, "citations": ["https://a.example/x/"], "mask": mask},
        **{"opened": ["http://a.example/x"] if right else [], "end": "masked" if mask else "finished"},
        **{"reward": None if mask else float(right), "terms": dict.fromkeys(terms) if mask else terms, "recall": 1.0},
        **{"prompt_tokens": 10, "completion_tokens": 5, "seconds": 1.5},
    } | other


def report_html(*rows: dict[str, Any]) -> str:
    summary = summarize([outcome_of(one) for one in rows])
    probe_counts = {"reads": 3, "neither": 1, "share_reads": 0.75}
    return report.render_report(EvaluationResult(MANIFEST, summary, probe_counts=probe_counts), rows)


def test_nothing_of_the_web_is_markup() -> None:
    text = report_html(row(0, EVIL), row(1, MORE, right=False), row(2, mask=f"outage: {EVIL}"))
    blocks = re.findall(r'<script(?: type="application/json" id="\w+")?>', text)
    assert text.count("<script") == text.count("</script>") == len(blocks)
    assert "evil.example" in text
    assert "49" not in re.findall(r"javascript:document.title=.{20}", text)[0]
    tags = re.findall(r"<[a-z][^>]*>", re.sub(r'<script type="application/json".*?</script>', "", text))
    assert not [tag for tag in tags if re.search(r"\b(?:src|href|on\w+)=", tag) or tag.startswith("<img")]


def test_the_data_come_back_as_they_were() -> None:
    text = report_html(row(0, EVIL), row(1, MORE))
    blocks = dict(re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', text, re.DOTALL))
    assert json.loads(blocks["d1"])["question"] == f"Question 1? {MORE}"
    assert [one["verdict"] for one in json.loads(blocks["index"])] == ["passed", "passed"]


def test_verdicts() -> None:
    rows = [
        row(0),
        row(1, right=False),
        row(2, mask="x"),
        row(3, reward=0.0),
        row(4, right=False, end="turns", reward=0.0),
    ]
    assert [pages.verdict_of(one) for one in rows] == ["passed", "wrong", "masked", "ungrounded", "unfinished"]


def test_long_observations_are_cut_and_say_so() -> None:
    blocks = re.findall(r'id="d0">(.*?)</script>', report_html(row(0, "x" * 90_000)), re.DOTALL)
    steps = [turn["steps"][0] for turn in json.loads(blocks[0])["turns"]]
    assert len(steps[1]["observation"]) == pages.MAX_OBSERVATION_CHARACTERS
    assert steps[1]["more"] == 270_000 - pages.MAX_OBSERVATION_CHARACTERS
    assert len(report_html(*(row(n, "y" * 30_000) for n in range(300)))) < 15_000_000


def test_a_report_of_nothing_but_outages() -> None:
    assert "1 masked" in report_html(row(0, mask="outage: gone"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


class Looked:
    """A report that is open, what the browser said and what it asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page, self.messages, self.requested_urls = page, list[str](), list[str]()
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requested_urls.append(request.url))
        page.goto(path.as_uri())


def look(browser: Browser, tmp_path: Path, text: str, name: str, **how: Any) -> Looked:
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    view = Looked(browser.new_page(**how), tmp_path / "report.html")
    if artifacts := os.environ.get("WEBEMU_ARTIFACTS"):
        view.page.screenshot(path=Path(artifacts) / f"report-{name}.png")
    return view


@pytest.mark.slow
@in_browser
@needs_axe
def test_an_accessibility_checker_finds_nothing_serious(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(
        report_html(row(0), row(1, right=False), row(2, mask="outage: gone")), "utf-8"
    )
    assert list_serious_findings(browser, (tmp_path / "report.html").as_uri()) == []


@pytest.mark.slow
@in_browser
def test_hostile_text_does_not_run(browser: Browser, tmp_path: Path) -> None:
    view = look(
        browser, tmp_path, report_html(row(0, EVIL), row(1, MORE, right=False), row(2, EVIL, mask=EVIL)), "hostile"
    )
    for attempt in view.page.locator("details.attempt > summary").all():
        attempt.click()
    expect(view.page.locator(".inside ol.steps")).to_have_count(3)
    expect(view.page.locator("details.attempt").first).to_contain_text(EVIL)
    assert view.page.title() != "ran"
    assert view.page.locator("#list img, #list a, #list script").count() == 0
    assert (view.messages, [url for url in view.requested_urls if not url.startswith("file:")]) == ([], [])


@pytest.mark.slow
@in_browser
def test_no_other_script_may_run(browser: Browser, tmp_path: Path) -> None:
    """The page's policy holds even if markup had come through."""
    text = report_html(row(0)).replace(
        "<h1>", "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\"><h1>"
    )
    view = look(browser, tmp_path, text, "policy")
    view.page.wait_for_timeout(100)
    assert view.page.title() != "ran"
    assert any("Content Security Policy" in line for line in view.messages)


@pytest.mark.slow
@in_browser
def test_a_trajectory_is_read(browser: Browser, tmp_path: Path) -> None:
    view = look(browser, tmp_path, report_html(row(0), row(1, right=False)), "read")
    first = view.page.locator("details.attempt").nth(0)
    first.locator("summary").click()
    expect(first.locator("mark").first).to_have_text("Ada Holm")
    expect(first.locator(".term").first).to_have_text("finished 1")
    expect(first).to_contain_text('query="page"')
    expect(first).to_contain_text("misuse")
    expect(first).not_to_contain_text("not opened")
    second = view.page.locator("details.attempt").nth(1)
    second.locator("summary").click()
    expect(second).to_contain_text("(not opened)")
    expect(second.locator(".term.none")).to_have_text("grounding 0")


@pytest.mark.slow
@in_browser
def test_two_attempts_are_put_side_by_side_and_all_texts_searched(browser: Browser, tmp_path: Path) -> None:
    rows = [row(0, f"needle {EVIL}", question="First?"), row(1, right=False, turns=[])]
    rows[0]["turns"][1]["steps"][0]["earned"] = {"recall": 0.5, "cost": -0.02}
    rows[0]["turns"][2]["steps"][0]["earned"] = {"finished": 1.0, "answer": 1.0}
    rows[0]["terms"]["single"] = 0.0
    view = look(browser, tmp_path, report_html(*rows), "sides")
    page = view.page
    page.fill("#words", "NEEDLE")
    expect(page.locator("#count")).to_have_text("0 of 2 attempts")
    page.get_by_label("search all texts").check()
    expect(page.locator("#count")).to_have_text("1 of 2 attempts")
    page.fill("#words", "")
    for attempt in page.locator("details.attempt").all():
        attempt.locator("summary").click()
        attempt.get_by_role("button", name="Put beside another").click()
    expect(page.locator(".side")).to_have_count(2)
    expect(page.locator(".side").first.locator(".earned").first).to_have_text("recall +0.500, cost −0.020")
    expect(page.locator(".side").first.locator(".earned").last).to_have_text("reward 1: single 0, answer +1")
    expect(page.locator(".side").first.locator(".timeline .observed")).to_have_count(3)
    assert page.title() != "ran"
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#pair")).to_be_hidden()
    assert view.messages == []


@pytest.mark.slow
@in_browser
def test_attempts_are_filtered(browser: Browser, tmp_path: Path) -> None:
    rows = [row(n, right=n % 2 == 0, mask="x" if n == 6 else "") for n in range(12)]
    view = look(browser, tmp_path, report_html(*rows), "filter")
    count, page = view.page.locator("#count"), view.page
    expect(count).to_have_text("12 of 12 attempts")
    page.select_option("#verdict", "wrong")
    expect(count).to_have_text("6 of 12 attempts")
    page.select_option("#recipe", "recipe 1")
    expect(count).to_have_text("2 of 12 attempts")
    page.select_option("#verdict", "")
    page.select_option("#recipe", "")
    page.fill("#words", "question 11")
    expect(page.locator("details.attempt")).to_have_count(1)


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize(
    "how", [{"viewport": {"width": 380, "height": 800}}, {"color_scheme": "dark"}], ids=["phone", "dark"]
)
def test_it_is_read_anywhere(browser: Browser, tmp_path: Path, how: dict[str, Any]) -> None:
    view = look(browser, tmp_path, report_html(row(0, "word " * 80), row(1, "x" * 400, right=False)), "how", **how)
    for attempt in view.page.locator("details.attempt > summary").all():
        attempt.click()
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    light = view.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light != ("color_scheme" in how)


@pytest.mark.slow
@in_browser
def test_two_thousand_attempts_stay_quick(browser: Browser, tmp_path: Path) -> None:
    text = report_html(*(row(n, f"{n} " + "lorem ipsum " * 800, right=n % 3 > 0) for n in range(2000)))
    start = time.monotonic()
    view = look(browser, tmp_path, text, "many")
    expect(view.page.locator("#count")).to_have_text("2,000 of 2,000 attempts")
    expect(view.page.locator("details.attempt")).to_have_count(50)
    opened = time.monotonic() - start
    view.page.fill("#words", "question 1999?")
    expect(view.page.locator("details.attempt")).to_have_count(1)
    view.page.locator("details.attempt > summary").click()
    expect(view.page.locator("#list .inside")).to_have_count(1)
    print(opened, len(text))
    assert opened < 20
    assert len(text) < 60_000_000


def compare(tmp_path: Path, first: list[dict[str, Any]], second: list[dict[str, Any]]) -> str:
    for name, rows in (("a", first), ("b", second)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps(MANIFEST | {"seed": ord(name)}))
        (tmp_path / name / "episodes.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return render_comparison(tmp_path / "a", tmp_path / "b")


def test_two_evaluations_are_compared_task_by_task(tmp_path: Path) -> None:
    first = [row(0, right=False), row(1, right=False), row(2), row(3, mask="outage: x"), row(4)]
    text = compare(tmp_path, first, [row(0), row(1), row(2), row(3), row(5)])
    cells = [re.sub("<.*?>", "", one) for one in re.findall(r"<td>(.*?)</td>", text)]
    passed = cells.index("passed")
    # Of the tasks 0, 1 and 2, which both answered and no outage hit, the second run gained two.
    assert cells[passed : passed + 6] == ["passed", "0.333", "1.000", "+0.667", "+0.333 to +1.000", "3"]
    outcomes = cells.index("passed", passed + 1)
    assert cells[outcomes : outcomes + 12] == ["passed", "1", "0", "0", "wrong", "2", "0", "0", "masked", "1", "0", "0"]
    assert cells[-3] == "seed"


def test_a_comparison_says_that_the_web_was_another(tmp_path: Path) -> None:
    text = compare(tmp_path, [row(0)], [row(0)])
    assert "not measured on the same" not in text
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(MANIFEST | {"snapshot": "s2"}))
    assert "not measured on the same snapshot" in render_comparison(tmp_path / "a", tmp_path / "b")


@pytest.mark.slow
@in_browser
@needs_axe
def test_the_attempts_of_two_runs_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    first, second = [row(0, EVIL, right=False), row(1), row(2)], [row(0, f"needle {EVIL}"), row(1, right=False)]
    view = look(browser, tmp_path, compare(tmp_path, first, second), "comparison")
    page = view.page
    expect(page.locator("#count")).to_have_text("3 of 3 pairs of attempts")
    page.get_by_label("Change").select_option("passed only in b")
    expect(page.locator("#count")).to_have_text("1 of 3 pairs of attempts")
    page.locator("details.attempt > summary").click()
    expect(page.locator(".side h3")).to_have_text(["a", "b"])
    expect(page.locator(".side").nth(1)).to_contain_text(f"needle {EVIL}")
    page.get_by_label("Change").select_option("made by one only")
    page.locator("details.attempt > summary").click()
    expect(page.locator(".side").nth(1)).to_contain_text("No such attempt was made.")
    page.get_by_label("Change").select_option("all attempts")
    page.get_by_label("search all texts").check()
    page.fill("#words", "[R1] ADA HOLM NEEDLE")
    expect(page.locator("#count")).to_have_text("1 of 3 pairs of attempts")
    page.set_viewport_size(PHONE["viewport"])
    page.locator("details.attempt > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() != "ran"
    assert (view.messages, [url for url in view.requested_urls if not url.startswith("file:")]) == ([], [])
    assert list_serious_findings(browser, (tmp_path / "report.html").as_uri()) == []
