"""A check of cited pages for the answer: passages, evidence, mirrors, derived answers, and visits for decoration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.processor_time import limited
from tests.rl.worlds import World
from tests.seeds import every_nth
from webemu.agent_client import Client
from webemu.rl import probe
from webemu.rl.environment import Episode
from webemu.rl.gates import contains_answer
from webemu.rl.grounding import bears, claim_of, find_places
from webemu.rl.ledger import Request
from webemu.rl.passages import split_passages
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import SHORT
from webemu.rl.swap import WordSwap
from webemu.rl.tasks import Evidence, Task
from webemu.rl.verify import normalise
from webemu.rl.views import OpenPage, strip_link_numbers
from webemu.rl.wording import name_words

GOLD, OTHER = "https://gold.example/germany", "https://other.example/page"
CAPITAL = Task(
    "t", "What is the capital of Germany?", ("Berlin",), (Evidence(GOLD, "Its capital is Berlin.", "Berlin"),)
)
FREE = replace(CAPITAL, evidence=())


def opened(task: Task, text: str, url: str = OTHER, title: str = "", answer: str = "") -> float:
    """Return the reward of an episode that opened and cited one page."""
    request = Request(1, 200, 0, 10, ("q",), (url,), frozenset(), False)
    record = EpisodeRecord(task, answer or task.answers[0], (url,), (request,), {url_key(url): (text,)}, {}, "finished")
    return SHORT.score(replace(record, titles={url_key(url): title})).reward or 0.0


@pytest.mark.parametrize("task", [CAPITAL, FREE], ids=["with evidence", "without"])
@pytest.mark.parametrize(
    ("text", "title", "reward"),
    [
        ("Irving Berlin wrote songs.", "Irving Berlin", 0),
        ("Irving Berlin visited the capital of Germany.", "", 0),
        ("Berlin has 3.8 million inhabitants.", "Berlin", 0),
        ("Berlin is not the capital of Germany.", "", 0),
        ("It is a myth that Berlin is the capital of Germany.", "", 0),
        ("It was formerly thought that Berlin is the capital of Germany.", "", 0),
        ("Berlin is the former capital of Germany.", "", 0),
        ("Bonn, not Berlin, is the capital of Germany.", "", 0),
        ("Berlin, whatever one hears, is not the capital of Germany.", "", 0),
        ("Paris is the capital of France. Berlin lies in Germany.", "", 0),
        ("The capital of Germany is Berlin, not Bonn.", "", 1),
        ("Germany is a country. Its capital is Berlin.", "", 1),
        ("Its capital, Berlin, is also its largest city.", "Germany - Atlas", 1),
        ("Country | Capital | Currency\nFrance | Paris | euro\nGermany | Berlin | euro", "Capitals", 1),
        ("Capital\tBerlin\nArea\t357,022", "Germany", 1),
        ("• Berlin, capital of Germany\n• Rome, capital of Italy", "Cities", 1),
    ],
)
def test_a_page_bears_an_answer_or_only_has_its_string(task: Task, text: str, title: str, reward: float) -> None:
    assert opened(task, text, title=title) == reward


def test_a_page_of_the_evidence_must_have_shown_what_it_says() -> None:
    assert opened(CAPITAL, "**Its capital** is\nBerlin.", GOLD) == 1
    assert opened(CAPITAL, "Capital | Berlin", GOLD) == 1
    assert opened(CAPITAL, "The Berlin Marathon has 50,000 runners.", GOLD) == 0
    assert opened(replace(CAPITAL, evidence=(Evidence(GOLD, value="Berlin"),)), "Seat: Berlin", GOLD) == 1
    assert opened(replace(CAPITAL, evidence=(Evidence(GOLD),)), "The capital: Berlin", GOLD) == 1
    assert opened(replace(CAPITAL, evidence=(Evidence(GOLD),)), "Trains to Berlin", GOLD) == 0


def test_an_index_in_a_quote_is_no_link_number() -> None:
    """A text loses in showing whatever looks like a link number; a quote keeps it."""
    words = "north river maple copper violin harbour lantern orchard winter glacier saddle pepper".split()
    lines = ["weights: optional", "weights[0] belongs to points here, weights[1] to points elsewhere.",
             *(f"The {word} stays untouched by that setting{number}." for number, word in enumerate(words)),
             "New in version 1.6.0."]  # fmt: skip
    question = "In which version of Kumo was the parameter weights of the method that counts nearby pairs added?"
    task = Task("t", question, ("1.6.0",), (Evidence(GOLD, " ".join(lines), "1.6.0"),))
    assert opened(task, strip_link_numbers("\n\n".join(lines)), GOLD) == 1


def test_a_mirror_of_the_quote_is_as_good_as_its_page() -> None:
    quote = "In the spring of 1990 she moved into a flat in Berlin with two cats."
    task = Task("t", "Where did Ada Holm live with her pets?", ("Berlin",), (Evidence(GOLD, quote, "Berlin"),))
    assert opened(task, f"Menu\nHome\n\nSome words before. {quote} Some words behind.") == 1
    assert opened(task, "She moved into a flat in Berlin.") == 0


BRIDGE = (Evidence(GOLD, value="Isaura Dell"), Evidence("https://gold.example/dell", value="Cerva"))
CHAIN = Task("t", "In which town was the founder of Zenent born?", ("Cerva",), BRIDGE, 2)


@pytest.mark.parametrize(
    ("task", "text", "reward"),
    [
        (CHAIN, "Isaura Dell was born in Cerva in 1950.", 1),
        (CHAIN, "Isaura Dell opened a shop in Cerva.", 0),
        (CHAIN, "Marta Lund was born in Cerva in 1950.", 0),
        (CHAIN, "Zenent has a warehouse in Cerva.", 0),
        (CHAIN, "The founder of Zenent was born in Cerva, a small town.", 1),
        (replace(CHAIN, evidence=()), "Isaura Dell was born in Cerva in 1950.", 1),
        (replace(CHAIN, evidence=()), "Cerva has 5,000 inhabitants.", 0),
    ],
)
def test_the_last_page_of_several_bears_the_last_relation(task: Task, text: str, reward: float) -> None:
    assert opened(task, text) == reward


def test_a_year_belongs_to_the_relation_that_stands_next_to_it() -> None:
    task = Task("t", "In which year was Raduk Works founded?", ("1956",))
    assert opened(task, "Raduk Works was founded on 3 May 1956 and moved in 1990.") == 1
    assert opened(task, "Founded in 1931, Raduk Works moved to the harbour in 1956.") == 0
    assert opened(task, "Raduk Works had 1956 workers. It was founded in 1931.") == 0


def test_a_number_that_follows_from_others_needs_their_own_pages() -> None:
    rows = (Evidence(GOLD, "Population | 3", "3"), Evidence("https://gold.example/b", "Population | 4", "4"))
    task = Task("t", "How many live in Wick and Holm together?", ("7",), rows, 2, answer_type="number")

    def played(pages: dict[str, str], cited: str) -> float:
        request = Request(1, 200, 0, 10, (), tuple(pages), frozenset(), False)
        parts = {url_key(url): (text,) for url, text in pages.items()}
        return SHORT.score(EpisodeRecord(task, "7", (cited,), (request,), parts, {}, "finished")).reward or 0.0

    both = {GOLD: "Population | 3", "https://gold.example/b": "Population | 4"}
    assert played(both, GOLD) == 1
    assert played({GOLD: "Population | 3", OTHER: "4 of 7 rooms"}, GOLD) == 0
    assert played(both | {OTHER: "4 of 7 rooms"}, OTHER) == 0


def test_figures_that_are_compared_need_all_pages() -> None:
    rows = (Evidence(GOLD, "Founded | 1931", "1931"), Evidence("https://gold.example/b", "Founded | 1956", "1956"))
    task = Task("t", "In which year was the younger of Wick and Holm founded?", ("1956",), rows, 2)

    def played(*texts: str) -> float:
        pages = dict(zip(("https://gold.example/b", GOLD), texts, strict=False))
        request = Request(1, 200, 0, 10, (), tuple(pages), frozenset(), False)
        parts = {url_key(url): (text,) for url, text in pages.items()}
        record = EpisodeRecord(task, "1956", ("https://gold.example/b",), (request,), parts, {}, "finished")
        return SHORT.score(record).reward or 0.0

    assert played("Founded | 1956", "Founded | 1931") == 1
    assert played("Founded | 1956") == 0
    assert played("Founded | 1956", "Area | 12") == 0
    same = (Evidence(GOLD, "Founded | 1956", "1956"), Evidence("https://gold.example/b", "Since | 1956", "1956"))
    task = replace(task, question="In which year was Wick founded?", evidence=same)
    assert played("Since | 1956") == 1, "two pages that state the same year: either is enough"


def test_a_byline_names_who_wrote_a_page() -> None:
    task = Task("t", "Who wrote the article Harbour Lights of Wick?", ("Ada Holm",))
    assert opened(task, "By: Ada Holm\nThe harbour is old.", title="Harbour Lights of Wick") == 1
    assert opened(task, "By Ada Holm, 3 May\nThe harbour is old.", title="Harbour Lights of Wick") == 1
    assert opened(task, "By: Ada Holm\nThe harbour is old.", title="Mills of Arlen") == 0
    assert opened(task, "Photographs: Ada Holm", title="Harbour Lights of Wick") == 0


@pytest.mark.parametrize(
    ("text", "title", "reward"),
    [
        ("She is an engineer.\nShe founded Lumura Group in 1990.", "Ada Holm", 1),
        ("She founded Lumura Group in 1990.", "Ada Holm - Openlexicon", 1),
        ("Founder of | Lumura Group", "Ada Holm (engineer)", 1),
        ("She works for Lumura Group.", "Ada Holm", 0),
        ("She founded Lumura Works in 1990.", "Ada Holm", 0),
        ("She did not found Lumura Group.", "Ada Holm", 0),
        ("Lumura Group was founded by her brother.", "Ada Holm", 0),
        ("She founded Lumura Group in 1990.", "Ada Berg", 0),
    ],
)
def test_the_page_of_the_answer_itself_bears_it(text: str, title: str, reward: float) -> None:
    assert opened(Task("t", "Who founded Lumura Group?", ("Ada Holm",)), text, title=title) == reward


NAMESAKES = {
    "When was the Wharrathorpe Cider Fair first held?": [
        ("The Wharrathorpe Harvest Fair was first held in 1955.", "Wharrathorpe Harvest Fair", 0),
        ("The Wharrathorpe Cider Fair was first held in 1955.", "Fairs", 1),
        ("The Cider Fair was first held in 1955.", "Wharrathorpe", 1),
    ],
    "In which year was Erik Holm born?": [
        ("Holm was born in 1955. His brother Erik Holm is a farmer.", "Karl Holm", 0),
        ("Karl Holm and his brother live in Wick. Holm was born in 1955. Later he met Erik Holm.", "A family", 0),
        ("Erik Holm is a farmer. Holm was born in 1955.", "A family", 1),
        ("Mayor Holm was born in 1955.", "Erik Holm", 1),
        ("Holm was born in 1955.", "Erik Holm", 1),
        ("Holm was born in 1955. In Wick, Erik Holm built a mill.", "People", 1),
    ],
    "When did the Vallotti Corva 5 come out?": [
        ("The Vallotti Corva 500 came out in 1955.", "Vallotti Corva 500", 0),
        ("The Corva 5 came out in 1955.", "Vallotti", 1),
    ],
}


@pytest.mark.parametrize(
    ("question", "text", "title", "reward"),
    [(question, *row) for question, rows in NAMESAKES.items() for row in rows],
)
def test_a_namesake_bears_nothing(question: str, text: str, title: str, reward: float) -> None:
    assert opened(Task("t", question, ("1955",)), text, title=title) == reward


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.client() as client:
        yield client


def cite(client: Client, task: Task, *pages: str) -> EpisodeRecord:
    """Search, open the pages and give the accepted answer with the last of them."""
    episode = Episode(client)
    episode.reset(task)
    episode.call("search", {"query": task.question})
    for page in pages:
        episode.call("open", {"link": page})
    episode.call("finish", {"answer": task.answers[0], "citations": [pages[-1]]})
    return episode.record()


def names_subject(record: EpisodeRecord, text: str) -> bool:
    """True if a page has a name of the question, or the value that leads to the answer's page."""
    claim = claim_of(record.task.question, record.task.answers)
    values = [normalise(row.value) for row in record.task.evidence[:-1]]
    words = name_words(normalise(text))
    return any(value in normalise(text) for value in values) or any(name <= words for name in claim.names)


def test_a_visit_for_decoration_earns_nothing_and_the_evidence_all(world: World, client: Client) -> None:
    """Pages that happen to have the answer's string and speak of something else, and the pages that say it."""
    sample = random.Random(8).sample(world.tasks, 60)
    decorated = 0
    for task in sample:
        assert SHORT.score(cite(client, task, *(row.url for row in task.evidence))).reward == 1, task.question
        episode = Episode(client)
        episode.reset(task)
        episode.call("search", {"query": task.answers[0]})
        gold = {url_key(row.url) for row in task.evidence}
        for page in [url for url in episode.links.values() if url_key(url) not in gold][:4]:
            record = cite(client, task, page)
            text = f"{record.title_of(page)}\n{''.join(record.shown_parts_of(page))}"
            if contains_answer(text, task.answers[0]) and not names_subject(record, text):
                decorated += 1
                assert SHORT.score(record).reward == 0, (task.question, page)
    assert decorated > 40


def test_an_answer_earns_nothing_once_the_evidence_says_another(world: World, client: Client) -> None:
    """The swap probe on what was shown: the same answer, the same pages, other words on them."""
    probed = 0
    for task in random.Random(9).sample(world.tasks, 40):
        other = probe.pick_counterfactual(task, world.tasks)
        record = cite(client, task, *(row.url for row in task.evidence))
        swap = WordSwap(probe.build_swap(task, other))
        parts = {
            key: tuple(swap.swap_in_page(OpenPage("", "", "", text, {}, 200)).text for text in texts)
            for key, texts in record.parts_by_page.items()
        }
        if other and record.parts_by_page != parts:
            probed += 1
            assert SHORT.score(replace(record, parts_by_page=parts)).reward == 0, task.question
            assert SHORT.score(replace(record, parts_by_page={})).reward == 0
    assert probed > 25


HOSTILE = {
    "words": "lorem ipsum ", "answers": "Tito Salardo. ", "years": "1990 not founded, ", "spaces": " ", "stops": ". ",
    "cells": "| ", "tabs": "\t", "marks": "- ", "lines": "Tito Salardo founded\n", "letters": "a", "initials": "A. ",
    "quotes": '"', "denials": "not, ", "figures": "1 ", "by": "founded by ",
}  # fmt: skip


@pytest.mark.parametrize("name", every_nth(HOSTILE, 3))
def test_a_hostile_page_costs_a_bounded_time(name: str) -> None:
    claim = claim_of("Who founded Lumura Group in 1990?", ("Tito Salardo", "1990"))
    text = HOSTILE[name] * (1_000_000 // len(HOSTILE[name]))
    with limited(40):
        assert not bears(text, "Page", claim)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("It was written by J. D. Tito. Salardo lived there.", [0]),
        ("It was Tito. Salardos house.", [0]),
        ("It was Tito. Salardon lived there.", []),
        ("It was Tito. Salardosa lived there.", []),
        ("It was quick. Tito Salardon lived there.", []),
        ("It was quick. Tito Salardosa lived there.", []),
        ("It was Bertito. Salardo lived there.", []),
        ("It was quick. Tito Salardo lived there.", [1]),
    ],
)
def test_an_answer_across_two_sentences_is_stated_in_whole_words(text: str, places: list[int]) -> None:
    assert find_places(split_passages(text), "tito salardo") == places
