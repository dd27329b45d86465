"""The query language reads every string."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import limited
from webemu.emulator.groups import MAX_ALTERNATIVES
from webemu.emulator.query import MAX_CHARS, Group, ParsedQuery, add_conditions, list_conditions, parse_query


def test_words_keep_their_order_and_repeats() -> None:
    assert parse_query("to be or not to be") == ParsedQuery(words="to be or not to be")


def test_every_operator() -> None:
    parsed = parse_query(
        'mayor "of the town" -spam -"bad idea" site:*.Example.org/docs -site:x.org intitle:hall inurl:news '
        "filetype:.PDF before:2024-05 after:2020 lang:EN-gb $50..100 +must"
    )
    assert parsed == ParsedQuery(
        words="mayor of the town must",
        phrases=("of the town",),
        excluded_terms=("spam", "bad idea"),
        sites=("example.org/docs",),
        excluded_sites=("x.org",),
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
    assert parse_query(text) == ParsedQuery(words=words)


def test_typographic_quotes_are_quotes() -> None:
    assert parse_query("“white house”").phrases == ("white house",)


@pytest.mark.parametrize("text", ["Who said “we shall fight” in 1940?", "a b c d e f g h i j k l “m n”"])
def test_typographic_quotes_of_prose_are_none(text: str) -> None:
    assert parse_query(text).phrases == ()


WORDS_WITH_DASHES = [
    "git log --oneline",
    "git show --name-only -C dir",
    "git rebase -interactive",
    "tar -x archive",
    "what does tar -xzf do",
    "ls -la",
    "find . -name core -type f",
    "java -jar app.jar",
    "python -m module -verbose",
    "gcc -Wall main.c",
    "Get-ChildItem -Recurse",
    "$ frobnicate -all",
    "COVID -19",
    "temperature -1",
    "x - y",
    "a (ls -la) OR (rm -rf)",
    "key -Dname=value",
    "ghc -Wall Main.hs",
    "libstdc++ -fno-exceptions",
    "which option is -hide-all-packages",
    "save -append -zip file",
]


@pytest.mark.parametrize("text", WORDS_WITH_DASHES)
def test_options_and_numbers_with_a_dash_are_words(text: str) -> None:
    parsed = parse_query(text)
    words = re.findall(r"\w+", text.replace(" OR ", " "))
    assert (re.findall(r"\w+", parsed.words), parsed.excluded_terms, parsed.excluded_groups) == (words, (), ())


def test_every_dash_excludes_in_a_strict_query() -> None:
    assert parse_query("tar -x --list -19", is_strict=True).excluded_terms == ("x", "-list", "19")


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("python -snake", "snake"),
        ("jaguar -car speed", "car"),
        ("java -island", "island"),
        ("-tower lighthouse", "tower"),
        ("mercury -R2D2", "R2D2"),
        ("vaccine -covid-19", "covid-19"),
        ("上海 -北京", "北京"),
        ('ls -la -"long format"', "long format"),
        ("news -example.org", "example.org"),
    ],
)
def test_a_plain_dash_excludes(text: str, excluded: str) -> None:
    assert parse_query(text).excluded_terms == (excluded,)


def test_many_dashes_are_read_in_linear_time() -> None:
    with limited(8):
        for text in ("-abc " * 1000, "find -name " * 400, "-" * 4000, '"-' * 2000):
            parse_query(text)


def test_a_query_is_read_to_its_bound() -> None:
    assert len(parse_query("a " * 10_000).words) <= MAX_CHARS


@given(st.text(st.characters(codec=None), max_size=200))
def test_no_string_raises(text: str) -> None:
    parse_query(text).words.encode()


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
"""The pieces that queries are made of, and those that break parsers."""


@given(st.lists(st.sampled_from([*PIECES, "a", "b.c", "de", "é"]), max_size=40).map("".join))
def test_no_combination_of_operators_raises(text: str) -> None:
    parsed = parse_query(text)
    assert isinstance(parsed.has_filters, bool)
    assert all(
        isinstance(condition.has_filters, bool) and len(remainder) <= len(text)
        for condition, remainder in list_conditions(text)
    )


@given(st.lists(st.sampled_from([*PIECES, "a", "b.c", "de", "é"]), max_size=40).map("".join))
def test_no_query_undoes_what_it_is_narrowed_by(text: str) -> None:
    assert parse_query(add_conditions(text, ['site:"only.example"'])).sites[-1] == "only.example"


def test_narrowing_adds_conditions_after_the_words() -> None:
    assert add_conditions("a b", ['site:"x.org"', "after:2020"]) == 'a b site:"x.org" after:2020'
    assert add_conditions("a OR", []) == "a OR"
    assert parse_query(add_conditions("q" * 9000, ["site:x.org"])).sites == ("x.org",)


def test_the_stricter_of_two_days_holds() -> None:
    parsed = parse_query("after:2020 after:2019 before:2022 before:2023")
    assert (parsed.after, parsed.before) == (date(2020, 1, 1), date(2022, 1, 1))


def test_or_joins_its_neighbours() -> None:
    parsed = parse_query("tall red OR blue | green house")
    assert (parsed.words, parsed.ungrouped_words) == ("tall red blue green house", "tall house")
    assert parsed.any_of == (
        Group("red OR blue | green", (ParsedQuery("red"), ParsedQuery("blue"), ParsedQuery("green"))),
    )
    assert not parsed.has_filters


def test_groups_stand_in_groups() -> None:
    parsed = parse_query('((site:a.org tea) OR "green tea") cup -(milk OR (sugar lang:en))')
    (group,), (unwanted,) = parsed.any_of, parsed.excluded_groups
    assert (parsed.words, parsed.ungrouped_words, group.is_filter) == ("tea green tea cup", "cup", True)
    assert group.alternatives == (
        ParsedQuery("tea", sites=("a.org",)),
        ParsedQuery("green tea", phrases=("green tea",)),
    )
    assert unwanted.text == "milk OR (sugar lang:en)"
    assert unwanted.alternatives[0].any_of[0].alternatives == (
        ParsedQuery("milk"),
        ParsedQuery("sugar", languages=("en",)),
    )


def test_sites_of_every_way_are_sites() -> None:
    assert parse_query("(site:a.org OR site:b.org/x) tea").is_site_restricted
    assert not parse_query("(site:a.org OR intitle:x) tea").is_site_restricted
    assert parse_query("site:a.org").is_site_restricted


def test_what_may_not_be_can_be_anything() -> None:
    assert parse_query("-intitle:x").excluded_groups == (Group("intitle:x", (ParsedQuery(titles=("x",)),)),)
    assert parse_query("-lang:de").excluded_groups == (Group("lang:de", (ParsedQuery(languages=("de",)),)),)
    assert parse_query("-1990..1999").excluded_groups == (Group("1990..1999", (ParsedQuery(numbers=((1990, 1999),)),)),)


def test_groups_are_bounded() -> None:
    assert parse_query("(" * 2000 + "a" + ")" * 2000).words == "a"
    (group,) = parse_query(" OR ".join("abcdefgh" * 20)).any_of
    assert len(group.alternatives) == MAX_ALTERNATIVES + 1


@pytest.mark.parametrize("site", ["münchen.de", "xn--mnchen-3ya.de", "*.MÜNCHEN.de", "https://münchen.de:8080/"])
def test_a_site_is_meant_however_its_name_is_written(site: str) -> None:
    assert parse_query(f"site:{site}").sites == ("xn--mnchen-3ya.de",)


def test_a_filter_cannot_be_made_a_choice_by_open_parentheses() -> None:
    for text in ("(" * 8 + " tram OR", "(" * 20 + " tram |", "(((((((( a (b OR", "tram OR"):
        parsed = parse_query(add_conditions(text, ['site:"ok.example"']))
        assert parsed.sites == ("ok.example",), text
        assert not parsed.any_of


def test_what_is_read_apart_is_read_once() -> None:
    deep = "(" * 8 + "a " * 1900 + " | ())" * 8
    with limited(8):
        assert parse_query(deep).words.split() == ["a"] * len(parse_query(deep).words.split())
    parsed = parse_query('(after:2020 -xyz site:a.org 1..5 "b c" | ()) after:2021 d')
    assert (parsed.sites, parsed.excluded_terms, parsed.numbers, parsed.phrases) == (
        ("a.org",),
        ("xyz",),
        ((1, 5),),
        ("b c",),
    )
    assert (str(parsed.after), parsed.words) == ("2021-01-01", "b c d")
