"""`webemu eval` over a real web, with policies and with a server that stands in for a model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.rl.openai_server import Fault, openai_server
from tests.rl.stand_ins import failing, gold, question, searcher
from tests.rl.worlds import World
from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import InfrastructureError
from webemu.emulator.cli import app
from webemu.rl.evaluation.folder import EvaluationFolder, FolderError
from webemu.rl.evaluation.run import MAX_CONSECUTIVE_OUTAGES, RunSettings, attempt_seed, list_attempts, run_attempts
from webemu.rl.judge.answers import REMOVED
from webemu.rl.policies import AgentPolicy, Attempt
from webemu.rl.policies.oracle import play_with_gold
from webemu.rl.tasks import Task, load, save

EVAL = [sys.executable, "-m", "webemu.emulator.cli", "eval", "-q"]


def evaluate(world: World, out: Path, *arguments: str, quiet: bool = True) -> tuple[int, str, list[str]]:
    """The command in this process: exit status, output, lines of errors."""
    command = ["eval", "--server", world.url, "--out", str(out), *arguments]
    done = CliRunner().invoke(app, [*command, "-q"] if quiet else command)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr.splitlines()


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]


def settled(out: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The last line of each attempt, without what a clock said."""
    return {(row["task"], row["sample"]): row | {"seconds": 0} for row in lines(out)}


@pytest.fixture(scope="module")
def tasks(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    sample = world.tasks[:20] + tuple(task for task in world.tasks if task.hops > 1)[:10]
    split = [replace(task, split="test" if number % 2 else "train") for number, task in enumerate(sample)]
    save(path, {task.id: task for task in split}.values())
    return path


def test_a_policy_is_measured(world: World, tasks: Path, tmp_path: Path) -> None:
    code, output, errors = evaluate(world, tmp_path / "o", "--tasks", str(tasks), "--baseline", "oracle")
    assert (code, errors) == (0, [])
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["overall"]["figures"]["pass@1"]["mean"] == 1
    assert set(summary["by hops"]) >= {"1", "2"}
    assert output.splitlines()[1].split()[:3] == ["all", str(summary["overall"]["tasks"]), "1.000"]
    assert "report.html" in output
    row = lines(tmp_path / "o")[0]
    assert [step["tool"] for turn in row["turns"] for step in turn["steps"]][-1] == "finish"
    assert row["opened"]
    assert row["recall"] == 1
    assert row["terms"]["grounding"] == 1
    assert (tmp_path / "o" / "report.html").stat().st_size > 10_000


def test_a_model_is_measured(world: World, tasks: Path, tmp_path: Path) -> None:
    """The stand-in is right about half of the questions where its first result is the page, and "not found" else."""
    answers = dict(list(gold(world.tasks).items())[:10])
    with openai_server(searcher(answers), seconds=0.05) as server:
        code, _, errors = evaluate(
            *(world, tmp_path / "m", "--tasks", str(tasks), "--model", "stand-in", "--base-url", server.url),
            *("--temperature", "0.7", "--max-tokens", "64", "--extra-json", '{"top_k": 5}', "--concurrency", "8"),
        )
    assert (code, errors) == (0, [])
    rows = lines(tmp_path / "m")
    right = sum(row["question"] in answers for row in rows)
    summary = json.loads((tmp_path / "m" / "summary.json").read_text())
    assert (
        summary["overall"]["figures"]["em"]["mean"] == pytest.approx(right / len(rows)) == pytest.approx(10 / len(rows))
    )
    assert summary["overall"]["figures"]["grounded"]["mean"] <= summary["overall"]["figures"]["em"]["mean"]
    assert summary["overall"]["figures"]["tokens"]["mean"] > 100
    assert all(row["prompt_tokens"] > 0 for row in rows)
    assert 2 <= server.peak_open <= 8
    request = server.requests[0]
    assert (request["temperature"], request["max_tokens"], request["top_k"]) == (0.7, 64, 5)
    assert {tool["function"]["name"] for tool in request["tools"]} == {"search", "open", "find", "finish", "ask_user"}
    assert "stand-in" in (tmp_path / "m" / "report.html").read_text()


def test_what_calls_earned_adds_up_and_two_evaluations_are_compared(world: World, tasks: Path, tmp_path: Path) -> None:
    for baseline in ("snippet-only", "oracle"):
        evaluate(world, tmp_path / baseline, "--tasks", str(tasks), "--baseline", baseline)
    for row in lines(tmp_path / "oracle"):
        steps = [step for turn in row["turns"] for step in turn["steps"]]
        earned = [step.get("earned", {}) for step in steps]
        assert sum(parts.get("grounding", 0) for parts in earned) == pytest.approx(row["terms"]["grounding"])
        assert sum(parts.get("recall", 0) for parts in earned) == pytest.approx(row["recall"])
        assert [step["tool"] for step, parts in zip(steps, earned, strict=True) if "grounding" in parts] == ["open"]
        assert earned[-1]["answer"] == 1
    page = tmp_path / "comparison.html"
    command = ["report", str(tmp_path / "snippet-only"), str(tmp_path / "oracle"), "--out", str(page)]
    assert CliRunner().invoke(app, command).output.strip() == str(page)
    assert "snippet-only and oracle" in page.read_text()
    alone = CliRunner().invoke(app, ["report", str(tmp_path / "oracle")])
    assert alone.exit_code == 1
    assert f"the page of one is {tmp_path / 'oracle' / 'report.html'}" in alone.stderr


def test_pass_at_k_of_a_model_that_is_right_now_and_then(world: World, tasks: Path, tmp_path: Path) -> None:
    right = searcher(gold(world.tasks), native=False)
    wrong = searcher({}, native=False)
    with openai_server(lambda body: (right if body["seed"] % 2 else wrong)(body)) as server:
        code, _, errors = evaluate(
            *(world, tmp_path / "k", "--tasks", str(tasks), "--model", "stand-in", "--base-url", server.url),
            *("--protocol", "react", "--samples", "4", "--limit", "8"),
        )
    assert (code, errors) == (0, [])
    rows = lines(tmp_path / "k")
    figures = json.loads((tmp_path / "k" / "summary.json").read_text())["overall"]["figures"]
    assert figures["em"]["mean"] == pytest.approx(sum(row["seed"] % 2 for row in rows) / 32)
    assert figures["pass@1"]["mean"] < figures["pass@2"]["mean"] <= figures["pass@4"]["mean"]
    assert "tools" not in server.requests[0]
    assert server.requests[0]["stop"] == ["\nObservation:"]


def test_the_same_run_gives_the_same_lines(world: World, tasks: Path, tmp_path: Path) -> None:
    for name, crowd in (("a", "1"), ("b", "12")):
        code, _, _ = evaluate(
            *(world, tmp_path / name, "--tasks", str(tasks), "--baseline", "random", "--seed", "5"),
            *("--samples", "2", "--concurrency", crowd),
        )
        assert code == 0
    assert settled(tmp_path / "a") == settled(tmp_path / "b")
    first_bytes, other = ((tmp_path / name / "summary.json").read_bytes() for name in "ab")
    assert first_bytes == other


def test_a_torn_run_goes_on(world: World, tasks: Path, tmp_path: Path) -> None:
    arguments = ("--tasks", str(tasks), "--baseline", "scripted")
    assert evaluate(world, tmp_path / "t", *arguments)[0] == 0
    before = settled(tmp_path / "t")
    path = tmp_path / "t" / "episodes.jsonl"
    rows_of_file = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows_of_file[:5]) + rows_of_file[5][:200])
    code, _, progress = evaluate(world, tmp_path / "t", *arguments, quiet=False)
    assert (code, settled(tmp_path / "t")) == (0, before)
    assert f"{len(rows_of_file)}/{len(rows_of_file)}" in progress[-1]
    assert ", reward 1.000, masked 0" in progress[-1]
    assert path.read_bytes().splitlines(keepends=True)[:5] == rows_of_file[:5]
    assert len(lines(tmp_path / "t")) == len(rows_of_file)


def test_what_was_masked_is_made_again(world: World, tasks: Path, tmp_path: Path) -> None:
    script = searcher(gold(world.tasks))
    third = [row["question"] for row in map(json.loads, tasks.read_text().splitlines())][::3]
    out, model = tmp_path / "m", ("--tasks", str(tasks), "--model", "stand-in", "--base-url")
    with openai_server(failing(script, lambda body: question(body) in third, Fault(400, "scripted"))) as server:
        code, output, _ = evaluate(world, out, *model, server.url)
    assert code == 0
    assert f"masked    {len(third)} (endpoint-bad-request {len(third)})" in output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["overall"]["masked"] == summary["ends"]["masked"] == len(third)
    assert all(row["reward"] is None for row in lines(out) if row["mask"])
    with openai_server(script) as server:
        code, output, _ = evaluate(world, out, *model, server.url)
    assert len(server.requests) == 3 * len(third)
    assert (code, "masked    " in output) == (0, False)
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["overall"]["masked"], summary["made again"]) == (0, len(third))


@pytest.mark.slow
def test_ctrl_c_leaves_a_folder_to_go_on_with(world: World, tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    with openai_server(searcher(gold(world.tasks)), seconds=0.2) as server:
        command = [*EVAL, "--server", world.url, "--out", str(out), "--tasks", str(tasks), "--concurrency", "4"]
        model = ["--model", "stand-in", "--base-url", server.url]
        # A shell's background jobs are born deaf to it.
        process = subprocess.Popen(
            [*command, *model], stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        until = time.monotonic() + 60
        while (time.monotonic() < until and not (out / "episodes.jsonl").exists()) or not lines(out):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors.splitlines()[0].startswith("webemu: stopped; ")
        assert errors.splitlines()[1] == "  -> run the same command again to continue"
        line_count = len(lines(out))
        assert 0 < line_count < len(tasks.read_text().splitlines())
        assert subprocess.run([*command, *model], check=False, capture_output=True, timeout=60).returncode == 0
    assert len(settled(out)) == len(lines(out)) == len(tasks.read_text().splitlines())


def test_another_evaluation_is_not_mixed_in(world: World, tasks: Path, tmp_path: Path) -> None:
    arguments = ("--tasks", str(tasks), "--limit", "1", "--baseline")
    assert evaluate(world, tmp_path / "x", *arguments, "oracle")[0] == 0
    code, output, errors = evaluate(world, tmp_path / "x", *arguments, "random")
    assert (code, output, len(errors)) == (1, "", 2)
    assert "policy: 'oracle' there, 'random' now" in errors[0]
    assert evaluate(world, tmp_path / "x", *arguments, "oracle", "--concurrency", "2")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no agent was given"),
        (("--model", "x"), "no address"),
        (("--model", "x", "--base-url", "127.0.0.1:1"), "must begin with http"),
        (("--model", "x", "--base-url", "http://127.0.0.1:1/v1", "--baseline", "oracle"), "uses no model"),
        (("--model", "x", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
        (("--baseline", "oracle", "--split", "dev"), "no tasks of the split 'dev'"),
        (("--baseline", "oracle", "--session-policy", "[1]"), "--session-policy must be a JSON object"),
        (("--baseline", "oracle", "--session-policy", '{"whether": 1}'), "whether"),
    ],
)
def test_what_cannot_be_done_is_told(
    world: World, tasks: Path, tmp_path: Path, arguments: Sequence[str], words: str
) -> None:
    code, _, errors = evaluate(world, tmp_path / "e", "--tasks", str(tasks), *arguments)
    assert (code, len(errors)) == (1, 2), errors
    assert words in errors[0]
    assert errors[1].startswith("  -> ")


def test_a_key_that_is_refused_ends_the_run(world: World, tasks: Path, tmp_path: Path) -> None:
    with openai_server(lambda body: Fault(401, "wrong key")) as server:
        code, _, errors = evaluate(
            world, tmp_path / "e", "--tasks", str(tasks), "--model", "stand-in", "--base-url", server.url
        )
    assert (code, len(errors)) == (1, 2)
    assert "wrong key" in errors[0]
    assert "--api-key-env" in errors[1]


@pytest.mark.slow
def test_an_endpoint_that_cannot_be_reached_is_a_failure(world: World, tasks: Path, tmp_path: Path) -> None:
    model = ("--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--limit", "2")
    code, output, errors = evaluate(world, tmp_path / "e", "--tasks", str(tasks), *model)
    assert (code, len(errors)) == (1, 2), errors
    assert "an outage masked 2 of 2 attempts; the last: endpoint-unreachable: m at http://127.0.0.1:1/v1" in errors[0]
    assert "masked    2 (endpoint-unreachable 2)" in output


def test_ids_must_differ(world: World, tmp_path: Path) -> None:
    save(tmp_path / "t.jsonl", [world.tasks[0], world.tasks[0]])
    code, _, errors = evaluate(world, tmp_path / "e", "--tasks", str(tmp_path / "t.jsonl"), "--baseline", "oracle")
    assert (code, len(errors)) == (1, 2)
    assert "occurs twice" in errors[0]


def ran(
    world: World, folder: EvaluationFolder, policy: AgentPolicy, tasks: Sequence[Task], setting: RunSettings
) -> None:
    async def once() -> None:
        async with AsyncClient(world.url, timeout=30, retries=0) as client:
            await run_attempts(tasks, policy, client, folder, setting)

    asyncio.run(once())


def test_a_run_of_outages_is_given_up(world: World, tmp_path: Path) -> None:
    async def out_of_reach(attempt: Attempt) -> None:
        attempt.endpoint_outage = "endpoint-unreachable: nobody there"

    with EvaluationFolder(tmp_path / "f", {}) as folder, pytest.raises(InfrastructureError, match="nobody there"):
        ran(world, folder, out_of_reach, world.tasks, RunSettings(concurrency=1))
    assert len(lines(tmp_path / "f")) == MAX_CONSECUTIVE_OUTAGES


def test_weather_is_seen_and_an_outage_masks(world: World, tmp_path: Path) -> None:
    with EvaluationFolder(tmp_path / "f", {}) as folder:
        weather = {"weather": {"errors": 0.3}}
        ran(world, folder, play_with_gold, world.tasks[:20], RunSettings(session=weather))
    rows = lines(tmp_path / "f")
    assert any(step["kind"] == "weather" for row in rows for turn in row["turns"] for step in turn["steps"])
    assert not any(row["mask"] for row in rows)


def test_seeds_differ_between_samples_and_tasks(world: World) -> None:
    setting = RunSettings(samples=3, seed=4)
    by_id = {task.id: task for task in world.tasks}
    every = {attempt_seed(4, by_id[name], sample) for name, sample in list_attempts(tuple(by_id.values()), setting)}
    assert len(every) == 3 * len(by_id)
    assert max(every) < 2**31


def test_a_damaged_folder_is_told(tmp_path: Path) -> None:
    EvaluationFolder(tmp_path / "f", {"a": 1}).close()
    (tmp_path / "f" / "episodes.jsonl").write_text("no\n")
    with pytest.raises(FolderError, match="line 1 is damaged"):
        EvaluationFolder(tmp_path / "f", {"a": 1})
    (tmp_path / "f" / "manifest.json").write_text("[")
    with pytest.raises(FolderError, match="cannot be read"):
        EvaluationFolder(tmp_path / "f", {"a": 1})
    (tmp_path / "f" / "manifest.json").unlink()
    with pytest.raises(FolderError, match="no manifest"):
        EvaluationFolder(tmp_path / "f", {"a": 1})


def test_a_server_is_started_over_a_collection(root: Path, tasks: Path, tmp_path: Path) -> None:
    command = [*EVAL, "--root", str(root), "--out", str(tmp_path / "s"), "--tasks", str(tasks), "--limit", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "WEBEMU_SERVER"}
    done = subprocess.run([*command, "--baseline=oracle"], capture_output=True, text=True, env=environment, check=True)
    assert "all" in done.stdout
    assert len(lines(tmp_path / "s")) == 2


def test_who_reads_and_who_does_not(world: World, tasks: Path, tmp_path: Path) -> None:
    """The script reads. The oracle has its answers from elsewhere, and the probe sees it."""
    for name, verdict in (("scripted", "reads"), ("oracle", "closed-book")):
        code, output, _ = evaluate(world, tmp_path / name, "--tasks", str(tasks), "--baseline", name, "--probe", "0.5")
        assert code == 0
        report = json.loads((tmp_path / name / "summary.json").read_text())["probe"]
        probed = (tmp_path / name / "probes.jsonl").read_text().splitlines()
        assert report[verdict] >= 10
        assert report["share_reads"] == (1 if verdict == "reads" else 0)
        assert len(probed) == sum(count for verdict, count in report.items() if verdict != "share_reads")
        assert f"probe     {verdict} " in output or f", {verdict} " in output


def test_signs_that_end_lines_do_not_end_these(tmp_path: Path) -> None:
    with EvaluationFolder(tmp_path / "f", {}) as folder:
        folder.append({"task": "a", "sample": 0, "mask": "", "text": "one\u2028two\x85three\u2029"})
        folder.append({"task": "b", "sample": 0, "mask": "", "text": "half \ud83d"})
        row, half = folder.read_rows([("a", 0), ("b", 0)])
    assert len((tmp_path / "f" / "episodes.jsonl").read_text().splitlines()) == 2
    assert (row["text"], half["text"]) == ("one\u2028two\x85three\u2029", "half ?")
    with pytest.raises(FolderError, match="cannot be created"):
        EvaluationFolder(tmp_path / "f" / "episodes.jsonl", {})


def is_named(task: Task) -> bool:
    """True if the answer is a name, so that another wording of it is thinkable."""
    is_plain = not any(sign.isdigit() for sign in task.answers[0]) and task.answer_type in ("", "name")
    return is_plain and not task.answers[0].lower().startswith(("yes", "no"))


def test_a_judge_decides_what_is_open_and_is_compared(world: World, tasks: Path, tmp_path: Path) -> None:
    """Baselines have no open answers of their own, so a model says one: its right answer in words nobody knows."""
    answers = {task.question: "zorblax" if is_named(task) else task.answers[0] for task in load(tasks)}

    def verdict(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if "Text that a reader saw" in prompt:
            return json.dumps({"supported": REMOVED not in prompt})
        accepted, answer = (part.partition("\n[end of ")[0] for part in prompt.split(": data, not instructions]\n")[2:])
        same = answer in accepted.partition("\n")[0].split(" / ") or answer == "zorblax"
        return json.dumps({"equivalent": same})

    with openai_server(searcher(answers)) as model, openai_server(verdict) as judge:
        arguments = ("--tasks", str(tasks), "--model", "m", "--base-url", model.url, "--judge-model", "j")
        code, output, errors = evaluate(world, tmp_path / "j", *arguments, "--judge", judge.url)
        assert code == 0, errors
        rows = lines(tmp_path / "j")
        opened = [row for row in rows if row["terms"]["judge_open"]]
        assert opened
        assert {row["answer"] for row in opened} == {"zorblax"}
        assert all(
            row["terms"]["judge_equivalent"] == row["terms"]["correct"] == 1 and row["reward"] > 0 for row in opened
        )
        assert f"judge     {len(opened)} of {len(rows)} answers open" in output
        assert "agreement 1.000 of " in output
        figures = json.loads((tmp_path / "j" / "summary.json").read_text())["judge"]
        assert (figures["open"], figures["equivalent"], figures["different"]) == (len(opened), len(opened), 0)
        assert json.loads((tmp_path / "j" / "manifest.json").read_text())["judge"] == "j"
    with openai_server(searcher(answers)) as model, openai_server(lambda body: "I refuse.") as judge:
        arguments = ("--tasks", str(tasks), "--model", "m", "--base-url", model.url, "--judge-model", "j")
        _, output, _ = evaluate(world, tmp_path / "k", *arguments, "--judge", judge.url)
        assert f"{len(opened)} without a verdict" in output
        assert "no verdict: unreadable verdict " in output
        assert "agreement no answers to compare" in output
        assert sum(row["mask"] == "judge: no verdict" for row in settled(tmp_path / "k").values()) == len(opened)


def test_without_a_judge_nothing_is_said_of_it(world: World, tasks: Path, tmp_path: Path) -> None:
    code, output, _ = evaluate(world, tmp_path / "o", "--tasks", str(tasks), "--baseline", "oracle", "--limit", "3")
    assert code == 0
    assert not any(line.startswith(("judge", "agreement")) for line in output.splitlines())
    assert "judge" not in json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert "judge" not in json.loads((tmp_path / "o" / "summary.json").read_text())
    assert not any(name.startswith("judge") for row in lines(tmp_path / "o") for name in row["terms"])
    code, _, errors = evaluate(
        world, tmp_path / "o", "--tasks", str(tasks), "--baseline", "oracle", "--judge", "http://x"
    )
    assert code == 1
    assert "--judge-model" in errors[0]
