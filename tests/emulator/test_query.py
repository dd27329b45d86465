"""The query language reads every string."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator.groups import MAX_WAYS
from webemu.emulator.query import MAX_CHARS, Group, Parsed, conditions, narrowed, parse


def test_words_keep_their_order_and_repeats() -> None:
    assert parse("to be or not to be") == Parsed(words="to be or not to be")


def test_every_operator() -> None:
    parsed = parse(
        'mayor "of the town" -spam -"bad idea" site:*.Example.org/docs -site:x.org intitle:hall inurl:news '
        "filetype:.PDF before:2024-05 after:2020 lang:EN-gb $50..100 +must"
    )
    assert parsed == Parsed(
        words="mayor of the town must",
        phrases=("of the town",),
        without=("spam", "bad idea"),
        sites=("example.org/docs",),
        without_sites=("x.org",),
        titles=("hall",),
        urls=("news",),
        types=("pdf",),
        before=date(2024, 5, 1),
        after=date(2020, 1, 1),
        languages=("en",),
        numbers=((50, 100),),
        required=("must",),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("before:soon", "before:soon"),
        ("site: foo", "site: foo"),
        ("e-mail -", "e-mail -"),
        ("a AND b & c", "a b c"),
        ("OR a |", "a"),
        ("lang:rust +44 1..x", "lang:rust +44 1..x"),
        ("1..999999", "1..999999"),
        ("1..2 3..4 5..6 7..8 9..10", "1 2 3 4 5 6 7 8 9 10"),
        ("-before:2020", "-before:2020"),
        ("f(x) of (see g(y)) :)", "f(x) of see g(y) :"),
        ("http://x.org/a?b=c", "http://x.org/a?b=c"),
        ("foo:bar (baz", "foo:bar baz"),
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


PIECES = [
    *'"-+*:()|',
    " ",
    " ",
    "site:",
    "before:",
    "after:",
    "intitle:",
    "lang:",
    " OR ",
    " AND ",
    "2024",
    "-13-",
    "..",
]
"""What queries are made of, and what breaks parsers."""


@given(st.lists(st.sampled_from([*PIECES, "a", "b.c", "de", "é"]), max_size=40).map("".join))
def test_no_combination_of_operators_raises(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed.conditional, bool)
    assert all(isinstance(said.conditional, bool) and len(rest) <= len(text) for said, rest in conditions(text))


@given(st.lists(st.sampled_from([*PIECES, "a", "b.c", "de", "é"]), max_size=40).map("".join))
def test_no_query_undoes_what_it_is_narrowed_by(text: str) -> None:
    assert parse(narrowed(text, ['site:"only.example"'])).sites[-1] == "only.example"


def test_narrowing_adds_conditions_after_the_words() -> None:
    assert narrowed("a b", ['site:"x.org"', "after:2020"]) == 'a b site:"x.org" after:2020'
    assert narrowed("a OR", []) == "a OR"
    assert parse(narrowed("q" * 9000, ["site:x.org"])).sites == ("x.org",)


def test_the_stricter_of_two_days_holds() -> None:
    parsed = parse("after:2020 after:2019 before:2022 before:2023")
    assert (parsed.after, parsed.before) == (date(2020, 1, 1), date(2022, 1, 1))


def test_or_joins_its_neighbours() -> None:
    parsed = parse("tall red OR blue | green house")
    assert (parsed.words, parsed.own) == ("tall red blue green house", "tall house")
    assert parsed.either == (Group("red OR blue | green", (Parsed("red"), Parsed("blue"), Parsed("green"))),)
    assert not parsed.conditional


def test_groups_stand_in_groups() -> None:
    parsed = parse('((site:a.org tea) OR "green tea") cup -(milk OR (sugar lang:en))')
    (group,), (unwanted,) = parsed.either, parsed.unwanted
    assert (parsed.words, parsed.own, group.binds) == ("tea green tea cup", "cup", True)
    assert group.ways == (Parsed("tea", sites=("a.org",)), Parsed("green tea", phrases=("green tea",)))
    assert unwanted.text == "milk OR (sugar lang:en)"
    assert unwanted.ways[0].either[0].ways == (Parsed("milk"), Parsed("sugar", languages=("en",)))


def test_sites_of_every_way_are_sites() -> None:
    assert parse("(site:a.org OR site:b.org/x) tea").sited
    assert not parse("(site:a.org OR intitle:x) tea").sited
    assert parse("site:a.org").sited


def test_what_may_not_be_can_be_anything() -> None:
    assert parse("-intitle:x").unwanted == (Group("intitle:x", (Parsed(titles=("x",)),)),)
    assert parse("-lang:de").unwanted == (Group("lang:de", (Parsed(languages=("de",)),)),)
    assert parse("-1990..1999").unwanted == (Group("1990..1999", (Parsed(numbers=((1990, 1999),)),)),)


def test_groups_are_bounded() -> None:
    assert parse("(" * 2000 + "a" + ")" * 2000).words == "a"
    (group,) = parse(" OR ".join("abcdefgh" * 20)).either
    assert len(group.ways) == MAX_WAYS + 1


@pytest.mark.parametrize("site", ["münchen.de", "xn--mnchen-3ya.de", "*.MÜNCHEN.de", "https://münchen.de:8080/"])
def test_a_site_is_meant_however_its_name_is_written(site: str) -> None:
    assert parse(f"site:{site}").sites == ("xn--mnchen-3ya.de",)


def test_a_filter_cannot_be_made_a_choice_by_open_parentheses() -> None:
    for text in ("(" * 8 + " tram OR", "(" * 20 + " tram |", "(((((((( a (b OR", "tram OR"):
        parsed = parse(narrowed(text, ['site:"ok.example"']))
        assert parsed.sites == ("ok.example",), text
        assert not parsed.either


def test_what_is_read_apart_is_read_once() -> None:
    deep = "(" * 8 + "a " * 1900 + " | ())" * 8
    started = time.process_time()
    assert parse(deep).words.split() == ["a"] * len(parse(deep).words.split())
    assert time.process_time() - started < 2
    parsed = parse('(after:2020 -x site:a.org 1..5 "b c" | ()) after:2021 d')
    assert (parsed.sites, parsed.without, parsed.numbers, parsed.phrases) == (("a.org",), ("x",), ((1, 5),), ("b c",))
    assert (str(parsed.after), parsed.words) == ("2021-01-01", "b c d")
