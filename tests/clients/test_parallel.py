"""`parallel-web`, by its base URL."""

import pytest

from tests.clients.conftest import LEXICON, Server

parallel = pytest.importorskip("parallel", reason="parallel-web is not installed")


def make_client(server: Server, key: str = "any") -> "parallel.Parallel":
    return parallel.Parallel(api_key=key, base_url=f"{server.url}/parallel", max_retries=0)


def test_search(server: Server) -> None:
    answer = make_client(server).search(
        search_queries=["town river", "harbour museum"],
        objective="Find museums",
        advanced_settings={"max_results": 6},
    )
    assert len({one.url for one in answer.results}) == 6
    assert all(one.title and one.excerpts and one.publish_date for one in answer.results)


def test_the_older_version(server: Server) -> None:
    # The client of today has no method for it any more.
    body = {"objective": "town river", "max_results": 3}
    answer = make_client(server).post("/v1beta/search", cast_to=dict[str, object], body=body)
    assert len(answer["results"]) == 3


def test_nothing_found(server: Server) -> None:
    assert make_client(server).search(search_queries=["zzyzzyx"]).results == []


def test_extract(server: Server) -> None:
    missing = "https://nowhere.invalid/"
    answer = make_client(server).extract(urls=[LEXICON, missing], advanced_settings={"full_content": True})
    assert [(one.url, bool(one.full_content), len(one.excerpts)) for one in answer.results] == [(LEXICON, True, 1)]
    assert [one.url for one in answer.errors] == [missing]


def test_refusals(server: Server, keyed_server: Server) -> None:
    with pytest.raises(parallel.UnprocessableEntityError):
        make_client(server).search(search_queries=[])
    with pytest.raises(parallel.AuthenticationError):
        make_client(keyed_server, "bad").search(search_queries=["town"])
    assert make_client(keyed_server, "good").search(search_queries=["town"]).results
