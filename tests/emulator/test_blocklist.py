"""The sets of a block list find what comparing with each member would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator import urls
from webemu.emulator.blocklist import FEW_TEXTS, TextSet, UrlSet

SHORT_TEXTS = st.text("ab", min_size=4, max_size=9)
HOSTS = ("example.org", "www.example.org", "www2.example.org", "EXAMPLE.org.", "example..org", "www.www.example.org",
         "exa%6dple.org", "exa mple.org", "user@example.org", "example.org:80", "example.org:8080", "münchen.example",
         "xn--mnchen-3ya.example", "[::1]", "0x7f.1", "")  # fmt: skip
PATHS = ("", "/", "/a", "/A/", "/a/index.html", "/a?b=1&c=2", "/a?c=2&b=1", "/a?utm_source=x", "/a.css?v=1", "/%61#top")
SPELLINGS = st.builds(
    "".join,
    st.tuples(st.sampled_from(("http://", "https://", "//", "")), st.sampled_from(HOSTS), st.sampled_from(PATHS)),
)


@given(st.lists(SHORT_TEXTS, min_size=FEW_TEXTS, max_size=60, unique=True), st.text("abc", max_size=80))
def test_many_texts_are_found_as_one_by_one(texts: list[str], text: str) -> None:
    assert TextSet(texts).occur_in(text) == any(one in text for one in texts)


@given(st.lists(SHORT_TEXTS, min_size=FEW_TEXTS + 1, max_size=60, unique=True), st.text("c", max_size=9), st.data())
def test_a_text_is_found_wherever_it_begins(texts: list[str], before: str, data: st.DataObject) -> None:
    assert TextSet(texts).occur_in(before + data.draw(st.sampled_from(texts)))


def keys_of(url: str) -> set[str]:
    exact = urls.normalize(url)
    return {urls.surt_key(exact), urls.loose_key(exact)}


@given(st.lists(SPELLINGS, max_size=5), SPELLINGS)
def test_urls_are_found_as_one_by_one(members: list[str], url: str) -> None:
    url = urls.parse_user_url(url)
    keys = {key for one in members for key in keys_of(urls.parse_user_url(one))}
    assert UrlSet(members).has(url) == bool(keys & keys_of(url))
