"""The schemas and the texts a model sees."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from webemu.agent_client import TOOLS, AsyncClient, Client, InfrastructureError, call, call_async

URL = "https://example.org/a"
See = Callable[..., str]


def _sync(base_url: str, name: str, arguments: Any) -> str:
    with Client(base_url, retries=0) as client:
        return call(client, name, arguments)


def _async(base_url: str, name: str, arguments: Any) -> str:
    async def asking() -> str:
        async with AsyncClient(base_url, retries=0) as client:
            return await call_async(client, name, arguments)

    return asyncio.run(asking())


@pytest.fixture(params=[_sync, _async], ids=["sync", "async"])
def see(request: pytest.FixtureRequest, web: Any) -> See:
    return lambda name, arguments: request.param(web.url, name, arguments)


def test_schemas_are_openai_functions() -> None:
    assert [tool["function"]["name"] for tool in TOOLS] == ["search", "open", "find"]
    for tool in TOOLS:
        assert tool["type"] == "function"
        parameters = tool["function"]["parameters"]
        assert set(parameters["required"]) <= parameters["properties"].keys()
        assert all({"type", "description"} <= law.keys() for law in parameters["properties"].values())
    json.dumps(TOOLS)


def test_results(web: Any, see: See) -> None:
    web.pages = {f"https://example.org/{n:02}": (f"River\n{n}", "A port\nof call.") for n in range(12)}
    assert see("search", {"query": "river"}).startswith(
        "Results for: river\n\n1. River 0\n   https://example.org/00\n   2024-11-30\n   A port of call.\n\n2. River 1\n"
    )
    assert see("search", {"query": "river"}).endswith("More results: search with page=2.")
    second = see("search", {"query": "river", "page": 2})
    assert second.startswith("Results for: river (page 2)\n\n11. ")
    assert "More results" not in second


def test_no_results_is_said(see: See) -> None:
    assert see("search", {"query": "nothing at all"}) == "No results for: nothing at all"


def test_pages_are_read_in_windows(web: Any, see: See) -> None:
    text = "".join(f"line {n}\n" for n in range(2500))
    web.pages = {URL: ("Title", text)}
    read, start = "", 0
    while True:
        view = see("open", {"url": URL, "start": start})
        read += view.partition("\n\n")[2].rpartition("\n\nThe page goes on:")[0] or view.partition("\n\n")[2]
        following = re.search(r"open it with start=(\d+)\.$", view)
        if following is None:
            break
        start = int(following[1])
        assert view.startswith(f"Page: {URL}\nCharacters {start - 10_000} to {start} of {len(text)}.\n\n")
    assert read == text


def test_a_short_page_has_no_hints(web: Any, see: See) -> None:
    web.pages = {URL: ("Title", "Title\nshort")}
    assert see("open", {"url": URL}) == f"Page: {URL}\n\nTitle\nshort"
    assert see("open", {"url": URL, "start": 99}).endswith("The page ends before this place.")


def test_links_are_asked_for(web: Any, see: See) -> None:
    web.pages = {URL: ("Title", "x")}
    see("open", {"url": URL, "format": "links"})
    assert web.requests[-1].parameters["format"] == "links"


def test_find(web: Any, see: See) -> None:
    web.pages = {URL: ("Title", "one two three two")}
    view = see("find", {"url": URL, "pattern": "TWO"})
    assert "occurs 2 times" in view
    assert "1. start=4: one two three two" in view
    assert see("find", {"url": URL, "pattern": "four"}) == f"'four' does not occur in {URL}."


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        (404, "url-not-captured", "This page does not exist."),
        (404, "host-not-captured", "This site could not be found."),
        (404, "redirect-loop", "This page redirects to itself."),
        (406, "no-such-view", "This page has no text"),
        (400, "bad-request", "That was not understood: why"),
        (418, "other", "This page cannot be shown."),
    ],
)
def test_refusals_are_texts(web: Any, see: See, status: int, reason: str, text: str) -> None:
    shape = {"error": {"status": status, "reason": reason, "message": "why", "action": "do"}, "snapshot": "x"}
    web.moods = [(status, {}, json.dumps(shape).encode())]
    assert see("open", {"url": URL}).startswith(text)


def test_infrastructure_is_raised(web: Any, see: See) -> None:
    web.moods = ["reset"] * 3  # aiohttp asks a second time by itself
    with pytest.raises(InfrastructureError):
        see("find", {"url": URL, "pattern": "x"})


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("browse", {}, "There is no tool 'browse'. The tools are: search, open, find."),
        ("search", "{", "The arguments of search are not valid JSON"),
        ("search", "[" * 100_000, "The arguments of search are not valid JSON"),
        ("search", '["a"]', "The arguments of search must be a JSON object."),
        ("search", None, "The arguments of search must be a JSON object."),
        ("search", "", "search needs query. Call it as search(query, [page])."),
        ("search", {"query": None}, "search needs query."),
        ("search", {"query": ["a", "b"]}, "query of search must be one string."),
        ("search", {"query": {"q": 1}}, "query of search must be one string."),
        ("search", {"query": True}, "query of search must be one string."),
        ("search", {"query": "a", "k": 3, "top": 1}, "search does not take k, top."),
        ("search", {"query": "a", "page": "two"}, "page of search must be one integer."),
        ("search", {"query": "a", "page": 1.5}, "page of search must be one integer."),
        ("search", {"query": "a", "page": "--1"}, "page of search must be one integer."),
        ("search", '{"query": "a", "page": NaN}', "page of search must be one integer."),
        ("search", '{"query": "a", "page": Infinity}', "page of search must be one integer."),
        ("search", {"query": "a", "page": 0}, "page of search must be 1 or more"),
        ("search", {"query": "a", "page": 10**30}, "page of search must be 1 or more"),
        ("open", {"url": URL, "format": "pdf"}, "format of open must be one of text, links."),
        ("open", {"url": "x" * 5000}, "url of open must have 0 to 4096 characters."),
        ("find", {"url": URL, "pattern": ""}, "pattern of find must have 1 to 1000 characters."),
    ],
)
def test_bad_arguments_are_answered(web: Any, see: See, name: str, arguments: Any, text: str) -> None:
    assert see(name, arguments).startswith(text)
    assert web.requests == []


@pytest.mark.parametrize(
    "arguments", ['{"query": "a", "page": "2"}', {"query": ["a"], "page": 2.0}, {"query": "a", "page": 2}]
)
def test_what_is_meant_is_understood(web: Any, see: See, arguments: Any) -> None:
    see("search", arguments)
    assert (web.requests[-1].parameters["q"], web.requests[-1].parameters["page"]) == ("a", "2")


def test_anything_a_model_writes_as_query_is_searched(web: Any, see: See) -> None:
    for query in ["\ud800", "x" * 100_000, "\x00", "&=#%", 7]:
        assert see("search", {"query": query})
