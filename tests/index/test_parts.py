"""Parts of documents: what selectors pick and leave out, links, pictures, however the document is made."""

import pytest

from webemu.index.html_select import images, link_targets, select_elements

PAGE = (
    "<title>T</title><base href='https://b.example/d/'><main><p class=a>One <b class=a>two</b></p><p>Three</p>"
    "<a href=e>E <i>f</i></a><a href='#g'>G</a><a href='javascript:h'>H</a>"
    "<img src=i.png alt=' J\nk '><img src='data:,'><img></main><footer>L</footer>"
)


def picked(selector: str, unwanted: str = "") -> str | None:
    selection = select_elements(PAGE, [selector] if selector else [], [unwanted] if unwanted else [])
    return None if selection is None else selection.partition("<body>")[2].partition("</body>")[0]


@pytest.mark.parametrize(
    ("selector", "unwanted", "remaining_html"),
    [
        (".a", "", '<p class="a">One <b class="a">two</b></p>'),
        ("p", "b", '<p class="a">One </p><p>Three</p>'),
        ("footer, i", "", "<i>f</i><footer>L</footer>"),
        ("#none", "", None),
        ("p:::", "", None),
        ("p", ":not(", '<p class="a">One <b class="a">two</b></p><p>Three</p>'),
        ("footer", "html", "<footer>L</footer>"),
        ("p" * 501, "", None),
    ],
)
def test_selectors_pick_outermost_elements(selector: str, unwanted: str, remaining_html: str | None) -> None:
    assert picked(selector, unwanted) == remaining_html


def test_what_is_removed_twice_is_removed_once() -> None:
    assert "Three" not in (select_elements(PAGE, [], ["main", "p", "b", "main p"]) or "Three")


def test_a_selection_keeps_what_references_are_relative_to() -> None:
    selection = select_elements(PAGE, ["a"], [])
    assert selection is not None
    assert link_targets(selection, "https://a.example/") == link_targets(PAGE, "https://a.example/")


def test_links_and_pictures_are_absolute_and_of_the_web() -> None:
    assert link_targets(PAGE, "https://a.example/") == [("E f", "https://b.example/d/e")]
    assert images(PAGE, "https://a.example/") == [("J k", "https://b.example/d/i.png")]
    assert (link_targets("", ""), images("<img src=x>", "")) == ([], [])
