"""Long-form tasks from a crawl without a model, over a real server: what an honest report earns, and a lazy one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.rl.environment import Episode
from webemu.rl.reports.facts import find_names
from webemu.rl.reports.sentences import split_sentences
from webemu.rl.rewards import rubric_of
from webemu.rl.tasks import Task
from webemu.rl.tasks.claims import checkable_values, find_claims
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.reports import REPORTS
from webemu.rl.verify import normalise

EACH = 4
Player = Callable[[Episode, Task], None]


@pytest.fixture(scope="module")
def reports(root: Path) -> list[Task]:
    with Crawl(root / "default") as crawl:
        return [task for recipe in REPORTS for task in islice(recipe.make(Sources(crawl), 3), EACH)]


def test_what_is_asked(reports: list[Task]) -> None:
    assert len(reports) == 2 * EACH
    for task in reports:
        pages = {evidence.url for evidence in task.evidence}
        assert (task.answer_type, task.hops) == ("report", len(pages))
        assert (len(pages) > 1) is (task.recipe == "report-linked")
        assert 4 <= len(task.evidence) <= 12
        for evidence in task.evidence:
            assert evidence.digest
            assert normalise(evidence.value) in normalise(evidence.quote)
            assert f" {normalise(evidence.value)} " not in f" {normalise(task.question)} "


def test_the_same_seed_gives_the_same_bytes(root: Path, reports: list[Task]) -> None:
    def drawn(seed: int) -> str:
        with Crawl(root / "default") as crawl:
            tasks = [task for recipe in REPORTS for task in islice(recipe.make(Sources(crawl), seed), EACH)]
        return json.dumps([asdict(task) for task in tasks])

    assert drawn(3) == json.dumps([asdict(task) for task in reports])
    assert drawn(4) != drawn(3)


def pages(task: Task) -> list[str]:
    return list(dict.fromkeys(one.url for one in task.evidence))


def read(episode: Episode, task: Task) -> str:
    """Opens all pages and reads on to their ends; what was seen."""
    observed_text = ""
    for url in pages(task):
        cursor = "0"
        while cursor and not episode.done:
            text = episode.call("open", {"link": url, "cursor": int(cursor)}).text
            observed_text += text
            cursor = (re.findall(r"open it with cursor=(\d+)\.", text) or [""])[0]
    return observed_text


def finish(episode: Episode, task: Task, answer: str) -> None:
    episode.call("finish", {"answer": answer, "citations": pages(task)})


def honest(episode: Episode, task: Task) -> None:
    read(episode, task)
    finish(episode, task, task.answers[0])


def half_of_it(episode: Episode, task: Task) -> None:
    read(episode, task)
    finish(episode, task, " ".join(split_sentences(task.answers[0])[::2]))


def one_sentence(episode: Episode, task: Task) -> None:
    read(episode, task)
    finish(episode, task, split_sentences(task.answers[0])[0])


def without_citations(episode: Episode, task: Task) -> None:
    read(episode, task)
    finish(episode, task, re.sub(r" \[\d+\]", "", task.answers[0]))


def without_opening(episode: Episode, task: Task) -> None:
    episode.call("search", {"query": task.question})
    finish(episode, task, task.answers[0])


def values_alone(episode: Episode, task: Task) -> None:
    read(episode, task)
    cited = pages(task)
    finish(episode, task, " ".join(f"{one.value} [{cited.index(one.url) + 1}]." for one in task.evidence))


def names_of_the_page(episode: Episode, task: Task) -> None:
    page_names = list(dict.fromkeys(find_names(read(episode, task))))
    lines = [
        "there is the " + ", and the ".join(page_names[at : at + 12]) + " [1]." for at in range(0, len(page_names), 12)
    ]
    finish(episode, task, "\n".join(lines)[:1500])


def the_question(episode: Episode, task: Task) -> None:
    read(episode, task)
    finish(episode, task, f"{task.question} [1]")


def wrong_figures(episode: Episode, task: Task) -> None:
    """All digits are others, but for those of the citations."""
    read(episode, task)
    finish(episode, task, re.sub(r"(?<!\[)\d", lambda digit: str((int(digit[0]) + 1) % 10), task.answers[0]))


@pytest.mark.parametrize(
    ("player", "minimum", "maximum"),
    [
        (honest, 1.0, 1.0),
        (half_of_it, 0.4, 0.8),
        (one_sentence, 0.02, 0.3),
        (names_of_the_page, 0.0, 0.3),
        (wrong_figures, 0.0, 0.5),
        (values_alone, 0.0, 0.0),
        (the_question, 0.0, 0.0),
        (without_citations, 0.0, 0.0),
        (without_opening, 0.0, 0.0),
    ],
)
def test_what_a_report_earns(
    episode: Episode, reports: list[Task], player: Player, minimum: float, maximum: float
) -> None:
    for task in reports:
        episode.reset(task, 1)
        player(episode, task)
        score = rubric_of(task).score(episode.record())
        assert score.reward is not None
        assert minimum <= score.reward <= maximum, (task.evidence[0].url, score)


def test_claims_stand_under_their_headings(tmp_path: Path) -> None:
    page = html(
        "Wick - Atlas",
        "Wick is a harbour town in the region of Grimselmark.</p><h2>History</h2><p>",
        "The long pier of Wick was opened on 12 March 1987 by the engineer Ada Holm.",
        "It is a very nice pier that everybody in this town has come to like.</p><h2>Trade</h2><p>",
        "The harbour of Wick has shipped 9,421 barrels of herring in an ordinary year.",
        "The harbour of Wick has shipped 9,421 barrels of herring in an ordinary year.",
        "All of the herring of Wick is salted in the great hall beside the harbour.",
        "The pages of this atlas were written by those who live there and were read by others.",
    )
    ingest(tmp_path / "c", write(tmp_path / "w.warc.gz", [CaptureSpec("https://a.example/wick", page)]))
    with Crawl(tmp_path / "c") as crawl:
        (crawled_page,) = crawl.iterate_pages()
        claims = [(claim.aspect, claim.value) for claim in find_claims(crawled_page, "Wick")]
    assert claims == [("", "Grimselmark"), ("History", "12 March 1987"), ("Trade", "9,421")]


@pytest.mark.parametrize(
    ("quote", "first"),
    [
        ("It was founded by Ada Holm in 1987.", "Ada Holm"),
        ("In 1987 it had 9,421 inhabitants.", "9,421"),
        ("It is 12.5 km long and was built by Ada Holm.", "12.5 km"),
        ("Volume is about 325,000 shares.", "325,000"),
        ("On 12 March 1987 it had 9,421 inhabitants.", "12 March 1987"),
        ("It was won in 1987.", "1987"),
        ("It is closed on Thursday in Kaldria.", "Kaldria"),
    ],
)
def test_the_most_telling_value_comes_first(quote: str, first: str) -> None:
    assert next(checkable_values(quote)) == first
