"""The query language reads every string."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.query import MAX_CHARS, Parsed, parse


def test_words_keep_their_order_and_repeats() -> None:
    assert parse("to be or not to be") == Parsed(words="to be or not to be")


def test_every_operator() -> None:
    parsed = parse(
        'mayor "of the town" -spam -"bad idea" site:*.Example.org/docs -site:x.org intitle:hall inurl:news '
        "filetype:.PDF before:2024-05 after:2020"
    )
    assert parsed == Parsed(
        words="mayor of the town",
        phrases=("of the town",),
        without=("spam", "bad idea"),
        sites=("example.org/docs",),
        without_sites=("x.org",),
        titles=("hall",),
        urls=("news",),
        types=("pdf",),
        before=date(2024, 5, 1),
        after=date(2020, 1, 1),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("before:soon", "before:soon"),
        ("site: foo", "site: foo"),
        ("e-mail -", "e-mail -"),
        ("a OR b AND c", "a b c"),
        ("http://x.org/a?b=c", "http://x.org/a?b=c"),
        ("foo:bar (baz", "foo:bar (baz"),
        ('"unclosed phrase', " unclosed phrase"),
        ('""', ""),
    ],
)
def test_what_is_no_operator_is_words(text: str, words: str) -> None:
    assert parse(text) == Parsed(words=words)


def test_typographic_quotes_are_quotes() -> None:
    assert parse("“white house”").phrases == ("white house",)


def test_a_query_is_read_to_its_bound() -> None:
    assert len(parse("a " * 10_000).words) <= MAX_CHARS


@given(st.text(st.characters(codec=None), max_size=200))
def test_no_string_raises(text: str) -> None:
    parse(text).words.encode()


@given(st.lists(st.sampled_from(['"', "-", "site:", "before:", "a", " ", "intitle:", "2024", "-13-", ":", "(", "é"])))
def test_no_combination_of_operators_raises(parts: list[str]) -> None:
    assert isinstance(parse("".join(parts)), Parsed)


@pytest.mark.parametrize("site", ["münchen.de", "xn--mnchen-3ya.de", "*.MÜNCHEN.de", "https://münchen.de:8080/"])
def test_a_site_is_meant_however_its_name_is_written(site: str) -> None:
    assert parse(f"site:{site}").sites == ("xn--mnchen-3ya.de",)
