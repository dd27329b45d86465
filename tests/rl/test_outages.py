"""Programs meet a busy server: they try again, stay bounded, end cleanly, and report in one line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.rl.front import Trouble, before
from tests.rl.worlds import World
from webemu.agent_client import Client
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.responses import error_of
from webemu.rl import session_client
from webemu.rl.environment import Episode
from webemu.rl.ledger import session_report_call
from webemu.rl.session_client import Delay, open_session
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import MAX_CONCURRENT, EventLoopThread
from webemu.rl.train.patterns import play_traces

TROUBLES: list[Trouble] = ["503", "reset", "lost", "slow"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.agent_client.retry.FIRST_DELAY_SECONDS", 0.02)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_episode_bears_a_server_that_fails_for_a_while(world: World, trouble: Trouble) -> None:
    task = world.tasks[0]
    with before(world.url, trouble, 4) as front, Client(front.url, retries=0, timeout=10) as client:
        episode = Episode(client)
        episode.reset(task)
        assert episode.call("search", {"query": task.question}).kind == "results", episode.mask_reason
        assert episode.call("open", {"link": "r1"}).kind == "page", episode.mask_reason
        record = episode.record()
    assert not record.masked
    assert {url for one in record.requests for url in one.opened}
    assert front.request_counts["POST sessions"] == (1 if trouble == "slow" else 5)


def test_a_session_that_is_opened_twice_has_a_ledger_of_its_own(world: World) -> None:
    """The first answer is lost: its session stays empty, and the episode's own has what the episode did."""
    task = world.tasks[0]
    with before(world.url, "lost", 1) as front, Client(front.url, retries=0) as client:
        front.free = {"GET search", "GET sessions"}
        episode = Episode(client)
        episode.reset(task)
        episode.call("search", {"query": task.question})
        record = episode.record()
    abandoned = json.loads(front.lost[0])["session"]
    assert len(front.lost) == 1
    assert [one.searches for one in record.requests] == [(task.question,)]
    with world.client() as client:
        assert client.request(session_report_call(abandoned)) == ()


def test_retry_after_is_honoured_and_pauses_are_those_of_the_seed() -> None:
    def pauses(policy: dict[str, int], after: float) -> list[float]:
        steps, waits = open_session(policy, 3), []
        next(steps)
        try:
            while True:
                error = InfrastructureError("busy", status=503)
                error.can_retry, error.retry_after = True, after
                pause = steps.throw(error)
                assert isinstance(pause, Delay)
                waits.append(pause.seconds)
                next(steps)
        except InfrastructureError:
            return waits

    assert pauses({"seed": 1}, 0) == pauses({"seed": 1}, 0) != pauses({"seed": 2}, 0)
    assert len(pauses({"seed": 1}, 0)) == 3
    assert all(pause >= 2 for pause in pauses({"seed": 1}, 2))


@pytest.mark.parametrize(
    ("header", "minimum", "maximum"),
    [("7", 7, 7), ("Wed, 21 Oct 2065 07:28:00 GMT", 1e6, 1e11), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("x", 0, 0)],
)
def test_retry_after_is_read_as_a_number_and_as_a_date(header: str, minimum: float, maximum: float) -> None:
    import httpx

    request = httpx.Request("GET", "http://127.0.0.1/")
    error = error_of(httpx.Response(503, headers={"Retry-After": header}, request=request))
    assert isinstance(error, InfrastructureError)
    assert minimum <= error.retry_after <= maximum


def test_a_request_is_not_sent_again_for_ever(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes connections and never answers costs a bounded time, whatever the retries."""
    monkeypatch.setattr(session_client, "MAX_RETRY_SECONDS", 0.5)
    with before(world.url, "silent", 99) as front, Client(front.url, retries=0, timeout=0.4) as client:
        episode, start = Episode(client, Limits(retries=1000)), time.monotonic()
        episode.reset(world.tasks[0])
        assert episode.masked
        assert time.monotonic() - start < 100  # a thousand retries would take 400 s


@pytest.mark.parametrize("trouble", TROUBLES)
def test_traces_bear_a_server_that_fails_for_a_while(world: World, trouble: Trouble) -> None:
    tasks = [Task(f"t{n}", f"What is the population of Wick {n}?", ("1",)) for n in range(20)]
    with before(world.url, trouble, 5) as front, EventLoopThread(front.url, timeout=10) as room:
        conversations = play_traces(room, tasks, {"guess": 0.5, "unread": 0.5}, Limits(), 1)
    assert len(conversations) == len(tasks)
    assert all(messages[-1]["tool_calls"][0]["function"]["name"] == "finish" for messages in conversations)


def test_work_is_bounded_and_comes_back_in_order(world: World) -> None:
    running = peak = 0

    async def work(number: int) -> int:
        nonlocal running, peak
        running, peak = running + 1, max(peak, running + 1)
        await asyncio.sleep(0.001 * (number % 7))
        running -= 1
        return number

    with EventLoopThread(world.url) as room:
        assert room.gather(work(number) for number in range(1000)) == list(range(1000))
        assert 64 <= peak == MAX_CONCURRENT <= 256
        assert room.gather([]) == []


def test_the_first_error_ends_the_others_before_it_is_raised(world: World) -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(0 if number == 5 else 60)
            raise InfrastructureError("no answer")
        finally:
            ended.append(number)

    with EventLoopThread(world.url) as room, pytest.raises(InfrastructureError, match="no answer"):
        room.gather([work(number) for number in range(500)])  # a list: those that never began are closed too
    assert sorted(ended) == list(range(MAX_CONCURRENT))


DEAD = """
import sys
from pathlib import Path
from webemu.rl.state import Limits
from webemu.rl.tasks import load
from webemu.rl.train.patterns import play_traces
from webemu.rl.train.event_loop import EventLoopThread
import webemu.agent_client.retry
webemu.agent_client.retry.FIRST_DELAY_SECONDS = 0.01
with EventLoopThread(sys.argv[1]) as loop_thread:
    play_traces(loop_thread, load(Path(sys.argv[2]))[:2000], {"unread": 1.0}, Limits(), 1)
"""


def test_an_outage_for_good_leaves_one_error_and_no_complaints_of_the_loop(root: Path, world: World) -> None:
    tasks, row = root / "many.jsonl", {"question": "What is the population of Wick?", "answers": ["1"]}
    tasks.write_text("".join(json.dumps({"id": f"t{n}", **row}) + "\n" for n in range(2000)), encoding="utf-8")
    with before(world.url, "503", 10**6) as front:
        command = [sys.executable, "-P", "-c", DEAD, front.url, str(tasks)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 1
    assert "Event loop is closed" not in done.stderr
    assert "never awaited" not in done.stderr
    assert "InfrastructureError: task t" in done.stderr.splitlines()[-1]
    assert front.peak_open <= 2 * MAX_CONCURRENT


def test_an_evaluation_begins_at_a_server_that_is_busy(world: World, root: Path, tmp_path: Path) -> None:
    from webemu.rl.evaluation.agents import BaselineName, baseline_agent
    from webemu.rl.evaluation.evaluate import Evaluation, evaluate
    from webemu.rl.evaluation.run import RunSettings

    evaluation = Evaluation(
        [world.tasks[0]], {}, baseline_agent(BaselineName.oracle, world.tasks), RunSettings(), tmp_path / "out"
    )
    with before(world.url, "503", 4) as front:
        result = asyncio.run(evaluate(evaluation, front.url, lambda _: None))
    assert result.summary.overall.masked == 0


@pytest.mark.slow
@pytest.mark.parametrize("words", [["quiz"], ["tasks", "audit"], ["eval"], ["tasks", "build"]], ids=" ".join)
@pytest.mark.parametrize("trouble", ["503", "reset"])
def test_commands_bear_a_server_that_fails_for_a_while(
    world: World, root: Path, tmp_path: Path, words: list[str], trouble: Trouble
) -> None:
    tasks = root / "web" / "tasks.jsonl"
    with before(world.url, trouble, 3) as front:
        more = {
            "quiz": [str(tasks), "--limit", "2"],
            "audit": [str(tasks), "--limit", "5", "--root", str(root)],
            "eval": ["--tasks", str(tasks), "--baseline", "oracle", "--limit", "2", "--out", str(tmp_path / "out")],
            "build": [
                "--from",
                str(tasks),
                "--count",
                "3",
                "--root",
                str(root),
                "--out",
                str(tmp_path / "tasks.jsonl"),
            ],
        }[words[-1]]
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *words, *more, "--server", front.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "masked    " not in done.stdout
    assert sum(front.request_counts.values()) > 3
