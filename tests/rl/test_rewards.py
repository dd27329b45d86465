"""Gates, the composition of terms, and long answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from webemu.rl import gates
from webemu.rl.ledger import Request, count_repeats
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.reports.citations import mark_citations, strip_marks
from webemu.rl.reports.facts import extract_facts, find_names
from webemu.rl.reports.scoring import coverage, precision, read_statements
from webemu.rl.reports.sentences import split_sentences
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.rubric import Rubric, Term
from webemu.rl.tasks import Evidence, Task

URL = "https://a.example/wick"
REPORT = Task(
    "r", "Write about Wick.", ("Bo Lund",),
    (Evidence(URL, value="Bo Lund"), Evidence(URL, value="9,421"), Evidence(URL, value="12 March 1987")),
)  # fmt: skip
PAGE = "Wick\nMayor | Bo Lund\nPopulation | 9,421\nThe pier of Wick was opened on 12 March 1987 by Ada Holm."


def request(step: int = 1, attempt: int = 0, status: int = 200, *, weather: str = "", failed: bool = False) -> Request:
    return Request(step, status, attempt, 10, (), (URL,), frozenset({weather} - {""}), failed)


def record(answer: str, *citations: str, task: Task = REPORT) -> EpisodeRecord:
    return EpisodeRecord(task, answer, citations or (URL,), (request(),), {url_key(URL): (PAGE,)}, {}, "finished")


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("Bo Lund", ("Bo Lund",)),
        ("147,605", ("1",)),
        ("12 March 1987", ("x",)),
        ("Baden-Baden", ("x",)),
        ("Lund & Sons", ("Holm & Daughters",)),
        ("The Piano and the Staircase", ("The Piano and the Staircase",)),
        ("1990-1995", ("1990–1995",)),
    ],
)
def test_single(answer: str, accepted: tuple[str, ...]) -> None:
    assert gates.is_single(answer, accepted)


@pytest.mark.parametrize(
    "answer",
    ["Bo or Ada", "Bo, Ada", "Bo/Ada", "Bo; Ada", "Bo (Ada)", "1-9", "1–9", "1 to 9", "between 1 and 9", "Bo | Ada",
     "both Bo", "Bo. Ada", "yes and no", "Ｂｏ，Ada", "Bo • Ada", "Bo oder Ada"],
)  # fmt: skip
def test_not_single(answer: str) -> None:
    assert not gates.is_single(answer, ("Bo Lund",))


@pytest.mark.parametrize(
    ("text", "form"),
    [("9,421", "number"), ("−3.5", "number"), ("12 March 1987", "date"), ("March 1987", "date"), ("Bo", "words"),
     ("3.5 km", "mixed"), ("reward: 1", "mixed")],
)  # fmt: skip
def test_form(text: str, form: str) -> None:
    assert gates.classify_form(text) == form


def test_own_words() -> None:
    question = "Which is larger, Wick or Holm?"
    assert gates.is_not_from_question("Wick", question, ("Wick",))
    assert not gates.is_not_from_question("larger", question, ("Wick",))
    assert not gates.is_not_from_question("Holm", "Where is Holm?", ("Wick",))
    assert not gates.is_not_from_question("Where is Holm? Wick", "Where is Holm?", ("Wick",))
    assert gates.is_not_from_question("Ada", "Where is Holm?", ("Wick",))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("9421", True), ("9,421", True), ("1987-03-12", True), ("March 12, 1987", True), ("bo lund", True), ("Bo", True),
     ("942", False), ("und", False), ("", False), ("Lund 9,421", False), ("421", False)],
)  # fmt: skip
def test_a_page_says_an_answer(answer: str, expected: bool) -> None:
    assert gates.contains_answer(PAGE, answer) is expected


def test_terms_are_multiplied_and_all_are_logged() -> None:
    half = [Term(name, "factor", lambda _: 0.5) for name in "bc"]
    rubric = Rubric((Term("a", "gate", lambda _: 1), *half, Term("d", "metric", lambda _: 9)))
    score = rubric.score(record("x"))
    assert (score.reward, score.terms) == (0.25, {"a": 1, "b": 0.5, "c": 0.5, "d": 9})


def test_a_masked_record_has_no_reward() -> None:
    score = SHORT.score(replace(record("Bo Lund"), mask="unreachable", end="masked"))
    assert (score.reward, score.mask, {*score.terms.values()}) == (None, "unreachable", {None})


def test_any_accepted_spelling_on_the_page_will_do() -> None:
    task = Task("t", "Who?", ("Bo Lund", "B. Lund", "Mayor Lund of Wick"))
    for answer in task.answers:
        assert SHORT.score(record(answer, task=task)).reward == 1.0


def test_grounding_is_the_share_of_citations() -> None:
    task = Task("t", "Who?", ("Bo Lund",))
    assert SHORT.score(record("Bo Lund", URL, "https://b.example/", task=task)).reward == 0.5
    assert SHORT.score(record("Bo Lund", "http://a.example/wick/#top", task=task)).reward == 1.0


@pytest.mark.parametrize(
    "failed_request",
    [request(failed=True), request(status=403), request(status=200, weather="truncated"), request(status=0)],
)
def test_a_page_that_did_not_arrive_grounds_nothing(failed_request: Request) -> None:
    task = Task("t", "Who?", ("Bo Lund",))
    assert SHORT.score(replace(record("Bo Lund", task=task), requests=(failed_request,))).reward == 0.0


def test_asking_again_after_weather_is_no_repeat() -> None:
    assert count_repeats((request(), request(2, 1), request(3, 2))) == 2
    assert count_repeats((request(status=503, weather="error"), request(2, 1))) == 0
    assert count_repeats((request(), request(2, 1, 503, weather="error"), request(3, 2))) == 0


def sentences(text: str) -> list[str]:
    return [strip_marks(one) for one in split_sentences(mark_citations(text, 2).text)]


def test_sentences_end_behind_their_citations() -> None:
    assert sentences("Bo Lund is mayor [1]. It has 3.5 km. [2] Then more.\n\n- A list") == [
        "Bo Lund is mayor .", "It has 3.5 km .", "Then more.", "- A list",
    ]  # fmt: skip


def test_facts_of_a_sentence() -> None:
    assert extract_facts('In March, Bo Lund said "we open it" on 12 March 1987 to 9,421 people [1].') == [
        "we open it", "Bo Lund", "date19870312", "9421",
    ]  # fmt: skip
    assert extract_facts("It is what it is, one of many.") == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "Node.js and the U.S. Army met Dr. Ada Holm's NASA at 9 a.m.",
            ["U.S Army", "Dr Ada Holm", "NASA"],
        ),
        (
            "Part of it are Mary Reid, Bo of Wick and the Turks and Caicos.",
            ["Mary Reid", "Bo of Wick", "Turks", "Caicos"],
        ),
        ("The University of Wick lies in Wick (Norrland), not in May.", ["University of Wick", "Wick", "Norrland"]),
        ("Its mayor, I'm told, is “Bo” Lund.", ["Bo", "Lund"]),
    ],
)
def test_names(sentence: str, expected: list[str]) -> None:
    assert find_names(sentence) == expected


def test_abbreviations_end_no_sentence() -> None:
    assert sentences("Dr. Bo Lund met J. R. Holm vs. Wick [1]. No. 7 closed [2].") == [
        "Dr. Bo Lund met J. R. Holm vs. Wick .", "No. 7 closed .",
    ]  # fmt: skip


def test_headings_and_lists_of_sources_are_not_sentences() -> None:
    text = "# Wick\n\n**History**\nBo Lund is mayor [1].\n\nSources:\n[1] https://a.example/wick\n- Wick: https://a.example/"
    assert [one.text for one in read_statements(record(text))] == ["Bo Lund is mayor ."]
    assert precision(record(text)) == 1.0
    assert coverage(record("# Bo Lund 9,421 12 March 1987\nhttps://a.example/9421")) == 0.0


FULL = "The mayor is Bo Lund [1]. The town has 9,421 people [1]. The pier was opened on 12 March 1987 [1]."


OTHER = "https://b.example/holm"
TWO = {url_key(URL): (PAGE,), url_key(OTHER): ("Holm\nMayor | Ada Vik\nPopulation | 3,000",)}


def two_pages(answer: str) -> EpisodeRecord:
    both = replace(request(), opened=(URL, OTHER))
    return replace(record(answer, URL, OTHER), parts_by_page=TWO, requests=(both,))


@pytest.mark.parametrize(
    ("sentence", "precise"),
    [
        ("Wick has 9,421 people [1], and Holm has 3,000 [2].", 1.0),
        ("Wick has 3,000 people [1], and Holm has 9,421 [2].", 0.0),
        ("Bo Lund and Ada Vik are mayors [1][2].", 1.0),
        ("Bo Lund and Ada Vik are mayors [1].", 0.0),
        ("Bo Lund [1] and Ada Vik [2] are mayors.", 1.0),
        ("Bo Lund [1] is mayor since 1990.", 0.0),
        ("Bo Lund and Ada Vik are mayors [1][2][1][7].", 1.0),
        ("Bo Lund's town is Wick's rival [1].", 0.0),
    ],
)
def test_what_stands_before_a_citation_is_looked_up_there(sentence: str, precise: float) -> None:
    assert precision(two_pages(sentence)) == precise


def test_citing_all_pages_at_one_place_supports_nothing() -> None:
    many = tuple(f"https://{name}.example/" for name in "cdef")
    cited = replace(two_pages("Bo Lund and Ada Vik are mayors [1][2][3][4]."), citations=(URL, OTHER, *many))
    assert precision(cited) == 0.0


def test_a_claim_needs_more_than_its_value() -> None:
    claim = Evidence(URL, "The pier of Wick was opened on 12 March 1987 by Ada Holm.", "12 March 1987")
    task = replace(REPORT, evidence=(claim,))
    assert coverage(record("The pier was opened on 1987-03-12 [1].", task=task)) == 1.0
    assert coverage(record("Something was on 12 March 1987 [1].", task=task)) == 0.0


def test_a_claim_stands_in_what_is_cited() -> None:
    """A name in small letters is looked up too."""
    task = replace(REPORT, evidence=(Evidence(URL, "The doctor of Wick is Ada Kroll.", "Ada Kroll"),))
    report = record("in Wick the mayor is Bo Lund and the doctor is ada kroll [1].", task=task)
    assert (precision(report), coverage(report)) == (0, 0)
    dated = replace(report, parts_by_page={url_key(URL): (f"{PAGE}\nDoctor | Ada Kroll",)})
    assert (precision(dated), coverage(dated)) == (1, 1)


def test_a_full_report() -> None:
    assert LONG.score(record(FULL)).reward == 1.0


@pytest.mark.parametrize(
    ("answer", "covered", "precise"),
    [
        (FULL.replace(" [1]", ""), 0, 0),
        (FULL.replace("[1]", "[2]"), 0, 0),
        (FULL.replace("9,421", "9,422"), 2 / 3, 2 / 3),
        (FULL.replace("Bo Lund", "Bo Holm"), 2 / 3, 2 / 3),
        ("The mayor is Bo Lund [1].", 1 / 3, 1),
        ("The mayor is Bo Lund [1]. Ada Holm sang in 2001 [1].", 1 / 3, 1 / 2),
        ("It is nice [1].", 0, 0),
        ("Bo Lund 9,421 12 March 1987 " * 12 + "[1].", 0, 0),
        ("", 0, 0),
    ],
)
def test_claims_and_citations(answer: str, covered: float, precise: float) -> None:
    assert coverage(record(answer)) == pytest.approx(covered)
    assert precision(record(answer)) == pytest.approx(precise)


@pytest.mark.parametrize("answer", [FULL * 30, FULL + "<|im_end|>", "  "])
def test_a_report_has_a_form(answer: str) -> None:
    assert LONG.score(record(answer)).reward == 0.0


def test_a_report_on_unopened_pages_earns_nothing() -> None:
    assert LONG.score(replace(record(FULL), requests=())).reward == 0.0


@pytest.mark.parametrize("answer", ["Ada Holm", "Ada Lund", "9,421", "Mayor", "pier", "unknown"])
def test_a_wrong_answer_earns_as_much_as_none(answer: str) -> None:
    task = Task("t", "Who is mayor?", ("Bo Lund",))
    assert SHORT.score(record(answer, task=task)).reward == 0.0
