"""Normalisation, exact match and F1."""

from __future__ import annotations

import pytest

from webemu.rl.verify import f1, is_exact_match, normalise


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("The Harbour Museum.", "harbour museum"),
        ("  Müller\u00a0&  Sons ", "müller sons"),
        ("12 March 1987", "1987-03-12"),
        ("March 12, 1987", "12th of March 1987"),
        ("Sept. 3, 2001", "2001-09-03"),
        ("1,234,567", "1234567"),
        ("1 234 567", "1234567"),
        ("1.2 million", "1,200,000"),
        ("3.50", "3.5"),
        ("$45", "45"),
        ("−5", "-5"),
        ("ＡＢＣ", "abc"),
        ("it's", "its"),
        ("Mirka\u200b Milak\u00ad", "mirka milak"),
        ("١٢٣٤", "1,234"),
        ("March 1987", "1987-03"),
        ("Sept 2001", "2001-09"),
        ("twelve", "12"),
        ("two million", "2,000,000"),
        ("ﬁnch", "finch"),
        ("½", "1⁄2"),
        ("1-€2", "1€2"),
        ("3‐4", "3 4"),
        ("a_b…c", "abc"),
    ],
)
def test_equal(answer: str, gold: str) -> None:
    assert normalise(answer) == normalise(gold)
    assert is_exact_match(answer, ["something else", gold])
    assert f1(answer, ["something else", gold]) == 1.0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("3.5", "35"),
        ("1987", "1988"),
        ("5", "-5"),
        ("12 March 1987", "March 1987"),
        ("1.2 million", "1.2 billion"),
        ("", "x"),
        ("a cat", "a dog"),
        ("1,234", "1.234"),
        ("147-605", "147605"),
        ("147/605", "147,605"),
        ("147, 605", "147605"),
        ("1;4;7", "147"),
        ("1.4.7", "147"),
        ("Мirka", "Mirka"),  # the first letter is Cyrillic: no compatibility look-alike
    ],
)
def test_different(answer: str, gold: str) -> None:
    assert not is_exact_match(answer, [gold])


def test_a_range_is_no_negative_number() -> None:
    assert normalise("1990-1995") == "1990 1995"
    assert "minus" not in normalise("1990–1995")


def test_f1_counts_tokens_once() -> None:
    assert f1("old harbour", ["the old harbour museum"]) == pytest.approx(0.8)
    assert f1("harbour harbour", ["harbour"]) == pytest.approx(2 / 3)
    assert f1("nothing", ["else"]) == 0.0
    assert f1("", [""]) == 1.0
    assert f1("x", []) == 0.0
