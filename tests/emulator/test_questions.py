"""Questions without what only asks."""

import pytest

from webemu.emulator.questions import find_years, strip_courtesies, strip_question_words, wants_fresh_results


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("what is the capital of france", "capital of france"),
        ("who wrote the hobbit", "wrote the hobbit"),
        ("how many people live in aldmere", "people live in aldmere"),
        ("what s new in tornado", "new in tornado"),
        ("wer hat die brücke gebaut", "brücke gebaut"),
        ("où est le phare", "phare"),
        ("dónde está el faro", "faro"),
        ("what is what", "what"),
        ("who is it", "who is it"),
        ("who", "who"),
        ("the who", "the who"),
        ("was ist das", "was ist das"),
        ("", ""),
    ],
)
def test_a_question_is_what_it_is_about(question: str, about: str) -> None:
    assert " ".join(strip_question_words(question.split())) == about


@pytest.mark.parametrize(
    ("message", "about"),
    [
        ("hi could you tell me how i join two tables by nearest time thanks", "how i join two tables by nearest time"),
        ("i m working on a web site and would like to rotate logs", "on a web site and would like to rotate logs"),
        ("what does kindly light mean in a hymn sung by the choir", "what does light mean in a hymn sung by the choir"),
        ("could you tell me about logs please", "could you tell me about logs please"),
        ("please please please please please please please please please please", "please " * 10),
        ("", ""),
    ],
)
def test_long_messages_lose_their_courtesies(message: str, about: str) -> None:
    assert " ".join(strip_courtesies(message.split())) == about.strip()


@pytest.mark.parametrize(
    "question", ["latest budget of Velmora", "Most recent flood", "neueste Nachrichten", "noticias recientes"]
)
def test_what_is_new_is_asked_for(question: str) -> None:
    assert wants_fresh_results(question)


@pytest.mark.parametrize("question", ["electric current", "news agencies", "todays", "collateral", ""])
def test_other_words_ask_for_nothing_new(question: str) -> None:
    assert not wants_fresh_results(question)


@pytest.mark.parametrize(
    ("query", "years"),
    [
        ("python release notes 2022", {2022}),
        ("olympics 2012 or 2016?", {2012, 2016}),
        ("RFC 2049x, version 2022.1, 2022-03-01, 1789, port 2048", set()),
        ("", set()),
    ],
)
def test_years_that_stand_alone_are_found(query: str, years: set[int]) -> None:
    assert find_years(query) == years
