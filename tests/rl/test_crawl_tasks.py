"""Tasks from a crawl without a model: what is asked of small pages, what is not, and that it can be earned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from tests.rl.worlds import serving
from webemu.agent_client import Client
from webemu.emulator.errors import CatalogError
from webemu.rl.environment import Episode
from webemu.rl.rewards import SHORT
from webemu.rl.tasks import Task
from webemu.rl.tasks.crawl import Crawl, Link
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes import CRAWL, LOOKUP, cloze, prose, titles, values

FILL = (
    "The valley has been settled for a long time and is known for its orchards. Most of the people work in the mills "
    "that stand along the river, and many of them have done so for all of their lives."
)
TOWN = (
    html(
        "Arlind - Towns of the North",
        FILL,
        "Arlind was founded in 1271 by monks from Orvale.",
        "The oldest bridge of the town is 184 metres long and has five arches of grey stone.",
        "The great bell of the town was lent to Quorrenhall for the winter of the flood.",
        "Most of the grain was sold to the people of <a href='/orvale'>a village in the hills</a> by the mill owners.",
        '<table class="infobox"><tr><th colspan="2">Arlind</th></tr><tr><th>Mayor</th><td>Ada Verin [2]</td></tr>'
        "<tr><th>Elevation</th><td>412 m</td></tr><tr><th>Share</th><td>Print Email</td></tr>"
        "<tr><th>Next</th><td>Borlind</td></tr><tr><th>Twinned</th><td>yes</td></tr></table>",
        head='<script type="application/ld+json">{"@type": "Article", "author": {"@type": "Person", "name": "Ines '
        'Calder"}, "datePublished": "2019-03-05T10:00:00Z", "publisher": {"name": "Nobody Shown"}}</script>',
    ).replace("</main>", "")
    + "<p>By Ines Calder, 5 March 2019</p>"
)
ORVALE = html(
    "Orvale - Towns of the North",
    FILL.replace("orchards", "sheep"),
    "Orvale is a village of weavers that stands on the northern slope of the Hard Hills by the old road.",
    "The well of the village is 61 metres deep and was cut by prisoners of war.",
    "Wool was carried in summer to the market of <a href='/quay'>the port</a> by mules and boats.",
    "<table><caption>Looms by house</caption><tr><th>House</th><th>Looms</th><th>Owner</th></tr>"
    "<tr><td>Mill House</td><td>12</td><td>Tam Orr</td></tr><tr><td>Long House</td><td>31</td><td>Una Bly</td></tr>"
    "<tr><td>Low House</td><td>7</td><td>Una Bly</td></tr><tr><td>Old House</td><td>1,050</td><td>Per Dahl</td></tr>"
    "</table>",
)
QUAY = html(
    "Quay - Towns of the North",
    FILL.replace("orchards", "boats"),
    "The harbour wall was lengthened with stone from Tarrowmede after the storm had taken the old one.",
    '<div itemscope itemtype="https://schema.org/Place"><span itemprop="name">Quay</span>, '
    '<span itemprop="postalCode">QX 4410</span></div>',
    "<dl><dt>Stiver</dt><dd>Toll for a small boat that is paid at the harbour gate before noon</dd><dt>Edit</dt>"
    "<dd>Toll for a large boat that is paid at the gate in the evening of a feast</dd></dl>",
)
HOSTILE = html(
    "Hostile - Towns of the North",
    *[FILL.replace("orchards", trap) for trap in ("traps", "nets", "snares", "pits", "cages", "hooks", "locks")],
    "<table role=presentation><tr><th>Menu</th><td>Start now</td></tr><tr><th>Skin</th><td>Dark one</td></tr></table>",
    "<table><tr><th>Code</th><td><pre>x = 1</pre></td></tr><tr><th>Form</th><td><input></td></tr></table>",
    "<table><tr><th>Rank</th><th>Name</th></tr>" + "<tr><td>Same</td><td>Twice</td></tr>" * 4 + "</table>",
    "<table>" + "".join(f"<tr><th>Key {n}</th><td>Value {n}</td></tr>" for n in range(201)) + "</table>",
    "<script>Arlind was founded in 1999 by nobody at all who counts here.</script>",
    "<script type='application/ld+json'>{broken</script><table><tr><th>Open<td>never closed<tr><th>Key two<td>same",
    "<dl><dt>Only<dt>Terms<dd>and one description of some length that fits nothing else</dl>",
)
ANCHORED = html(
    "Charter - Towns of the North", FILL.replace("orchards", "laws"), "Rolls of the old law are kept there."
)
LICENCE = html("Licence terms", FILL, "The licence was granted in 1998 by the owners of the mill.")
SITE = "https://north.example"
LINKING = [
    CaptureSpec(
        f"https://{name}.example/", html(f"Page of {name}", f"See <a href='{SITE}/charter'>the oldest law</a>. {FILL}")
    )
    for name in ("one", "two", "three")
]
CRAWLED = [
    CaptureSpec(f"{SITE}/arlind", TOWN.replace("184", "99"), day=1),
    CaptureSpec(f"{SITE}/arlind", TOWN, day=2),
    CaptureSpec(f"{SITE}/orvale", ORVALE),
    CaptureSpec(f"{SITE}/quay", QUAY),
    CaptureSpec(f"{SITE}/hostile", HOSTILE),
    CaptureSpec(f"{SITE}/charter", ANCHORED.replace("<main>", "<main><h1>Charter</h1>")),
    CaptureSpec(f"{SITE}/licence", LICENCE),
    CaptureSpec(
        "https://alt.example/dorf", html("Dorf", "Das Dorf liegt im Tal und wurde 1271 von Mönchen gegründet. " * 8)
    ),
    *LINKING,
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crawl")
    ingest(root / "default", write(root / "web" / "a.warc.gz", CRAWLED))
    return root


@pytest.fixture
def crawl(root: Path) -> Iterator[Crawl]:
    with Crawl(root / "default") as crawl:
        yield crawl


def of(crawl: Crawl, name: str, seed: int = 1) -> list[Task]:
    recipe: Recipe = next(one for one in (*CRAWL, *LOOKUP) if one.name == name)
    return list(islice(recipe.make(Sources(crawl), seed), 100))


def answers_by_question(crawl: Crawl, name: str) -> dict[str, tuple[str, ...]]:
    return {task.question: task.answers for task in of(crawl, name)}


def test_pages_come_once_in_an_order_that_the_seed_decides(crawl: Crawl) -> None:
    orders = [[page.url for page in crawl.iterate_pages(seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert len(orders[0]) == len({*orders[0]}) == len({*orders[2]}) == 10


def test_a_page_is_its_latest_capture(crawl: Crawl) -> None:
    page = crawl.find_page(f"{SITE}/arlind")
    assert page is not None
    assert (page.host, page.language, page.title) == ("north.example", "en", "Arlind - Towns of the North")
    assert "184 metres" in page.text
    assert "184 metres" in (crawl.read_html(page) or "")
    assert page.digest.startswith("sha1:")
    assert crawl.find_page(f"{SITE}/nothing") is None


def test_links_both_ways(crawl: Crawl) -> None:
    page = crawl.find_page(f"{SITE}/arlind")
    assert page is not None
    link = Link(f"{SITE}/arlind", f"{SITE}/orvale", "a village in the hills")
    assert crawl.list_links(page) == [link]
    assert crawl.list_inlinks(f"{SITE}/orvale") == [link]
    assert [(one.text, one.target) for one in crawl.iterate_anchors()] == [("the oldest law", f"{SITE}/charter")]


def test_what_is_said_and_where(crawl: Crawl) -> None:
    assert crawl.find_phrase("bridge of the town is 184 metres") == [f"{SITE}/arlind"]
    assert crawl.find_phrase("bridge of the town is 99 metres") == []
    assert crawl.page_frequency("Quorrenhall") == 2  # both captures


def test_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="no collection"):
        Crawl(tmp_path / "none")


def test_infobox(crawl: Crawl) -> None:
    assert answers_by_question(crawl, "infobox") == {
        'According to the page "Arlind" on north.example, what is the mayor?': ("Ada Verin",),
        'According to the page "Arlind" on north.example, what is the elevation?': (
            "412 m",
            "412 metres",
            "412 meters",
        ),
    }
    assert crawl.skip_counts["infobox", "key is a control"] == 3, "Share, Next, Edit"
    assert crawl.skip_counts["infobox", "value no answer"] == 2, "yes, and a whole sentence"
    expected = {
        reason: count for (_, reason), count in crawl.skip_counts.items() if reason.startswith(("table of", "list of"))
    }
    assert expected == {
        "table of layout or navigation": 2,  # of presentation; and one never closed, which swallows the list after it
        "list of layout or navigation": 1,
        "table of one row, of very many, or of controls": 2,
        "table of irregular rows": 1,  # four times the same
    }


def test_table(crawl: Crawl) -> None:
    by_question = answers_by_question(crawl, "table")
    assert len(by_question) == 2
    assert set(by_question) <= {
        f'In the table of the page "Orvale" on north.example, what does the column "{column}" say for "{row} House"?'
        for column in ("Looms", "Owner")
        for row in ("Mill", "Long", "Low", "Old")
    }
    assert not any("Una Bly" in answers for answers in by_question.values()), "a value of two rows"


def test_columns(crawl: Crawl) -> None:
    where = 'listed under "Looms by house"'
    possible = {
        f"Of the houses {where}, which has the most looms?": ("Old House",),
        f"Of the houses {where}, which has the fewest looms?": ("Low House",),
        f"How many looms are there in all for the 4 houses {where}?": ("1100", "1,100"),
    }
    answers: dict[str, tuple[str, ...]] = {}
    for seed in range(8):
        answers |= {task.question: task.answers for task in of(crawl, "column", seed)}
    assert answers == possible


def test_declared(crawl: Crawl) -> None:
    assert answers_by_question(crawl, "declared") == {
        'According to the page "Arlind" on north.example, who is the author?': ("Ines Calder",),
        'According to the page "Arlind" on north.example, on which date was it published?': (
            "2019-03-05",
            "5 March 2019",
        ),
        'According to the page "Quay" on north.example, what is the postal code?': ("QX 4410",),
    }
    assert crawl.skip_counts["declared", "not shown"] == 1, "a publisher that no reader sees"


def test_definition(crawl: Crawl) -> None:
    """ "Edit" is a word of menus, so it is no answer."""
    assert answers_by_question(crawl, "definition") == {
        'What is described on north.example as "a village of weavers that stands on the northern slope of the Hard '
        'Hills by the old road"?': ("Orvale",),
        'Which term does the page "Quay" on north.example explain as "Toll for a small boat that is paid at the '
        'harbour gate before noon"?': ("Stiver",),
    }


def test_quantities_and_names(crawl: Crawl) -> None:
    assert answers_by_question(crawl, "quantity") == {
        'According to the page "Arlind" on north.example, in which year was Arlind founded by monks from Orvale?': (
            "1271",
        ),
        'Which number belongs in the gap in this sentence of the page "Arlind" on north.example: "The oldest bridge of '
        'the town is ____ metres long and has five arches of grey stone."': ("184",),
        'Which number belongs in the gap in this sentence of the page "Orvale" on north.example: "The well of the '
        'village is ____ metres deep and was cut by prisoners of war."': ("61",),
    }
    answers = answers_by_question(crawl, "cloze")
    assert ("Quorrenhall",) in answers.values()
    assert all(cloze.GAP in question for question in answers)


def test_finding_and_anchors(crawl: Crawl) -> None:
    tasks = of(crawl, "finding")
    assert tasks
    assert {task.answer_type for task in tasks} == {"url"}
    assert not any("orchards" in task.question for task in tasks), "what other pages say too"
    assert answers_by_question(crawl, "anchor") == {
        'Pages of one.example and three.example link to a page of north.example with the words "the oldest law". What '
        "is its title?": ("Charter", "Charter - Towns of the North")
    }


def test_chains(crawl: Crawl) -> None:
    two, three = (of(crawl, name) for name in ("chain2", "chain3"))
    for task in [*two, *three]:
        assert task.hops == len(task.evidence)
        assert not any(name in task.question for name in ("/orvale", "/quay", "a village in the hills", "the port"))
    assert [[one.url for one in task.evidence] for task in three] == [
        [f"{SITE}/arlind", f"{SITE}/orvale", f"{SITE}/quay"]
    ]
    assert three[0].question.startswith(
        'The page "Arlind" on north.example says: "Most of the grain was sold to the people of [link 1] by the mill '
        'owners." The page behind link 1 says: "Wool was carried in summer to the market of [link 2] by mules '
        'and boats."'
    )
    assert [one.value for one in three[0].evidence[:2]] == ["a village in the hills", "the port"]


@pytest.mark.parametrize("recipe", LOOKUP, ids=lambda recipe: recipe.name)
def test_the_same_seed_asks_the_same(root: Path, recipe: Recipe) -> None:
    builds = []
    for _ in range(2):
        with Crawl(root / "default") as crawl:
            builds.append(list(islice(recipe.make(Sources(crawl), 4), 50)))
    assert builds[0]
    assert builds[0] == builds[1]


def test_every_quote_is_in_the_text_and_pages_unfit_are_counted(crawl: Crawl) -> None:
    for recipe in LOOKUP:
        for task in islice(recipe.make(Sources(crawl), 2), 50):
            unfit = ("licence", "alt.") if recipe.name in ("finding", "cloze") else ("licence", "alt.", "hostile")
            assert not any(name in source.url for name in unfit for source in task.evidence)
            for source in task.evidence:
                page = crawl.find_page(source.url)
                assert page is not None
                assert source.digest == page.digest
                assert " ".join(source.quote.split()) in " ".join(page.text.split())
    assert (
        crawl.skip_counts["infobox", "not English"] == crawl.skip_counts["infobox", "changes or legal text"] == 1
    )  # German, and the licence


def test_an_honest_episode_earns_one(root: Path, crawl: Crawl) -> None:
    """A full reward goes to one episode of every recipe that opens the pages of the evidence and cites the last one."""
    with serving(root) as (url, _), Client(url, retries=0, timeout=60) as client:
        episode = Episode(client)
        for recipe in LOOKUP:
            for task in islice(recipe.make(Sources(crawl), 3), 3):
                for answer in (task.answers[0], task.answers[-1]):
                    episode.reset(task)
                    for source in task.evidence[-task.hops :]:
                        episode.call("open", {"link": source.url})
                    episode.call("finish", {"answer": answer, "citations": [task.evidence[-1].url]})
                    assert SHORT.score(episode.record()).reward == 1.0, (task.question, answer)


def test_an_address_earns_nothing_unopened_or_beside_another_page(root: Path, crawl: Crawl) -> None:
    task = of(crawl, "finding")[0]
    other = next(page.url for page in crawl.iterate_pages() if page.url != task.evidence[0].url)
    with serving(root) as (url, _), Client(url, retries=0, timeout=60) as client:
        episode = Episode(client)
        for opened, cited in (("", task.answers[0]), (other, other), (other, task.answers[0])):
            episode.reset(task)
            if opened:
                episode.call("open", {"link": opened})
            episode.call("finish", {"answer": task.answers[0], "citations": [cited]})
            assert SHORT.score(episode.record()).reward == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1,204", ("number", ("1,204", "1204"))), ("12 km", ("number", ("12 km", "12 kilometres", "12 kilometers"))),
     ("March 5, 2019", ("date", ("March 5, 2019", "2019-03-05", "5 March 2019"))),
     ("Ada Verin [3]", ("name", ("Ada Verin",))),
     ("31 February 2019", ("date", ("31 February 2019",))), ("", None), ("yes", None), ("foo(); bar", None),
     ("one, two and three", None), ("Read more", None), ("what it is for and how to use it", None)]
)  # fmt: skip
def test_spellings(text: str, expected: object) -> None:
    assert values.classify_answer(text) == expected


@pytest.mark.parametrize(
    ("sentence", "alone"),
    [("The bridge of Arlind was built by monks in the summer of 1271.", True),
     ("It was built by monks in the summer of the year 1271.", False),
     ("The bridge shown above was built by monks in the summer of 1271.", False),
     ("The bridge of Arlind and the mill beside the old grey river", False),
     ("Call the function foo() to open the bridge of the town of Arlind.", False)]
)  # fmt: skip
def test_sentences_that_stand_alone(sentence: str, alone: bool) -> None:
    assert prose.stands_alone(sentence) is alone


def test_abbreviations_end_no_sentence() -> None:
    assert prose.split_sentences("It is by Dr. Ames, e.g. The end. Another one.") == [
        "It is by Dr. Ames, e.g. The end.",
        "Another one.",
    ]


def test_titles_lose_the_name_of_the_site() -> None:
    alike = {f"Page {name} — The Manual 3.1": 1 for name in "ABC"} | {"Alone | Acme": 1, "A - B": 1}
    assert titles.shorten_titles(alike, "docs.acme.com") == {
        "Page A — The Manual 3.1": "Page A", "Page B — The Manual 3.1": "Page B", "Page C — The Manual 3.1": "Page C",
        "Alone | Acme": "Alone", "A - B": "A - B",
    }  # fmt: skip
