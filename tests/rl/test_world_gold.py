"""Answers about a generated web, worked out again from the raw lines of its graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.rl.raw import Raw, Tasks, make, raw_of
from webemu.rl.gates import contains_phrase
from webemu.rl.verify import normalise


@pytest.fixture(scope="module")
def raw(root: Path) -> Raw:
    return raw_of(root / "web" / "graph.jsonl")


@pytest.fixture(scope="module")
def many(root: Path) -> Tasks:
    return make(root, 2, 300)


@pytest.mark.slow
def test_bridges_lead_from_page_to_page(many: Tasks, raw: Raw) -> None:
    assert {task.hops for task in many["bridge"]} == {1, 2, 3, 4, 5}
    homes = {row["urls"][0]: key for key, row in raw.entities.items()}
    for task in many["bridge"]:
        leads = [_object(raw, homes[place.url], place.quote) for place in task.evidence]
        assert task.answers[0] == leads[-1]["text"]
        for lead, place in zip(leads, task.evidence[1:], strict=False):
            assert homes[place.url] == lead["entity"]
        hidden = [lead["text"] for lead in leads[:-1]]
        assert raw.entities[homes[task.evidence[0].url]]["name"] in task.question
        assert not any(contains_phrase(normalise(task.question), normalise(name)) for name in hidden), task


def _object(raw: Raw, key: str, quote: str) -> dict[str, Any]:
    label, _, text = quote.partition(" | ")
    objects = [row for row in raw.triples if row["subject"] == key and row["label"] == label]
    return next(cast(dict[str, Any], row["object"]) for row in objects if row["object"]["text"] == text)


MEASURES: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "Which company was founded earlier": ("founded_in_year", min),
    "Which company is the younger one": ("founded_in_year", max),
    "Which company employs more people": ("employees", max),
    "Which company has the smaller staff": ("employees", min),
    "Which town has more inhabitants": ("population", max),
    "Which town has fewer inhabitants": ("population", min),
    "Which town was mentioned first": ("first_mentioned", min),
    "Which town covers the larger area": ("area", max),
    "Who was born earlier": ("born_on", min),
    "Who was born later": ("born_on", max),
    "Which river is longer": ("length", max),
    "Which novel was published earlier": ("published_in_year", min),
    "Which film is the more recent one": ("released_in_year", max),
    "Which product came onto the market later": ("introduced_in_year", max),
    "Which building was opened earlier": ("opened_on", min),
}


VALUES: tuple[tuple[str, str, Callable[[list[Any]], Any]], ...] = (
    (r"In which year was the older of the companies (.+) and (.+) founded\?", "founded_in_year", min),
    (r"How many people does the bigger employer of the two, (.+) and (.+), employ\?", "employees", max),
    (r"How many inhabitants does the less populous of the towns (.+) and (.+) have\?", "population", min),
    (r"On what date was the older of the two, (.+) and (.+), born\?", "born_on", min),
    (r"How long is the shorter of the two rivers, (.+) and (.+)\?", "length", min),
    (r'In which year was the more recent of the novels (".+") and (".+") published\?', "published_in_year", max),
    (r"On what date was the newer of the two buildings, (.+) and (.+), opened\?", "opened_on", max),
)


def test_comparisons_ask_for_the_value_of_the_right_one(many: Tasks, raw: Raw) -> None:
    checked = set()
    for task in many["comparison"]:
        for pattern, relation, best in VALUES:
            if match := re.fullmatch(pattern, task.question):
                keys = [raw.key(words) for words in match.groups()]
                measure = raw.day if relation.endswith("_on") else raw.number
                values = [measure(key, relation) for key in keys]
                assert raw.value_text(keys[values.index(best(values))], relation) == task.answers[0], task
                checked.add(pattern)
    assert len(checked) > 4
    assert sum(task.answer_type == "choice" for task in many["comparison"]) < 0.1 * len(many["comparison"])


@pytest.mark.slow
def test_choices_are_right_and_either_is_right_as_often(root: Path, raw: Raw) -> None:
    first, checked = Counter[bool](), set()
    for task in make(root, 2, 4000, "comparison")["comparison"]:
        comparison, _, two = task.question.rstrip("?").partition(", ")
        if task.answer_type == "choice":
            keys = [raw.key(words) for words in two.split(" or ")]
            first[raw.entities[keys[0]]["title"] in task.answers] += 1
            if comparison in MEASURES:
                relation, best = MEASURES[comparison]
                measure = raw.day if relation.endswith("_on") else raw.number
                values = [measure(key, relation) for key in keys]
                assert raw.entities[keys[values.index(best(values))]]["title"] in task.answers, task
                checked.add(comparison)
    assert len(checked) > 12
    assert 0.4 < first[True] / first.total() < 0.6


def test_intersections_have_one_member(many: Tasks, raw: Raw) -> None:
    homes = {row["urls"][0]: key for key, row in raw.entities.items()}
    checked = 0
    for task in many["intersection"]:
        last = task.evidence[-1].url
        facts = [place.quote.split(" | ") for place in task.evidence if place.url == last]
        if len(facts) == 2 and "winner" not in task.question:
            kind = raw.entities[homes[last]]["kind"]
            alike = [{row["subject"] for row in raw.triples if [row["label"], row["object"]["text"]] == fact
                      and row["subject"].startswith(f"{kind}/")} for fact in facts]  # fmt: skip
            assert min(map(len, alike)) > 1
            assert [raw.entities[key]["title"] for key in alike[0] & alike[1]] == [task.answers[-1]], task
            checked += 1
    assert checked > 20


def _sum(raw: Raw, question: str) -> int | None:
    if match := re.match(r"How many visitors did (.+) have in ([\d, and]+) together\?", question):
        years = re.findall(r"\d{4}", match[2])
        return sum(int(raw.number(raw.key(match[1]), f"visitors_{year}")) for year in years)
    if match := re.match(r"How many people live in the \d towns on the (.+) together\?", question):
        return sum(int(raw.number(town, "population")) for town in raw.subjects("on_river", match[1]))
    if match := re.match(r"How many inhabitants did the (two|three) largest towns of (.+) have together", question):
        sizes = sorted(-int(raw.number(town, "population")) for town in raw.subjects("in_region", match[2]))
        return -sum(sizes[: {"two": 2, "three": 3}[match[1]]])
    return None


def _count(raw: Raw, question: str) -> int | None:
    if match := re.match(r"In how many of the years .* did (.+) have more than ([\d,]+) visitors", question):
        key = raw.key(match[1])
        return sum(raw.number(key, f"visitors_{year}") > _plain(match[2]) for year in range(2018, 2025))
    if match := re.match(r"How many towns in (.+) had more than ([\d,]+) inhabitants", question):
        towns = raw.subjects("in_region", match[1])
        return sum(raw.number(town, "population") > _plain(match[2]) for town in towns)
    if match := re.match(r"How many towns on the (.+) have more than ([\d,]+) inhabitants", question):
        towns = raw.subjects("on_river", match[1])
        return sum(raw.number(town, "population") > _plain(match[2]) for town in towns)
    if match := re.match(r"How many towns stand on the (.+)\?", question):
        return len(raw.subjects("on_river", match[1]))
    if match := re.match(r"How many (novel|film|product|building)s (?:by|of) (.+) are listed", question):
        relation = {"novel": "author", "film": "director", "product": "made_by", "building": "architect"}[match[1]]
        maker = raw.key(match[2])
        rows = [row for row in raw.triples if row["relation"] == relation and row["object"].get("entity") == maker]
        return len(rows)
    if match := re.match(
        r"How many of the winners of (.+) from (\d+) to (\d+) were (?:published|produced) by (.+)\?", question
    ):
        won = [raw.now(raw.key(match[1]), f"winner_{year}") for year in range(int(match[2]), int(match[3]) + 1)]
        works = [row["object"]["entity"] for row in won if row]
        return sum(match[4] in (raw.value_text(work, "publisher"), raw.value_text(work, "studio")) for work in works)
    return None


def _plain(number: str) -> int:
    return int(number.replace(",", ""))


def test_counts_are_right_and_spread(many: Tasks, raw: Raw) -> None:
    sums = [(task, value) for task in many["counting"] if (value := _sum(raw, task.question)) is not None]
    assert all(f"{value:,}" == task.answers[0] for task, value in sums)
    assert len({task.question.split()[2] for task, _ in sums}) == 3
    assert 0.3 < len(sums) / len(many["counting"]) < 0.75
    counts = [task for task in many["counting"] if _sum(raw, task.question) is None]
    for task in counts:
        assert str(_count(raw, task.question)) == task.answers[0], task
    spread = Counter(task.answers[0] for task in counts)
    assert len(spread) >= 6
    assert spread.most_common(1)[0][1] <= 0.08 * len(many["counting"])


def _reckoned(raw: Raw, question: str) -> int | None:
    if match := re.match(r"How many days lie between the opening of (.+) and that of (.+)\?", question):
        return abs((raw.day(raw.key(match[1]), "opened_on") - raw.day(raw.key(match[2]), "opened_on")).days)
    if match := re.match(r"How many days older is (.+) than (.+)\?", question):
        return (raw.day(raw.key(match[2]), "born_on") - raw.day(raw.key(match[1]), "born_on")).days
    if match := re.match(r"How old was (?!the architect)(.+) on the day (.+) was opened\?", question):
        born, day = raw.day(raw.key(match[1]), "born_on"), raw.day(raw.key(match[2]), "opened_on")
        return day.year - born.year - int(day.month * 31 + day.day < born.month * 31 + born.day)
    return None


def test_dates_are_reckoned_right(many: Tasks, raw: Raw) -> None:
    checked = 0
    for task in many["date-arithmetic"]:
        if (value := _reckoned(raw, task.question)) is not None:
            assert f"{value:,}" == task.answers[0], task
            checked += 1
        elif "years" in task.question and len(task.evidence) == 2:
            years = [int(place.value[-4:]) for place in task.evidence]
            assert str(abs(years[0] - years[1])) == task.answers[0], task
    assert checked > 60


def _extreme(raw: Raw, question: str) -> str | None:
    if match := re.match(r"Which is the (.+) town by population in (.+)\?", question):
        towns = sorted(raw.subjects("in_region", match[2]), key=lambda town: -raw.number(town, "population"))
        return towns[{"largest": 0, "second largest": 1, "third largest": 2, "smallest": -1}[match[1]]]
    if match := re.match(r"Which is the (longest|shortest) river of (.+)\?", question):
        rivers = [key for key in raw.subjects("in_country", match[2]) if key.startswith("river/")]
        return (max if match[1] == "longest" else min)(rivers, key=lambda river: raw.number(river, "length"))
    if match := re.match(r"Which is the most populous town on the (.+)\?", question):
        return max(raw.subjects("on_river", match[1]), key=lambda town: raw.number(town, "population"))
    if match := re.match(r"Which is the (first published|most recent) novel by (.+)\?", question):
        works = raw.subjects("author", raw.entities[raw.key(match[2])]["name"])
        return (min if "first" in match[1] else max)(works, key=lambda work: raw.number(work, "published_in_year"))
    return None


def test_superlatives_are_right(many: Tasks, raw: Raw) -> None:
    checked = 0
    for task in many["superlative"]:
        if key := _extreme(raw, task.question):
            assert raw.entities[key]["title"] == task.answers[-1], task
            checked += 1
        elif match := re.match(r"Of the years .* did (.+) have (the most|the fewest) visitors", task.question):
            festival = raw.key(match[1])
            best = max if match[2] == "the most" else min
            assert task.answers == (str(best(range(2018, 2025), key=lambda y: raw.number(festival, f"visitors_{y}"))),)
    assert checked > 10


CLAUSES: tuple[tuple[str, str, Callable[[str, str], bool]], ...] = (
    (r"makes ([a-z ]+)", "industry", lambda text, value: text.lower() == value),
    (r"(?:was founded|was published|was released|was introduced|was opened|was born) in the (\d{3})0s", "*",
     lambda text, value: text[-4:-1] == value),
    (r"(?:was founded|was published|was released|was introduced) in (\d{4})", "*", lambda text, value: text == value),
    (r"(?:was opened|was born) in ([A-Z]\w+ \d{4})", "*", lambda text, value: text.endswith(f" {value}")),
    (r"employs more than ([\d,]+) people", "employees", lambda text, value: _plain(text) > _plain(value)),
    (r"has more than ([\d,]+) inhabitants", "population", lambda text, value: _plain(text) > _plain(value)),
    (r"came out at (.+)", "publisher", lambda text, value: text == value),
    (r"was produced by (.+)", "studio", lambda text, value: text == value),
    (r"lies in (.+)", "in_region", lambda text, value: text == value),
    (r"stands on the (.+)", "on_river", lambda text, value: text == value),
)  # fmt: skip
"""Clauses of descriptions as they are read here; `*` is the kind's own date."""
DATES = {
    "company": "founded_in_year",
    "novel": "published_in_year",
    "film": "released_in_year",
    "landmark": "opened_on",
}
NOUNS = {"company": "company", "novel": "novel", "film": "film", "building": "landmark", "town": "town"}


def _described(raw: Raw, question: str) -> list[str] | None:
    """Everything that fits a description; None where one of its clauses is not read here."""
    match = re.search(r"(?:only one|looking for an?|the only) (\w+) that (.+?)(?:; only|\. |\?$)", question)
    if not match or match[1] not in NOUNS:
        return None
    kind = NOUNS[match[1]]
    fitting = [key for key in raw.entities if key.startswith(f"{kind}/")]
    for words in re.split(r", (?=\w+ )| and (?=was|is|has|makes|employs|came|lies|stands|covers)", match[2]):
        clause = next((one for one in CLAUSES if re.fullmatch(one[0], words)), None)
        if clause is None:
            return None
        value = re.sub(clause[0], r"\1", words)
        relation = DATES[kind] if clause[1] == "*" else clause[1]
        fitting = [key for key in fitting if (text := raw.value_text(key, relation)) and clause[2](text, value)]
    return fitting


def test_descriptions_fit_one_entity_and_do_not_name_it(many: Tasks, raw: Raw) -> None:
    checked = 0
    for task in many["obfuscated"]:
        fitting = _described(raw, task.question)
        if fitting is not None:
            assert len(fitting) == 1, task
            assert raw.entities[fitting[0]]["urls"][0] in {place.url for place in task.evidence}
            assert raw.entities[fitting[0]]["name"] not in task.question
            checked += 1
    assert checked > 30
