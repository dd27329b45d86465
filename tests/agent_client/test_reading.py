"""Reading pages as the tools show them, however a site lays out its rows."""

from __future__ import annotations

import pytest

from webemu.agent_client.observation_parsing import (
    Cell,
    find_in_sentence,
    find_in_table,
    find_infobox_value,
    find_largest,
    has_title,
    parse_next_start,
    parse_results,
    parse_window,
)

ADDRESSES = "\n\nLinks:\n[1] https://example.org/a\n[12] https://example.org/Ada_(painter)\n"


@pytest.mark.parametrize(
    "row",
    ["Founded | 1987", "Founded: 1987", "Founded\t1987", "Founded\n1987", "Founded 1987", "| Founded | 1987 |",
     "Founded\n\n  1987", "**Founded** | 1987"],
)  # fmt: skip
def test_infobox_rows(row: str) -> None:
    assert find_infobox_value(
        f"Acme\nMayor since | 2001\n{row}\nFounded by friends, it was long a shop of two.", "Founded"
    ) == Cell("1987")


def test_a_label_is_not_part_of_another() -> None:
    page = "Mayor since | 2001\nPrevious mayor | Bo\nMayor | Ada"
    assert find_infobox_value(page, "Mayor") == Cell("Ada")
    assert find_infobox_value(page, "Census") is None


@pytest.mark.parametrize("marked", ["Ada [12]", "Ada[12]", "Ada 【12†Ada】", "[Ada](https://example.org/Ada_(painter)"])
def test_links_of_values(marked: str) -> None:
    cell = find_infobox_value(f"Founder | {marked}{ADDRESSES}", "Founder")
    assert cell is not None
    assert (cell.text, cell.is_link) == ("Ada", True)
    assert cell.url.startswith("https://example.org/Ada_(painter")


def test_a_mark_without_its_address_is_known_to_lack_it() -> None:
    assert find_infobox_value("Founder | Ada [99]", "Founder") == Cell("Ada", "", True)


TABLES = """Population history
Year | Population
1990 | 8,100
2021 | 9,421

Winners
Year | Winner | Publisher
1990 | The Salt Road [1] | House
2021 | Red Kite [12] | Other"""


def test_tables() -> None:
    assert find_in_table(TABLES, "Population", "2021") == Cell("9,421")
    assert find_in_table(TABLES + ADDRESSES, "Winner", "2021") == Cell(
        "Red Kite", "https://example.org/Ada_(painter)", True
    )
    assert find_in_table(TABLES, "Winner", "1999") is None
    assert find_in_table("Visitors\n2020\n17,000\n2021\n19,000", "Visitors", "2021") == Cell("19,000")


def test_largest() -> None:
    page = "Town | 1990 | 2021\nAshby [1] | 9,000 | 10,000\nWick [12] | 900 | 11,000\nFar | 8 | 9"
    assert find_largest(page + ADDRESSES, "Town", "1990") == Cell("Ashby", "https://example.org/a", True)
    assert find_largest(page, "Town", "2021") == Cell("Wick", "", True)
    assert find_largest(page, "Town", "1800") is None


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("Acme was founded in 1987 by two friends.", "Founded", "1987"),
        ("The mayor of Brennaford is Ada Holm, who", "Mayor", "Ada Holm"),
        ("Its capital is Wick.", "Capital", "Wick"),
    ],
)
def test_sentences(text: str, label: str, expected: str) -> None:
    assert find_in_sentence(text, label) == Cell(expected)
    assert find_in_sentence(text, "River") is None


def test_titles() -> None:
    assert has_title("Ashby (Kellmark) - OpenLexicon", "Ashby (Kellmark)")
    assert has_title("Salt: A Story | Books", "Salt: a story")
    assert not has_title("Ashby (Varn) - OpenLexicon", "Ashby (Kellmark)")
    assert not has_title("Ashby Days - OpenLexicon", "Ashby")


def test_results() -> None:
    listing = "Results for: x\n\n1. One - Site\n   https://a.org/1\n   2. text\n\n2. Two\n   https://b.org/\n   s"
    assert parse_results(listing) == [("One - Site", "https://a.org/1"), ("Two", "https://b.org/")]


def test_windows() -> None:
    view = "Page: https://a.org/\nCharacters 0 to 9 of 20.\n\nfirst\n\nlast\n\nThe page goes on: open it with start=9."
    assert parse_window(view) == "first\n\nlast"
    assert parse_next_start(view) == 9
    assert parse_next_start("Page: x\n\nThe page goes on: open it with start=9.\nmore") is None
