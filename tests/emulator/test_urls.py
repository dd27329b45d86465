"""URL law: keys, hosts and domains."""

import pytest
import surt
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from webemu.emulator import urls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.COM:80/a/../b?q=1#frag", "http://example.com/b?q=1"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("not a url#x", "not a url"),
        ("dns:example.com", "dns:example.com"),
    ],
)
def test_exact_is_what_a_browser_sends(text: str, expected: str) -> None:
    assert urls.normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("example.org/a", "http://example.org/a"), ("//example.org", "http://example.org/"), ("data:x", "data:x")],
)
def test_guess_adds_the_scheme_people_leave_out(text: str, expected: str) -> None:
    assert urls.parse_user_url(text) == expected


def test_canonical_ignores_scheme_and_query_order() -> None:
    assert (
        urls.canonical_key("https://x.org/a?b=2&a=1")
        == urls.canonical_key("http://x.org/a?a=1&b=2")
        == "x.org/a?a=1&b=2"
    )


@given(
    st.text(st.sampled_from("aA0-.:"), min_size=1, max_size=8),
    st.text(st.sampled_from("aA0-._~/%é ?=&:@;,+"), max_size=12),
)
def test_canonical_key_of_any_url_is_that_of_w3lib(host: str, path: str) -> None:
    for url in (f"https://{host}/{path}", f"http://www.{host}.org/{path}", f"http://x.org/a/{path}"):
        try:
            expected = canonicalize_url(url).partition("://")[2]
        except ValueError:
            expected = url
        assert urls.canonical_key(url) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://www.Example.com/A/?b=2&a=1", "com,example)/a?a=1&b=2"),
        ("http://", "http:"),
        ("dns:x.org", "dns:x.org"),
    ],
)
def test_surt_is_common_crawls_key(text: str, expected: str) -> None:
    assert urls.surt_key(text) == expected


LABELS = ["www", "www2", "www-1", "wwww", "ww", "a", "b-c", "xn--bcher-kva", "org", "co", "uk", "0x7f", "1"]
SEGMENTS = [
    "index.html",
    "Index.PHP",
    "A",
    "b_c",
    "~user",
    "a..b",
    "-",
    "sid",
    "jsessionid",
    "a.",
    "..",
    ".",
    "%7e",
    "",
]


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4), st.lists(st.sampled_from(SEGMENTS), max_size=4))
def test_surt_of_any_url_is_that_of_the_library(labels: list[str], segments: list[str]) -> None:
    url = f"https://{'.'.join(labels)}/{'/'.join(segments)}"
    assert urls.surt_key(url) == surt.surt(url)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:pw@Docs.Example.org:8080/a@b", "docs.example.org"),
        ("http://[::1]:80/", "[::1]"),
        ("http://example.org?x", "example.org"),
        ("nothing", ""),
    ],
)
def test_host(text: str, expected: str) -> None:
    assert urls.host_of(text) == expected


def test_registrable_domain_needs_no_network() -> None:
    assert urls.split_domain("docs.python.co.uk") == ("python.co.uk", "co.uk")
    assert urls.split_domain("localhost") == ("localhost", "")
    assert urls.split_domain("127.0.0.1") == ("127.0.0.1", "")


def test_resolve() -> None:
    assert urls.resolve("https://a.org/b/c", " ../d?e#f ") == "https://a.org/d?e"
    assert urls.resolve("https://a.org/", "http://[bad") == ""


@pytest.mark.parametrize(
    ("typed", "correction"),
    [
        ("https:/a.example/x", "https://a.example/x"),
        ("http:a.example", "http://a.example/"),
        ("HTTPS:/A.example", "https://a.example/"),
        ("a.example:443/x", "https://a.example/x"),
        ("a.example:8080/x", "http://a.example:8080/x"),
    ],
)
def test_what_people_mistype_is_mended_as_browsers_do(typed: str, correction: str) -> None:
    assert urls.parse_user_url(typed) == correction


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://a.org/docs/index.html", "https://a.org/docs/"),
        ("https://a.org/Default.aspx?id=3", "https://a.org/?id=3"),
        ("https://a.org/index.html/x", "https://a.org/index.html/x"),
        ("https://a.org/x?utm_source=a&id=3&gclid=b&_=17", "https://a.org/x?id=3"),
        ("https://a.org/x?utm_source=a", "https://a.org/x"),
        ("https://a.org/app.js?v=17&x=1", "https://a.org/app.js"),
        ("https://a.org/x?b=2&a=&a=1", "https://a.org/x?b=2&a=&a=1"),
        ("https://a.org/x?timestamps=3", "https://a.org/x?timestamps=3"),
    ],
)
def test_what_changes_nothing_is_left_out(url: str, plain: str) -> None:
    assert urls.strip_idle_parameters(url) == plain
