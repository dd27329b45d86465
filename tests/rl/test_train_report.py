"""The page of a training run: what it says of a run's files, half-written ones too; and in a real browser.

The run's files are written by the journal that a training writes them with. With
`WEBEMU_ARTIFACTS` screenshots are kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from selectolax.lexbor import LexborHTMLParser as Html
from typer.testing import CliRunner

from tests.accessibility import list_serious_findings, needs_axe
from webemu.emulator.cli import app
from webemu.rl.rubric import Score
from webemu.rl.tasks import Task
from webemu.rl.train import curves, trajectories
from webemu.rl.train.compare import render_comparison
from webemu.rl.train.manifest import MANIFEST_FILE
from webemu.rl.train.report import page_version, render_page
from webemu.rl.train.report_server import ReportServer
from webemu.rl.train.rollout import Rollout, Timing
from webemu.rl.train.run_folder import RECIPE_FILE
from webemu.rl.train.step_log import (
    HELD_OUT_FILE,
    STEPS_FILE,
    TRAJECTORIES_FOLDER,
    StepLog,
    compute_figures,
    write_rollouts,
)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
EVIL = "</script><script>document.title='ran'</script><img src=https://evil.example/x onerror=\"document.title='ran'\">"
TOML = """\
# seed 3
# control no-tools
summary = "a run of two stages"
[[stages]]
name = "start"
kind = "sft"
steps = 30
[[stages]]
name = "learn"
kind = "grpo"
steps = 40
gate = 0.2
"""
HELD_OUT = {"grounded": {"mean": 0.125, "low": 0.1, "high": 0.25, "tasks": 64}, "masked": 3}


def rollout(task: str, seed: int, right: bool, text: str = "page", mask: str = "", hops: int = 1) -> Rollout:
    rollout_task = Task(task, f"Who made {task}?", ("Ada",), hops=hops, recipe=f"of {hops}")
    answer = {"answer": "Ada" if right else "Bob", "citations": ["r1"]}
    calls = [("search", {"query": text}), ("open", text), ("finish", answer)]
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "So.", "reasoning_content": f"Hm, {text}"}]
    for name, arguments in calls:
        call = {"type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "name": name, "content": f"{name} shows {text}"})
    terms = {"format": 1.0, "grounding": 1.0, "correct": float(right), "searches": 1.0 + right, "turns": 3.0}
    score = Score(None, dict.fromkeys(terms), mask) if mask else Score(float(right), terms)
    return Rollout(
        rollout_task, seed, [1], [2, 3], [1, 0], [], messages, "done", score, [0.01 * right + 0.01] * 3
    )  # fmt: skip


def played(journal: StepLog, step: int, text: str = "page", **more: float) -> None:
    """A step of two groups: later steps are right more often; one task is in every step, the other in one."""
    rollouts = [rollout("wheel", n, n * 10 < step, text, hops=1) for n in range(4)]
    rollouts += [rollout(f"mill {step}", n, step > 20, text, "outage: gone" if n == 3 else "", 2) for n in range(4)]
    journal.write_trajectories(step, rollouts)
    figures = {
        "trl/loss": 0.5 / step,
        "trl/entropy": 1.0,
        "trl/step_time": 10.0,
        "trl/frac_reward_zero_std": 0.5,
        **more,
    }
    journal.write_step(step, figures | compute_figures(rollouts, Timing(2.0, 1.0, 0.5), 2))


def a_run(folder: Path, steps: int = 30, text: str = "page") -> Path:
    first, second = StepLog(folder / "1-start"), StepLog(folder / "2-learn")
    (folder / RECIPE_FILE).write_text(TOML, encoding="utf-8")
    for step in (10, 20, 30):
        first.write_step(step, {"trl/loss": 1.0 / step})
    stage_manifest = {"stage": "start", "seed": 3, "held_out": HELD_OUT, "versions": {"trl": "1.16.0"}}
    (folder / "1-start" / MANIFEST_FILE).write_text(json.dumps(stage_manifest), encoding="utf-8")
    for step in range(1, steps + 1):
        played(second, step, text)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run(tmp_path_factory.mktemp("run") / "mine")


@pytest.fixture
def run_copy(run: Path, tmp_path: Path) -> Path:
    """A copy to do things to."""
    return Path(shutil.copytree(run, tmp_path / "mine"))


def charts(html: Html) -> dict[str, str]:
    return {
        one.attributes["aria-label"].partition(",")[0]: one.attributes["aria-label"] for one in html.css("svg.chart")
    }


def words(html: Html, of: str) -> list[str]:
    return [" ".join(one.text(separator=" ").split()) for one in html.css(of)]


def test_the_page_has_the_figures(run: Path) -> None:
    html = Html(render_page(run))
    assert words(html, "nav span > a") == ["start", "learn"]
    assert words(html, "nav .done, nav .begun") == ["done", "begun"]
    assert "30 of 40" in words(html, "nav")[0]
    assert words(html, "h1 ~ p .wrong") == ["control no-tools"]
    assert words(html, "#top tbody tr")[0].startswith("start 64 0.125 0.100 to 0.250")
    descriptions = charts(html)
    assert descriptions["Reward"] == "Reward, steps 1 to 30; last: mean 0.857"
    assert descriptions["Groups without spread"].endswith("share 0.5")
    assert descriptions["Masked episodes"].endswith("share 0.125")
    assert descriptions["Seconds of a step"].endswith("speaking 2, tools 1, scoring 0.5, rest 6.5")
    assert descriptions["Milliseconds of a tool call"].endswith("p50 20, p99 20")
    assert descriptions["searches"].endswith("mean 1.86")
    assert "format 1" in render_page(run).partition("The same at every step:")[2].partition("</p>")[0]


def test_a_curve_says_what_the_steps_say(run: Path) -> None:
    chart = next(one for one in Html(render_page(run)).css("svg.chart") if "Reward" in one.attributes["aria-label"])
    series = json.loads(chart.attributes["data-read"])
    rows = [json.loads(line) for line in (run / "2-learn" / STEPS_FILE).read_text().splitlines()]
    assert series["steps"] == [row["step"] for row in rows]
    assert series["labels"] == [[curves.format_short(row["reward"]) for row in rows]]
    assert series["labels"][0][0] != series["labels"][0][-1]


def test_figures_by_hops_and_recipe(run: Path) -> None:
    groups = trajectories.compute_groups(trajectories.list_files(run / "2-learn", 30))
    assert groups.part_labels == ("1–6", "7–12", "13–18", "19–24", "25–30")
    wheel, mill = groups.by_dimension["hops"]
    assert groups.sampling_interval == 1
    assert (wheel.name, wheel.episodes, wheel.masked) == ("1", 120, 0)
    assert wheel.grounded[0] == pytest.approx(0.25)
    assert (mill.masked, mill.grounded[0], mill.grounded[3], mill.grounded[4]) == (30, 0, pytest.approx(4 / 6), 1)
    assert "Grounded by hops" in render_page(run)


def test_episodes_stand_side_by_side(run: Path) -> None:
    files = trajectories.list_files(run / "2-learn", 30)
    rows = trajectories.side_by_side([(step, files[step]) for step in (1, 6, 30)])
    first = [one for one in rows[0] if one]
    assert [(one.step, one.task, one.verdict) for one in first] == [
        (1, "wheel", "passed"), (6, "wheel", "passed"), (30, "wheel", "passed"),
    ]  # fmt: skip
    assert next([one and one.task for one in row] for row in rows if row[0] and row[0].hops == 2) == [
        "mill 1", "mill 6", "mill 30",
    ]  # fmt: skip
    assert first[0].group == (1.0, 0.0, 0.0, 0.0)
    assert [(part.kind, part.name) for part in first[0].parts[:4]] == [
        ("thought", ""), ("said", ""), ("call", "search"), ("shown", "search"),
    ]  # fmt: skip
    assert len(rows) == 8
    assert {one.verdict for row in rows for one in row if one} == {"passed", "wrong", "masked"}


def test_steps_are_chosen(run: Path) -> None:
    assert trajectories.pick_milestones(list(range(1, 101))) == [1, 20, 100]
    assert trajectories.pick_milestones([1, 2], [1, 20, 100]) == [1, 2]
    assert words(Html(render_page(run, [3, 7])), ".head span") == ["step 3", "step 7"]


def test_the_same_run_gives_the_same_page(run: Path) -> None:
    assert render_page(run) == render_page(run)


def test_a_run_that_still_goes_on(run_copy: Path) -> None:
    """A torn line, a torn Parquet file, episodes of a step without a line, a manifest cut off."""
    whole_page, learn = render_page(run_copy), run_copy / "2-learn"
    with (learn / STEPS_FILE).open("a", encoding="utf-8") as file:
        file.write('{"step": 31, "reward": 0.')
    shutil.copy(learn / TRAJECTORIES_FOLDER / "000001.parquet", learn / TRAJECTORIES_FOLDER / "000031.parquet")
    (learn / MANIFEST_FILE).write_text('{"stage": "lea', encoding="utf-8")
    assert render_page(run_copy) == whole_page
    (learn / TRAJECTORIES_FOLDER / "000030.parquet").write_bytes(b"PAR1 and no more")
    assert Html(render_page(run_copy)).css_matches("details.row")
    shutil.rmtree(learn / TRAJECTORIES_FOLDER)
    assert not Html(render_page(run_copy)).css_matches("details.row")
    (learn / STEPS_FILE).write_text("{}[\n")
    assert "cannot be read" in render_page(run_copy)


def test_a_run_that_has_hardly_begun(tmp_path: Path) -> None:
    (tmp_path / RECIPE_FILE).write_text(TOML, encoding="utf-8")
    assert words(Html(render_page(tmp_path)), "nav .waiting") == ["waiting", "waiting"]
    (tmp_path / RECIPE_FILE).write_text("stages = [", encoding="utf-8")
    StepLog(tmp_path / "1-start").write_step(1, {"trl/loss": 2.0, "trl/grad_norm": float("inf")})
    assert charts(Html(render_page(tmp_path))) == {"Loss": "Loss, steps 1 to 1; last: loss 2"}


def test_the_page_is_bounded(tmp_path: Path) -> None:
    journal = StepLog(tmp_path / "1-learn")
    for step in (1, 2, 3):
        journal.write_trajectories(step, [rollout(f"t{n}", n, True, "x" * 50_000) for n in range(100)])
    for step in range(1, 2001):
        journal.write_step(step, {"reward": step / 2000})
    text = render_page(tmp_path)
    html = Html(text)
    assert sum(len(row.css("ol.steps")) for row in html.css("details.row")) == trajectories.MAX_EPISODES
    assert "42,011 more characters" in text
    assert len(json.loads(html.css_first("svg.chart").attributes["data-read"])["x"]) <= curves.MAX_POINTS
    assert len(text) < 5_000_000


def test_axes_end_on_round_numbers() -> None:
    assert curves.axis_ticks(0, 1) == [0, 0.5, 1]
    assert curves.axis_ticks(0, 0.37) == [0, 0.2, 0.4]
    assert curves.axis_ticks(-0.1, 0.15) == pytest.approx([-0.2, 0, 0.2])
    assert curves.axis_ticks(0, 0) == [0, 0.5, 1]
    for high in (1e-9, 0.011, 3, 17, 99.9, 12345, 7e9):
        marks = curves.axis_ticks(0, high)
        assert marks[0] == 0
        assert marks[-1] >= high * 0.999
        assert 2 <= len(marks) <= 4


def test_nothing_of_the_web_is_markup(tmp_path: Path) -> None:
    hostile_run = a_run(tmp_path / EVIL.replace("/", "").replace("\0", "")[:60], 2, EVIL)
    (hostile_run / RECIPE_FILE).write_text(
        TOML.replace("a run of two stages", EVIL.replace('"', "'")), encoding="utf-8"
    )
    for live in (0, 3):
        text = render_page(hostile_run, live=live)
        html = Html(text)
        assert "evil.example" in text
        assert len(html.css("script")) == text.count("<script") == 2
        assert not html.css_matches("img")
        assert not [script for script in html.css("script") if "document.title" in script.text()]
        assert not [name for tag in html.css("body *") for name in tag.attributes if name.startswith("on")]
        policy = html.css_first("meta[http-equiv]").attributes["content"]
        assert ("connect-src 'self'" in policy) == bool(live)
        assert "unsafe" not in policy
    assert not re.search(r"\b(?:src|href)=\"(?!#)", text)


def test_it_needs_no_torch() -> None:
    heavy = "[name for name in ('torch', 'trl', 'duckdb') if name in sys.modules]"
    code = f"import sys, webemu.rl.train.report_command; print({heavy})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command(run_copy: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(run_copy), "--steps", "1,30"])
    assert (result.exit_code, result.output.strip()) == (0, str(run_copy / "report.html"))
    assert (run_copy / "report.html").read_text(encoding="utf-8") == render_page(run_copy, [1, 30])


def printed(run: Path, *options: str) -> list[str]:
    """The episodes that the command prints."""
    result = CliRunner().invoke(app, ["report", str(run), *options])
    assert result.exit_code == 0
    return [f"==={one}" for one in result.output.split("===")[1:]]


def test_episodes_are_printed_whole(tmp_path: Path) -> None:
    run = a_run(tmp_path, steps=3, text="long " * 4_000 + "end")
    episodes = printed(run, "--episodes", "2")
    titles = [one.partition(" | ")[0] for one in episodes]
    assert titles == [f"=== 2-learn, step {step}" for step in (1, 1, 2, 2, 3, 3)][: len(titles)]
    assert all(one.count("long ") == 6 * 4_000 for one in episodes), "thoughts, calls and results"
    assert len(printed(run, "--episodes", "99", "--steps", "3")) == 8
    right = next(one for one in printed(run, "--episodes", "99", "--steps", "3") if "| reward 1 |" in one)
    assert "| wheel | reward 1 | advantage +0.750 | 1 tokens | over: done" in right
    assert 'finish(answer="Ada", citations=["r1"])' in right


def test_episodes_are_found_by_their_text(tmp_path: Path) -> None:
    run = a_run(tmp_path, steps=3)
    matches = printed(run, "--find", "who made MILL 2")
    assert len(matches) == 4
    assert all("Who made mill 2?" in one for one in matches)
    assert printed(run, "--find", "said by nobody") == []
    assert len(printed(run, "--find", "page")) == 10
    assert len(printed(run, "--find", "page", "--episodes", "3")) == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["nowhere"], "not a training run"),
        (["{run}", "--steps", "a"], "--steps"),
        (["{run}", "--out", "/nowhere/x"], "--out"),
    ],
)
def test_the_command_says_what_to_do(run: Path, more: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["report", *(one.format(run=run) for one in more)])
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 2
    assert message in result.stderr


@pytest.fixture
def live(run_copy: Path) -> Iterator[ReportServer]:
    with ReportServer(run_copy, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_it_is_served_and_grows(live: ReportServer) -> None:
    first = httpx.get(live.address, timeout=60)
    assert (first.status_code, first.text) == (200, render_page(live.run, live=3.0))
    headers = {"If-None-Match": first.headers["ETag"]}
    assert httpx.get(live.address, headers=headers, timeout=60).status_code == 304
    played(StepLog(live.run / "2-learn", 30), 31)
    second = httpx.get(live.address, headers=headers, timeout=60)
    assert second.status_code == 200
    assert charts(Html(second.text))["Reward"].startswith("Reward, steps 1 to 31;")


def test_it_is_served_to_this_machine_alone(live: ReportServer) -> None:
    assert live.server_address[0] == "127.0.0.1"
    assert httpx.get(live.address, headers={"Host": "evil.example"}, timeout=60).status_code == 403
    assert httpx.get(f"{live.address}/recipe.toml", timeout=60).status_code == 404
    assert page_version(live.run) == page_version(live.run)


def test_it_is_served_until_ctrl_c(run_copy: Path) -> None:
    command = [sys.executable, "-m", "webemu.emulator.cli", "report", str(run_copy), "--serve", "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().split()[0]
            assert httpx.get(address, timeout=60).status_code == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_port_that_is_taken(live: ReportServer) -> None:
    result = CliRunner().invoke(app, ["report", str(live.run), "--serve", "--port", live.address.rpartition(":")[2]])
    assert result.exit_code == 1
    assert "--port" in result.stderr


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


def look(browser: Browser, url: str, name: str, **how: Any) -> tuple[Page, list[str], list[str]]:
    """A page that is open, what the browser said, and what it asked for."""
    page, messages, urls = browser.new_page(**how), list[str](), list[str]()
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: urls.append(request.url))
    page.goto(url)
    if artifacts := os.environ.get("WEBEMU_ARTIFACTS"):
        page.screenshot(path=Path(artifacts) / f"train-{name}.png", full_page=True)
    return page, messages, urls


def written(run_copy: Path, **how: Any) -> str:
    (run_copy / "report.html").write_text(render_page(run_copy, **how), encoding="utf-8")
    return (run_copy / "report.html").as_uri()


@pytest.mark.slow
@in_browser
def test_hostile_text_does_not_run(browser: Browser, tmp_path: Path) -> None:
    page, messages, urls = look(browser, written(a_run(tmp_path / "evil", 3, EVIL)), "hostile")
    for row in page.locator("details.row > summary").all():
        row.click()
    expect(page.locator("details.row").first).to_contain_text(EVIL)
    assert page.title() == "evil: training"
    assert (messages, [url for url in urls if not url.startswith("file:")]) == ([], [])


@pytest.mark.slow
@in_browser
@needs_axe
def test_an_accessibility_checker_finds_nothing_serious(
    browser: Browser, run_copy: Path, two_runs: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "compared.html").write_text(render_comparison(two_runs), encoding="utf-8")
    findings = list_serious_findings(browser, (tmp_path / "compared.html").as_uri())
    assert findings + list_serious_findings(browser, written(run_copy)) == []


@pytest.mark.slow
@in_browser
def test_curves_and_episodes_are_read(browser: Browser, run_copy: Path) -> None:
    page, messages, _ = look(browser, written(run_copy), "read")
    chart = page.locator("figure", has_text="Loss").last
    chart.locator("svg").focus()
    page.keyboard.press("Home")
    expect(chart.locator("figcaption")).to_have_text(re.compile(r"Loss\s*step 1\s*0\.5\s*"))
    page.keyboard.press("ArrowRight")
    expect(chart.locator("figcaption")).to_have_text(re.compile(r"Loss\s*step 2\s*0\.25\s*"))
    chart.locator("svg").blur()
    expect(chart.locator("figcaption")).to_have_text(re.compile(r"Loss\s*0\.0167\s*"))
    box = chart.locator("svg").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 38 / 300, box["y"] + 30)
    expect(chart.locator(".step")).to_have_text("step 1")
    page.fill("input[type=search]", "MILL 30")
    expect(page.locator("details.row:visible")).to_have_count(4)
    expect(page.locator("[data-count]")).to_have_text("4 of 8")
    assert messages == []


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize(
    "how", [{"viewport": {"width": 380, "height": 800}}, {"color_scheme": "dark"}], ids=["phone", "dark"]
)
def test_it_is_read_anywhere(browser: Browser, tmp_path: Path, how: dict[str, Any]) -> None:
    url = written(a_run(tmp_path / "wide", 3, "x" * 600 + " word" * 100))
    page, _, _ = look(browser, url, "how" + str(len(how.get("viewport", ()))), **how)
    for row in page.locator("details.row > summary").all():
        row.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light != ("color_scheme" in how)


@pytest.mark.slow
@in_browser
def test_an_open_page_follows_the_run(browser: Browser, live: ReportServer) -> None:
    """Curves grow under the reader's eyes; an open episode stays where it is until newer ones are asked for."""
    page, messages, _ = look(browser, live.address, "live")
    row = page.locator("details.row").nth(1)
    row.locator("summary").click()
    row.scroll_into_view_if_needed()
    top = row.evaluate("one => one.getBoundingClientRect().top")
    journal = StepLog(live.run / "2-learn", 30)
    played(journal, 31, **{"trl/kl": 0.5})
    reward = page.get_by_role("img", name="Reward,")
    expect(reward).to_have_attribute("aria-label", re.compile("steps 1 to 31"), timeout=15_000)
    expect(page.locator("figure", has_text="Divergence")).to_have_count(1)
    assert row.evaluate("one => one.open")
    assert abs(row.evaluate("one => one.getBoundingClientRect().top") - top) < 3
    expect(page.locator(".head span").last).to_have_text("step 30")
    page.get_by_role("button", name="Show newer steps").click()
    expect(page.locator(".head span").last).to_have_text("step 31")
    live.shutdown()
    live.socket.close()
    expect(page.locator("#live")).to_contain_text("does not answer", timeout=15_000)
    assert [line for line in messages if "ERR_CONNECTION" not in line] == []


def finished(folder: Path, stage: str, right: int, count: int = 20, task: str = "mill") -> None:
    """Write the held-out episodes and the manifest of a complete stage; the first `right` answers are right."""
    answers = [rollout(f"{task} {n}", 0, n < right) for n in range(count)]
    (folder / stage).mkdir(exist_ok=True)
    write_rollouts(folder / stage / HELD_OUT_FILE, 1, answers)
    grounded = {"mean": right / count, "low": 0.0, "high": 1.0, "tasks": count}
    text = json.dumps({"stage": stage.partition("-")[2], "held_out": {"grounded": grounded}})
    (folder / stage / MANIFEST_FILE).write_text(text, encoding="utf-8")


@pytest.fixture
def two_runs(run: Path, tmp_path: Path) -> list[Path]:
    """Two runs: the second has another rate, fewer steps, and fewer right answers after its second stage."""
    runs = [Path(shutil.copytree(run, tmp_path / name)) for name in ("plain", "control")]
    for folder, right in zip(runs, (16, 4), strict=True):
        finished(folder, "1-start", 4)
        finished(folder, "2-learn", right)
    (runs[1] / RECIPE_FILE).write_text(TOML.replace("gate = 0.2", "gate = 0.3") + f'note = "{EVIL[:9]}"\n')
    steps_file = runs[1] / "2-learn" / STEPS_FILE
    steps_file.write_text("".join(f"{line}\n" for line in steps_file.read_text().splitlines()[4:20:5]))
    return runs


def test_runs_are_compared_task_by_task(two_runs: list[Path]) -> None:
    html = Html(render_comparison(two_runs))
    rows = words(html, "table:not(.texts) tbody tr")
    assert [row.split(" – ")[0] for row in rows[:2]] == [
        "start plain 20 0.200 0.000 to 1.000",
        "control 20 0.200 0.000 to 1.000",
    ]
    assert rows[2].startswith("learn plain 20 0.800 0.000 to 1.000 +0.600 +0.400 to +0.800 –")
    assert rows[3].startswith("control 20 0.200 0.000 to 1.000 +0.000 +0.000 to +0.000 -0.600 -0.800 to -0.400")
    assert words(html, "table.texts tbody tr") == ["stages.learn.gate 0.2 0.3", "stages.learn.note – </script>"]
    reward = charts(html)["Reward"]
    assert reward.startswith("Reward, steps 1 to 30; last: plain 0.857, control ")
    assert "Grounded answers" in charts(html)


def test_tasks_of_other_webs_are_not_compared(two_runs: list[Path]) -> None:
    finished(two_runs[1], "2-learn", 4, task="wheel")
    row = words(Html(render_comparison(two_runs)), "table:not(.texts) tbody tr")[3]
    assert row == "control 20 0.200 0.000 to 1.000 – – – – –"


def test_the_command_compares_runs(two_runs: list[Path], tmp_path: Path) -> None:
    names = [str(one) for one in two_runs]
    result = CliRunner().invoke(app, ["report", *names, "--out", str(tmp_path / "both.html")])
    assert result.exit_code == 0, result.output
    assert "Training runs compared" in (tmp_path / "both.html").read_text()
    for more, problem in ((["--serve"], "show one run"), (names * 3, "at most 6 runs")):
        refused = CliRunner().invoke(app, ["report", *names, *more])
        assert (refused.exit_code, problem in refused.output) == (1, True), refused.output


def test_a_rollout_is_followed_while_it_is_played(run_copy: Path) -> None:
    journal, version = StepLog(run_copy / "2-learn", 30), page_version(run_copy)
    unfinished = rollout("wheel", 0, True, "the page so far")
    unfinished.messages, unfinished.end_reason, unfinished.score = unfinished.messages[:5], "", Score(None, {})
    journal.write_playing(31, [unfinished] * 10)
    assert page_version(run_copy) != version
    html = Html(render_page(run_copy))
    assert words(html, "#stage-2-playing h3") == ["Being played, step 31"]
    episodes = words(html, "#stage-2-playing details")
    assert len(episodes) == 8
    assert "playing" in episodes[0]
    assert "open shows the page so far" in episodes[0]
    played(journal, 31)
    assert Html(render_page(run_copy)).css_first("#stage-2-playing").text().strip() == ""


def test_episodes_show_their_advantage(run: Path) -> None:
    by_step = trajectories.list_files(run / "2-learn", 30)
    (row,) = [one for one in trajectories.side_by_side([(15, by_step[15])]) if one[0] and one[0].task == "wheel"][:1]
    assert row[0].group == (1.0, 1.0, 0.0, 0.0)
    assert row[0].advantage == 0.5
    assert "+0.500 before scaling" in render_page(run, [15])
