"""The agent loop and the scripted policy on a small handwritten web."""

from __future__ import annotations

from typing import Any

import pytest

from webemu.agent_client import Action, Client, InfrastructureError, Step, run
from webemu.agent_client.scripted import scripted_policy

WIKI = "https://lexicon.example/wiki/"
PAGES = {
    WIKI + "Acme_Works": (
        "Acme Works - Lexicon",
        "Acme Works\nIt makes bells.\nFounded | 1987\nFounder | Ada Holm [1]\n\n[1] " + WIKI + "Ada_Holm_(founder)",
    ),
    "https://news.example/1": ("Acme Works: a new bell", "Acme Works Acme Works Acme Works has cast a new bell."),
    WIKI + "Ada_Holm": ("Ada Holm - Lexicon", "Ada Holm\nPlace of birth | Elsewhere"),
    WIKI + "Ada_Holm_(founder)": (
        "Ada Holm (founder) - Lexicon",
        "x " * 6000 + "\nAda Holm\nPlace of birth | Wick [3]\nEducation | University of Wick\n\n[3] " + WIKI + "Wick",
    ),
    WIKI + "Wick": (
        "Wick - Lexicon",
        "Wick\nCountry: Kellmark\nMayor: Bo Lund\n\nPopulation history\nYear | Population\n2011 | 8,100\n2021 | 9,421",
    ),
    WIKI + "Red_Kite_Prize": ("Red Kite Prize - Lexicon", "Winners\nYear | Winner\n2001 | Salt\n2002 | The Long Tide"),
    WIKI + "The_Long_Tide": ("The Long Tide - Lexicon", "The Long Tide\nAuthor\nNora Vik"),
    WIKI + "Kellmark": ("Kellmark - Lexicon", "Town | 1991 | 2021\nAshby | 9,000 | 10,000\nWick | 8,000 | 19,421"),
    "https://guide.example/far": ("Far Harbour", "Far Harbour is old. The mayor of Far Harbour is Eli Strand."),
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("In which year was Acme Works founded?", "1987"),
        ("In which town was the founder of Acme Works born?", "Wick"),
        ("Who is the mayor of the town where the founder of Acme Works was born?", "Bo Lund"),
        ("What was the population of Wick in 2011?", "8,100"),
        ("Who wrote the novel that won the Red Kite Prize in 2002?", "Nora Vik"),
        ("Which town in Kellmark had the largest population in 2021?", "Wick"),
        ("Who is the mayor of Far Harbour?", "Eli Strand"),
        ("Who is the mayor of Nowhere?", ""),
        ("Why is the sky blue?", ""),
    ],
)
def test_answers(web: Any, question: str, answer: str) -> None:
    web.pages = PAGES
    with Client(web.url) as client:
        trajectory = run(scripted_policy, client, question, max_steps=16)
    assert trajectory.answer == answer
    assert trajectory.question == question
    assert {request.route for request in web.requests} <= {"/v1/search", "/v1/fetch"}
    assert len(trajectory.steps) == len(web.requests)


def test_the_same_run_twice(web: Any) -> None:
    web.pages = PAGES
    question = "Who is the mayor of the town where the founder of Acme Works was born?"
    with Client(web.url) as client:
        assert run(scripted_policy, client, question) == run(scripted_policy, client, question)


def test_steps_are_what_was_done_and_seen(web: Any) -> None:
    web.pages = PAGES
    with Client(web.url) as client:
        steps = run(scripted_policy, client, "In which year was Acme Works founded?").steps
    assert [step.tool for step in steps][:1] == ["search"]
    assert steps[-1].arguments["url"] == WIKI + "Acme_Works"
    assert "Founded | 1987" in steps[-1].observation


def test_the_loop_ends_after_max_steps(web: Any) -> None:
    def restless(question: str, steps: tuple[Step, ...]) -> Action:
        return Action("search", {"query": str(len(steps))})

    with Client(web.url) as client:
        trajectory = run(restless, client, "?", max_steps=3)
    assert (len(trajectory.steps), trajectory.answer) == (3, "")


def test_an_answer_after_the_last_step_counts(web: Any) -> None:
    def patient(question: str, steps: tuple[Step, ...]) -> Action:
        return Action("answer", {"text": 7}) if len(steps) == 3 else Action("search", {"query": question})

    with Client(web.url) as client:
        assert run(patient, client, "?", max_steps=3).answer == "7"


def test_infrastructure_failure_ends_the_rollout(web: Any) -> None:
    web.moods = ["reset"]
    with Client(web.url, retries=0) as client, pytest.raises(InfrastructureError):
        run(scripted_policy, client, "Who is the mayor of Wick?")
