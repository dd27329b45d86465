"""A budget of tokens ends where it should, by the approximation and, if it is at hand, by the real tokenizer."""

from pathlib import Path

import pytest

from webemu.agent_client.link_numbering import LinkNumbering, number_links
from webemu.agent_client.tokens import approximate_token_offset, default_token_offset

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "count", "end"),
    [
        ("", 5, 0),
        ("one two three", 2, len("one two")),
        ("one two three", 3, len("one two three")),
        ("one two three", 9, len("one two three")),
        ("internationalisation is long", 1, len("internationalisation")),
        ("1234567", 2, len("123456")),
        ("L12: a", 3, len("L12:")),
    ],
)
def test_words_digits_and_signs_count(text: str, count: int, end: int) -> None:
    assert approximate_token_offset(text, count) == end


def test_it_is_near_the_real_one() -> None:
    exact = default_token_offset()
    if exact is approximate_token_offset:
        pytest.skip("the vocabulary of o200k_base is not in tiktoken's cache")
    text = (HERE / "docs/api.md").read_text(encoding="utf-8")
    for count in (100, 500, 1000):
        assert approximate_token_offset(text, count) == pytest.approx(exact(text, count), rel=0.2)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("[Foo (bar)](https://a.example/Foo_(bar) \"a \\\"b\\\"\")", "【0†Foo (bar)】"),
        ("[p](https://a.example/par\\)en)", "【0†p】"),
        ("[sp [x] y](<https://b.example/a b>)", "【0†sp [x] y†b.example】"),
        ("[**bold**](http://a.example/)[†](http://a.example/2)", "【0†bold】【1†‡】"),
        ("[top](#top) [mail](mailto:a@b.example) [](https://a.example/)", "top mail [](https://a.example/)"),
        ("![picture](https://a.example/p.png)", "![picture](https://a.example/p.png)"),
        ("[bad](https://[a/)", "bad"),
    ],
)  # fmt: skip
def test_links_become_marks(markdown: str, text: str) -> None:
    assert number_links(markdown, LinkNumbering("a.example")) == text


@pytest.mark.parametrize("hostile", ["[", "[a", "[[a]", "[a](", "[a](x(y", "【1†"])
def test_hostile_pages_come_to_an_end(hostile: str) -> None:
    """The end comes in seconds, not in hours: each start of a link is looked at for a bounded stretch."""
    page = hostile * (1_000_000 // len(hostile))
    assert len(number_links(page, LinkNumbering("a.example"))) == len(page)
