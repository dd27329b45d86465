"""Rules of reports one by one: forms of citations, relation, polarity, precision of dates, hidden text."""

from __future__ import annotations

import pytest

from webemu.rl.reports.citations import ids_of, mark_citations
from webemu.rl.reports.passages import read_page
from webemu.rl.reports.support import claim_of, judge_claim
from webemu.rl.reports.visible_text import strip_hidden

PAGE = "Arlen Mill\nOtto Rahn built the mill on 4 March 1931. It never burnt. The mill is 31 metres tall."


@pytest.mark.parametrize(
    ("mark", "ids"),
    [
        ("[1]", ["1"]), ("[1, 2]", ["1", "2"]), ("[1][2]", ["1", "2"]), ("[1-3]", ["1", "2", "3"]), ("(1)", ["1"]),
        ("【1†L1-L3】", ["1"]), ("【2†source】", ["2"]), ("[citation:2]", ["2"]), ("[Source 1]", ["1"]),
        ("<sup>2</sup>", ["2"]), ("([Wick](https://a.b/wick))", ["https://a.b/wick"]), ("https://a.b/c.", ["https://a.b/c"]),
        ("[[1]](https://a.b/c)", ["https://a.b/c"]), ("(1640)", []), ("(9)", []), ("41 km²", []),
    ],
)  # fmt: skip
def test_forms_of_citations(mark: str, ids: list[str]) -> None:
    assert ids_of(mark_citations(f"It closed {mark}", 3).text) == ids


def test_a_list_of_sources_is_read_and_taken_away() -> None:
    marked = mark_citations("It closed [1].\n\nSources:\n1. Wick - https://a.b/wick\n", 0)
    assert (marked.sources, marked.text.strip()[-1]) == ({"1": "https://a.b/wick"}, ".")
    assert [entry.text for entry in marked.entries] == ["Wick"]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Otto Rahn built the mill.", "borne"),
        ("The mill was constructed by Otto Rahn in 1931.", "borne"),
        ("The mill reportedly has a height of 31 m.", "borne"),
        ("The mill never burnt.", "borne"),
        ("The mill built Otto Rahn.", "refuted"),
        ("The mill burnt.", "refuted"),
        ("It is untrue that Otto Rahn built the mill.", "refuted"),
        ("Otto Rahn built the mill on 5 March 1931.", "open"),
        ("Otto Rahn built the mill and robbed it.", "open"),
        ("The mill is thirty-two metres tall.", "open"),
    ],
)
def test_support(claim: str, verdict: str) -> None:
    page = read_page("https://a.b/arlen-mill", (PAGE,))
    assert judge_claim(claim_of(claim, frozenset()), [page]) == verdict


def test_what_no_reader_sees_is_not_read() -> None:
    hidden = '<!-- a --><p style="display:none">b <b>c</b></p><span hidden>d</span>'
    assert strip_hidden(f"{hidden}<b>e</b> <!-- f").split() == ["e"]


def test_a_line_without_a_predicate_is_borne_word_for_word() -> None:
    page = read_page("https://a.b/wick", ("Wick\nMayor Bo Lund\nKey Gna",))
    verdicts = [judge_claim(claim_of(text, frozenset()), [page]) for text in ("Key Gna.", "Mayor Bo Lund", "Key Lund.")]
    assert verdicts == ["borne", "borne", "open"]
