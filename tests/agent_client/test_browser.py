"""The cursor browser: displays and their cursors, views within a budget, links, places, and what it says to slips."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent_client.conftest import Web
from webemu.agent_client import BROWSER_TOOLS, AsyncBrowser, AsyncClient, Browser, Client, InfrastructureError
from webemu.agent_client.tokens import approximate_token_offset

PORT, FERRY = "https://a.example/port", "https://b.example/ferry"
CONTENT = (
    f"# Port\n\nSee the [ferry]({FERRY}), the [ferry again]({FERRY}), the [quay](https://a.example/quay "
    '"A quay"), [top](#top).\n\n'
    "The port of Aldmere opened in 1887 and has had a lighthouse since; its keepers kept a log 【1†of】 all ships.\n\n"
    "| Year   | Ships |\n| ------ | ----- |\n| 1887   | 12    |"
)
PORT_VIEW = """\
[0] Port (https://a.example/port)
**viewing lines [0 - 11] of 11**

L0: 
L1: URL: https://a.example/port
L2: # Port
L3: 
L4: See the 【0†ferry†b.example】, the 【0†ferry again†b.example】, the 【1†quay】, top.
L5: 
L6: The port of Aldmere opened in 1887 and has had a lighthouse since; its keepers 
L7: kept a log 〖1†of〗 all ships.
L8: 
L9: | Year | Ships |
L10: | --- | --- |
L11: | 1887 | 12 |"""
LONG = "\n".join(f"line {number} of a log that goes on and on" for number in range(400))


@pytest.fixture
def browser(web: Web) -> Iterator[Browser]:
    web.pages = {
        PORT: ("Port", CONTENT),
        FERRY: ("Ferry", "The ferry leaves at noon."),
        "https://a.example/log": ("Log", LONG),
    }
    with Client(web.url, retries=0) as client:
        yield Browser(client, tokens=approximate_token_offset)


def call_tool(browser: Browser, name: str, **arguments: Any) -> str:
    return browser.call(name, arguments)


def test_a_page_is_shown_with_numbered_lines_and_links(browser: Browser) -> None:
    assert call_tool(browser, "open", id=PORT) == PORT_VIEW


def test_results_are_shown_with_links(browser: Browser) -> None:
    assert call_tool(browser, "search", query="the ferry", topn=3) == (
        "[0] the ferry\n**viewing lines [0 - 6] of 6**\n\nL0: \nL1: URL: \nL2: # Search Results\nL3: \n"
        "L4:   * 【0†Ferry†b.example】 The ferry leaves at noon.\n"
        "L5:   * 【1†Port†a.example】 # Port See the [ferry](https://b.example/ferry), the \n"
        "L6: [ferry"
    )


def test_links_lead_on_and_cursors_back(browser: Browser) -> None:
    call_tool(browser, "search", query="the ferry")
    assert call_tool(browser, "open", id=1).startswith("[1] Port (https://a.example/port)\n")
    assert call_tool(browser, "open", id=0).startswith("[2] Ferry (https://b.example/ferry)\n")
    assert call_tool(browser, "open", id=0, cursor=1).startswith("[3] Ferry")
    assert call_tool(browser, "open", cursor=0).startswith("[4] the ferry\n")
    assert call_tool(browser, "open", cursor=-3).startswith("[5] Ferry")


def test_a_page_that_was_seen_is_not_asked_for_again(browser: Browser, web: Web) -> None:
    call_tool(browser, "open", id=PORT)
    call_tool(browser, "open", id=0)
    call_tool(browser, "open", cursor=0, id=0)
    assert len(web.requests) == 2
    call_tool(browser, "open", id=FERRY)
    assert len(web.requests) == 3


def test_a_view_is_as_long_as_its_budget(browser: Browser) -> None:
    first = call_tool(browser, "open", id="https://a.example/log")
    line_count = first.count("\nL")
    assert f"**viewing lines [0 - {line_count - 1}] of 401**" in first
    assert 50 < line_count < 100
    assert call_tool(browser, "open", loc=line_count).split("\n")[3].startswith(f"L{line_count}: ")
    assert "**viewing lines [399 - 401] of 401**" in call_tool(browser, "open", loc=399)
    assert call_tool(browser, "open", loc=10, num_lines=2).endswith(
        "\n\nL10: line 8 of a log that goes on and on\nL11: line 9 of a log that goes on and on"
    )


def test_found_places_lead_into_their_page(browser: Browser) -> None:
    call_tool(browser, "open", id="https://a.example/log")
    view = call_tool(browser, "find", pattern="LINE 7")
    assert view.startswith(
        "[1] Find results for text: `line 7` in `Log` (https://a.example/log/find?pattern=line 7)\n"
        "**viewing lines [0 - 22] of 22**\n\nL0: # 【0†match at L9】\nL1: line 7 of a log that goes on and on\n"
    )
    assert view.count("†match at L") == 4, "what is shown with one place is not looked through again"
    assert "\n\nL5: line 3 " in call_tool(browser, "open", id=0)
    assert "\n\nL0: # 【0†match at L9】" in call_tool(browser, "open", cursor=1, loc=0)
    assert call_tool(browser, "find", pattern="line", cursor=1) == (
        "Cannot run `find` on search results page or find results page"
    )
    assert call_tool(browser, "find", pattern="whale", cursor=0).endswith(
        "\n\nL0: No `find` results for pattern: `whale`"
    )


def test_at_most_fifty_places_are_shown(browser: Browser) -> None:
    call_tool(browser, "open", id="https://a.example/log")
    assert len(browser.state.displays) == 1
    call_tool(browser, "find", pattern="line")
    assert len(browser.state.displays[1].links) == 50


def test_places_are_words_not_marks(browser: Browser) -> None:
    call_tool(browser, "open", id=PORT)
    assert "L1: See the ferry, the ferry again, the quay, top." in call_tool(browser, "find", pattern="ferry, the")
    assert "No `find` results" in call_tool(browser, "find", pattern="†b.example", cursor=0)


def test_a_source_is_shown_as_it_is(browser: Browser) -> None:
    call_tool(browser, "open", id=FERRY)
    assert call_tool(browser, "open", view_source=True) == (
        "[1] Ferry (view-source:https://b.example/ferry)\n**viewing lines [0 - 0] of 0**\n\n"
        "L0: The ferry leaves at noon."
    )


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("find", {"pattern": "x"}, "No pages to access!"),
        ("open", {}, "No pages to access!"),
        ("open", {"id": "https://absent.example/"}, "Error fetching URL `https://absent.example/`: This page does not "
         "exist. Search for another one."),
        ("search", {}, "`search` needs one text as `query`"),
        ("click", {}, '{"error": "Unknown function: click"}'),
        ("open", "{", '{"error": "Invalid function arguments"}'),
        ("open", "[]", '{"error": "Invalid function arguments"}'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(browser: Browser, name: str, arguments: Any, text: str) -> None:
    assert browser.call(name, arguments) == text
    assert browser.state.displays == []


def test_what_is_not_there_is_said(browser: Browser) -> None:
    call_tool(browser, "open", id=PORT)
    assert call_tool(browser, "open", cursor="two") == "`cursor` should be an integer, not `str`"
    assert call_tool(browser, "open", id=7) == "Invalid link id `7`."
    assert call_tool(browser, "open", cursor=3) == "Cursor `3` is out of range. Available cursor indices: [0 - 0]."
    assert call_tool(browser, "open", loc=99) == "Invalid location parameter: `99`. Cannot exceed page maximum of 11."
    assert len(browser.state.displays) == 1


def test_slips_are_understood(browser: Browser) -> None:
    call_tool(browser, "browser.search", query=["the ferry"], source="web")
    assert browser.call("open", '{"id": "0", "cursor": "0", "loc": null, "num_lines": 1.0}').startswith("[1] Ferry")
    assert browser.call("open", "").startswith("[2] Ferry")


def test_failures_of_ours_are_raised(browser: Browser, web: Web) -> None:
    web.moods = ["reset"]
    with pytest.raises(InfrastructureError):
        call_tool(browser, "search", query="ferry")


def test_the_async_browser_says_the_same(browser: Browser, web: Web) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "the ferry"}),
        ("open", {"id": 1}),
        ("find", {"pattern": "ferry"}),
        ("open", {"id": "https://absent.example/"}),
        ("open", {"loc": 99}),
        ("click", {}),
    ]

    async def collect_replies() -> list[str]:
        async with AsyncClient(web.url) as client:
            other = AsyncBrowser(client, tokens=approximate_token_offset)
            return [await other.call(name, arguments) for name, arguments in calls]

    assert asyncio.run(collect_replies()) == [browser.call(name, arguments) for name, arguments in calls]


def test_tools_are_those_that_are_known(browser: Browser) -> None:
    named = [tool["function"]["name"] for tool in BROWSER_TOOLS]
    assert named == ["search", "open", "find"]
    assert not any("Unknown function" in browser.call(name, {}) for name in named)
    assert json.loads(json.dumps(BROWSER_TOOLS)) == BROWSER_TOOLS
