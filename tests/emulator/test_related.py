"""Queries beside a query, told by the titles of its results."""

import pytest

from webemu.emulator.related import related_queries

TITLES = [
    "Harbour lighthouse - The Daily",
    "Lighthouse keeper | The Daily",
    "The lighthouse keeper's house - The Daily",
    "Old lighthouse lamps",
    "LIGHTHOUSE",
    "Lighthouse lamps of brass: a guide",
    "Something else",
]


def terms(text: str) -> list[str]:
    return text.lower().replace("'s", "").split()


def ask(text: str, limit: int = 8, titles: list[str] = TITLES) -> list[str]:
    return related_queries(text, titles, limit, terms, lambda word: 0.5 if word == "common" else 0.001)


def test_words_that_titles_share_and_titles_near_to_the_query_take_turns() -> None:
    assert ask("lighthouse") == [
        *("lighthouse keeper", "harbour lighthouse", "lighthouse lamps"),
        *("the lighthouse keeper's house", "old lighthouse lamps", "lighthouse lamps of brass"),
    ]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_no_more_than_asked_for(limit: int) -> None:
    assert ask("lighthouse", limit) == ask("lighthouse")[:limit]


def test_no_query_says_the_same_as_another() -> None:
    term_sets = [frozenset(terms(query)) for query in ask("keeper lighthouse")]
    assert frozenset({"keeper", "lighthouse"}) not in term_sets
    assert len(set(term_sets)) == len(term_sets)


def test_operators_are_kept_and_compared_as_words() -> None:
    assert ask("site:a.example lighthouse", 1) == ["site:a.example lighthouse keeper"]
    assert ask("site:a.example") == ask("") == []


def test_nothing_is_told_by_names_of_sites_words_everywhere_or_no_titles() -> None:
    assert not any("daily" in query for query in ask("lighthouse"))
    assert ask("lighthouse", titles=["common lighthouse", "a common day"]) == ["common lighthouse"]
    assert ask("lighthouse", titles=[]) == []


def test_long_titles_cost_no_more() -> None:
    assert ask("lighthouse", titles=["lighthouse " * 10_000] * 1000) == []
