"""One place scores episodes: without a judge by the rules, with one by its verdicts, which are asked for only once."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.rl.openai_server import Fault, openai_server
from tests.rl.worlds import World
from webemu.rl.adapters import trl
from webemu.rl.adapters.environment_config import EnvironmentConfig, pack_task
from webemu.rl.judge.judge import NO_VERDICT
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.judge.verdicts import read_stored_verdicts
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.scoring import AGREES, count_judge, score_episode, score_episode_async, score_episodes
from webemu.rl.tasks import Evidence, Task

URL = "https://gold.example/city"
QUOTE = "The largest city of Tarn is New York City."
TASK = Task("t", "What is the largest city of Tarn?", ("New York City",), (Evidence(URL, QUOTE, "New York City"),))
OPEN_ANSWERS = ("The Big Apple", "Gotham", "New Amsterdam", "Empire City", "Knickerbocker Town", "Hub of Tarn")


def record(answer: str) -> EpisodeRecord:
    request = Request(1, 200, 0, 10, ("q",), (URL,), frozenset(), False)
    return EpisodeRecord(TASK, answer, (URL,), (request,), {url_key(URL): (QUOTE,)}, {}, "finished")


def allow(body: dict[str, Any]) -> str:
    return json.dumps({"equivalent": "The Big Apple" in body["messages"][-1]["content"]})


def test_the_rules_decide_without_a_judge() -> None:
    assert [score.reward for score in score_episodes([record("New York City"), record("The Big Apple")])] == [1.0, 0.0]
    assert threading.active_count() == len(threading.enumerate())
    assert not any(thread.name == "webemu-judge" and not thread.daemon for thread in threading.enumerate())


def test_a_judge_decides_what_is_open_and_nothing_else() -> None:
    with openai_server(allow) as server:
        judge = JudgeSpec(server.url, "open")
        answers = ["New York City", "The Big Apple", "Gotham", "1921"]
        assert [score_episode(record(answer), judge).reward for answer in answers] == [1.0, 1.0, 0.0, 0.0]
        assert len(server.requests) == count_judge(judge).requests == 2
        assert asyncio.run(score_episode_async(record("The Big Apple"), judge)).reward == 1.0
        assert len(server.requests) == 2, "the same question, asked from another event loop"


def test_episodes_of_a_step_are_judged_concurrently() -> None:
    with openai_server(allow, seconds=0.3) as server:
        scores = score_episodes([record(answer) for answer in OPEN_ANSWERS], JudgeSpec(server.url, "many"))
        assert [score.reward for score in scores] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert server.peak_open == len(OPEN_ANSWERS)
        one_by_one = JudgeSpec(server.url, "single", concurrency=1)
        server.peak_open = 0
        score_episodes([record(answer) for answer in OPEN_ANSWERS[:3]], one_by_one)
        assert server.peak_open == 1


@pytest.mark.parametrize(
    "reply",
    [
        lambda body: Fault(400, "no such thing"),
        lambda body: Fault(200, raw=b"<html>"),
        lambda body: "Yes, certainly.",
        lambda body: '{"equivalent": true, "note": "so the page says"}',
        lambda body: '{"equivalent": "true"}',
    ],
    ids=["error", "garbage", "prose", "further field", "text for truth"],
)
def test_a_judge_that_fails_masks_what_is_open(reply: Callable[[dict[str, Any]], Any]) -> None:
    with openai_server(reply) as server:
        judge = JudgeSpec(server.url, "failing")
        decided, is_open = score_episodes([record("New York City"), record("The Big Apple")], judge)
        assert (decided.reward, decided.mask) == (1.0, "")
        assert (is_open.reward, is_open.mask) == (None, NO_VERDICT)
        assert sum(count_judge(judge).failures.values()) == 1


def test_the_episodes_of_one_call_of_trl_are_judged_concurrently(world: World) -> None:
    task = world.of("founded_by")
    with openai_server(allow, seconds=0.3) as server:
        config = EnvironmentConfig(world.url, judge=JudgeSpec(server.url, "trl"))
        environments = [trl.environment_factories(config)["search"]() for _ in range(4)]
        for number, environment in enumerate(environments):
            environment.reset(task=pack_task(task))
            environment.open(link=task.evidence[0].url)
            answer = ["Samuel Clemens", "Clara Oldfield", "Ned Marsh", task.answers[0]][number]
            environment.finish(answer=answer, citations=[task.evidence[0].url])
        assert trl.reward(environments) == [0.0, 0.0, 0.0, 1.0]
        assert (server.peak_open, len(server.requests)) == (3, 3)
        assert trl.reward(environments) == [0.0, 0.0, 0.0, 1.0]
        assert len(server.requests) == 3


def test_verdicts_are_kept_in_a_file(tmp_path: Path) -> None:
    cache = tmp_path / "verdicts.jsonl"
    with openai_server(allow) as server:
        judge = JudgeSpec(server.url, "kept", cache=str(cache))
        first = score_episodes([record(answer) for answer in OPEN_ANSWERS], judge)
        assert len(server.requests) == len(OPEN_ANSWERS) == len(read_stored_verdicts(cache))
        with cache.open("a") as file:
            file.write('{"question": "cut o')
        again = score_episodes([record(answer) for answer in OPEN_ANSWERS], replace(judge, concurrency=3))
        assert again == first
        assert len(server.requests) == len(OPEN_ANSWERS), "another judge of the same model reads the file"
        score_episode(record("The Big Apple"), replace(judge, model="another"))
        assert len(server.requests) == len(OPEN_ANSWERS) + 1


def test_agreement_with_the_rules_is_a_term_and_changes_no_reward() -> None:
    def trust(body: dict[str, Any]) -> str:
        return json.dumps({"equivalent": True})

    with openai_server(trust) as server:
        answers = ["New York City", "New York City, in Tarn", "1921", "1922", "1923", "Gotham"]
        judge = JudgeSpec(server.url, "trusting", compare=2)
        scores = score_episodes([record(answer) for answer in answers], judge)
        assert [score.terms.get(AGREES) for score in scores] == [1.0, 1.0, 0.0, 0.0, None, None]
        assert [score.reward for score in scores] == [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def test_a_wrong_configuration_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="judge: unknown key 'url'; known keys: base_url, model"):
        JudgeSpec.from_config({"url": "x"})
    with pytest.raises(ValueError, match="a judge needs base_url and model"):
        JudgeSpec("", "m")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ValueError, match="NO_SUCH_KEY, which holds the judge's API key, is not set"):
        score_episode(record("x"), JudgeSpec("http://127.0.0.1:9/v1", "m", key_env="NO_SUCH_KEY"))
    monkeypatch.setenv("SOME_KEY", "secret")
    assert "secret" not in repr(JudgeSpec("http://127.0.0.1:9/v1", "m", key_env="SOME_KEY"))
