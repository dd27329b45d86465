"""The evidence-swap probe, over a real server: readers are told from those who know or guess."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from pathlib import Path

import pytest

from tests.rl.worlds import World
from webemu.agent_client import AsyncClient
from webemu.rl.environment import AsyncEpisode
from webemu.rl.gates import classify_form
from webemu.rl.probe import ProbeResult, build_swap, pick_counterfactual, probe, summarize
from webemu.rl.record import EpisodeRecord
from webemu.rl.tasks import Evidence, Task
from webemu.rl.tasks.claims import find_claims
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.verify import is_exact_match

Player = Callable[[AsyncEpisode, Task], Awaitable[str]]


def task(name: str, *answers: str, question: str = "What is it?", kind: str = "") -> Task:
    return Task(name, question, answers, answer_type=kind)  # type: ignore[arg-type]


OTHER_ANSWERS = [
    task("1", "Bo Lund"), task("2", "Ada Holm"), task("3", "9,421"), task("4", "13"), task("5", "12 March 1987"),
    task("6", "2004-05-06"), task("7", "Kaldria"), task("8", "3.5 km"), task("9", "12.5 km"), task("10", "bo LUND"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Emil Vik", {"Bo Lund", "Ada Holm", "bo LUND"}),
        ("Morvenia", {"Kaldria"}),
        ("7,305", {"9,421"}),
        ("27", {"13"}),
        ("1 April 2001", {"12 March 1987"}),
        ("2001-04-01", {"2004-05-06"}),
        ("8.5 km", {"3.5 km"}),
        ("Bo Lund", {"Ada Holm"}),
        ("Lund", {"Kaldria"}),
    ],
)
def test_an_answer_of_the_same_form_is_drawn(answer: str, expected: set[str]) -> None:
    assert {pick_counterfactual(task("x", answer), OTHER_ANSWERS, seed) for seed in range(20)} == expected


@pytest.mark.parametrize(
    "unfit_task",
    [
        task("x", "yes", kind="choice"),
        task("x", "not found", kind="none"),
        task("x", "A report.", kind="report"),
        task("x", "https://a.example/", kind="url"),
        task("x", "Emil Vik", question="Is Emil Vik older?"),
        task("x", "Emil Vik", kind="date"),
    ],
)
def test_what_cannot_be_probed(unfit_task: Task) -> None:
    assert pick_counterfactual(unfit_task, OTHER_ANSWERS) == ""
    assert asyncio.run(probe(_unreachable, unfit_task, OTHER_ANSWERS)) == ProbeResult("x", "not probed")


def test_what_the_question_says_is_not_drawn() -> None:
    asked_task = task("x", "Emil Vik", question="Who came after Bo Lund?")
    assert {pick_counterfactual(asked_task, OTHER_ANSWERS, seed) for seed in range(20)} == {"Ada Holm"}


async def _unreachable(task: Task, swap: Mapping[str, str]) -> EpisodeRecord:
    raise AssertionError("was run")


def test_every_spelling_is_swapped_for_the_same_spelling() -> None:
    assert build_swap(task("x", "9,421", "about 9421"), "7305") == {
        "9,421": "7,305",
        "9421": "7305",
        "about 9421": "7305",
    }
    assert build_swap(task("x", "12 March 1987"), "2004-05-06") == {
        "12 March 1987": "6 May 2004", "1987-03-12": "2004-05-06", "March 12, 1987": "May 6, 2004",
        "12 Mar 1987": "6 May 2004",
    }  # fmt: skip
    assert build_swap(task("x", "Bo Lund", "B. Lund"), "Ada Holm") == {"Bo Lund": "Ada Holm", "B. Lund": "Ada Holm"}


async def reader(episode: AsyncEpisode, task: Task) -> str:
    """Says what the page says where the evidence says the answer."""
    evidence = task.evidence[-1]
    page_text = (await episode.call("open", {"link": evidence.url})).text
    before, _, after = evidence.quote.partition(evidence.value)
    page = " ".join(re.sub(r"\[\d+\]", "", page_text).split())
    match = re.search(rf"{re.escape(before.strip())}\s*(.{{1,60}}?)\s*{re.escape(after.strip())}", page)
    return match[1] if match else "not found"


async def knower(episode: AsyncEpisode, task: Task) -> str:
    await episode.call("open", {"link": task.evidence[-1].url})
    return task.answers[0]


async def quitter(episode: AsyncEpisode, task: Task) -> str:
    return "not found"


@pytest.fixture(scope="module")
def tasks(root: Path) -> list[Task]:
    """Return questions about facts that pages state, each with the words around it."""
    with Crawl(root / "default") as crawl:
        pages = islice(crawl.iterate_pages(1), 150)
        claims = [(page.url, claim) for page in pages for claim in find_claims(page, page.title)]
    return [
        Task(f"t{number}", "What is said there?", (one.value,), (Evidence(url, one.quote, one.value),))
        for number, (url, one) in enumerate(claims)
        if len(one.quote.partition(one.value)[0]) > 8 and one.quote.count(one.value) == 1
    ][:60]


def probed(world: World, tasks: list[Task], player: Player) -> list[ProbeResult]:
    async def run() -> list[ProbeResult]:
        async with AsyncClient(world.url, retries=0, timeout=60) as client:

            async def run_one(task: Task, swap: Mapping[str, str]) -> EpisodeRecord:
                episode = AsyncEpisode(client, swap=swap)
                await episode.reset(task, 1)
                answer = await player(episode, task)
                await episode.call("finish", {"answer": answer, "citations": [task.evidence[-1].url]})
                return await episode.record()

            return [await probe(run_one, task, tasks, 1) for task in tasks]

    return asyncio.run(run())


@pytest.mark.parametrize(("player", "expected"), [(reader, "reads"), (knower, "closed-book"), (quitter, "neither")])
def test_who_reads_is_told_from_who_knows(world: World, tasks: list[Task], player: Player, expected: str) -> None:
    probes = probed(world, tasks, player)
    counted = summarize(probes)
    decided_probes = [outcome for outcome in probes if outcome.verdict != "not probed"]
    assert len(decided_probes) >= 30
    assert {outcome.verdict for outcome in decided_probes} == {expected}, [
        outcome for outcome in decided_probes if outcome.verdict != expected
    ]
    assert counted[expected] == len(decided_probes)
    assert counted["share_reads"] == (expected == "reads")
    for outcome in decided_probes:
        gold = next(task.answers for task in tasks if task.id == outcome.task)
        assert classify_form(outcome.other) == classify_form(gold[0])
        assert not is_exact_match(outcome.other, gold)


def test_masked_episodes_say_nothing() -> None:
    async def masked(task: Task, swap: Mapping[str, str]) -> EpisodeRecord:
        return EpisodeRecord(task, end="masked", mask="unreachable")

    outcome = asyncio.run(probe(masked, task("x", "Emil Vik"), OTHER_ANSWERS))
    assert (outcome.verdict, summarize([outcome])) == ("masked", {"masked": 1, "share_reads": 0.0})
