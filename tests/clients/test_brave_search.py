"""`brave-search`, whose models demand more of a result than the other client's."""

import asyncio

import pytest

from tests.clients.conftest import Server

brave = pytest.importorskip("brave", reason="brave-search is not installed")


@pytest.mark.parametrize("query", ["town river", "a", '"river" OR town', "site:en.openlexicon.org town"])
def test_results(query: str, web: Server) -> None:
    response = brave.Brave(api_key="any").search(q=query, count=20)
    assert len(response.web.results) == 20
    assert {one.language for one in response.web.results} == {"en"}
    assert response.query.original == query


def test_it_waits_for_others_too(web: Server) -> None:
    response = asyncio.run(brave.AsyncBrave(api_key="any").search(q="town", count=3, result_filter="web"))
    assert len(response.web.results) == 3


def test_nothing_found(web: Server) -> None:
    assert brave.Brave(api_key="any").search(q="zzyzzyx").web is None
