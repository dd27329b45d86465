"""Credit of tool calls: the parts of each reward term lie on the calls that earned them, and add up to the term."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from webemu.rl.credit import credit_calls
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, Progress, url_key
from webemu.rl.rewards import SHORT, rubric_of
from webemu.rl.rubric import Score
from webemu.rl.tasks import Evidence, Task

TOWN, RIVER, OTHER = "https://a.example/wick", "https://a.example/loo", "https://a.example/other"
PAGES = {
    TOWN: "Wick\nWick is a town on the River Loo.",
    RIVER: "River Loo\nThe source of the River Loo is Mount Ard.",
    OTHER: "Nothing of interest stands here.",
}
TASK = Task(
    "t",
    "Which mountain is the source of the river of Wick?",
    ("Mount Ard",),
    (
        Evidence(TOWN, quote="Wick is a town on the River Loo.", value="River Loo"),
        Evidence(RIVER, quote="The source of the River Loo is Mount Ard.", value="Mount Ard"),
    ),
    hops=2,
)


def request(step: int, url: str = "", *, attempt: int = 0, failed: bool = False) -> Request:
    return Request(step, 503 if failed else 200, attempt, 10, (), (url,) if url else (), frozenset(), failed)


def episode(*calls: str, answer: str = "Mount Ard", cited: str = RIVER, failures: int = 1) -> EpisodeRecord:
    """An episode whose calls open these pages, each after so many failures of the server, and answer at the end."""
    requests, parts, progress = list[Request](), dict[str, tuple[str, ...]](), list[Progress]()
    for number, url in enumerate(calls, 1):
        requests.extend(request(0, failed=True) for _ in range(failures))
        requests.append(request(0, url, attempt=calls[: number - 1].count(url)))
        parts[url_key(url)] = (PAGES[url],)
        progress.append(Progress(number, dict(parts), ()))
    progress.append(progress[-1] if progress else Progress(0, {}, ()))
    return EpisodeRecord(
        TASK, answer, (cited,), tuple(requests), parts, {}, "finished", turns=len(progress), progress=tuple(progress)
    )


def test_each_part_lies_on_the_call_that_earned_it() -> None:
    record = episode(TOWN, OTHER, RIVER)
    town, other, river, finish = credit_calls(record, SHORT.score(record))
    assert (town, other, river) == ({"recall": 0.5}, {}, {"recall": 0.5, "grounding": 1.0})
    assert finish == dict.fromkeys(("finished", "format", "length", "single", "own_words", "answer", "cost"), 1.0)


def test_requests_beyond_the_need_lose_a_part_of_the_cost() -> None:
    record = episode(RIVER, *[OTHER] * 6, failures=0)
    earned = credit_calls(record, SHORT.score(record))
    # Five requests are free for two hops; a repeated one costs once before the sixth, and twice from then on.
    assert [parts.get("cost", 0.0) for parts in earned] == [0, 0, -0.02, -0.02, -0.02, -0.04, -0.04, 1.0]


def test_the_parts_of_a_term_add_up_to_it() -> None:
    for record in (episode(TOWN, RIVER), episode(RIVER, answer="Mount Bee"), episode(), episode(TOWN, cited=TOWN)):
        score = SHORT.score(record)
        earned = credit_calls(record, score)
        for term in SHORT.terms:
            if term.kind != "metric":
                assert sum(parts.get(term.name, 0.0) for parts in earned) == pytest.approx(score.terms[term.name])


def test_what_a_judge_adds_belongs_to_the_answer() -> None:
    record = episode(TOWN, RIVER, answer="the Ard massif")
    score = SHORT.score(record)
    judged = replace(score, terms={**score.terms, "answer": 1.0, "grounding": 1.0})
    assert credit_calls(record, score)[-1].get("answer", 0.0) == 0.0
    last = credit_calls(record, judged)[-1]
    assert (last["answer"], last["grounding"]) == (1.0, 1.0)


def test_masked_and_unanswered_episodes_earn_nothing() -> None:
    record = replace(episode(TOWN, RIVER), mask="outage: gone", end="masked")
    assert credit_calls(record, SHORT.score(record)) == [{}, {}, {}]
    silent = replace(episode(TOWN, RIVER), answer="", citations=(), end="turns")
    assert [parts.get("recall") for parts in credit_calls(silent, SHORT.score(silent))] == [0.5, 0.5, None]


def test_reports_are_credited_too() -> None:
    report = replace(TASK, answer_type="report", question="Write about Wick and its river.")
    text = f"Wick is a town on the River Loo [{TOWN}]. The source of the River Loo is Mount Ard [{RIVER}]."
    record = replace(episode(TOWN, RIVER, answer=text), task=report, citations=())
    score = rubric_of(report).score(record)
    assert score.terms["accuracy"] == 1.0
    town, river, finish = credit_calls(record, score)
    assert town["accuracy"] + river["accuracy"] + finish.get("accuracy", 0.0) == pytest.approx(1.0)
    assert town["accuracy"] > 0
    assert river["accuracy"] > 0


def test_a_failing_measurement_credits_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    record = replace(episode(TOWN, cited=TOWN), progress=(Progress(1, {url_key(TOWN): (None,)}, ()),))  # type: ignore[arg-type]
    with caplog.at_level(logging.ERROR, "webemu.rl"):
        assert credit_calls(record, Score(1.0, {"answer": 1.0})) == [{}]
    assert "cannot be measured" in caplog.text
